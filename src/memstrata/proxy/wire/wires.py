"""The protocols by name."""

from __future__ import annotations

from collections.abc import Mapping

from memstrata.proxy.wire.anthropic import ANTHROPIC
from memstrata.proxy.wire.chat import CHAT
from memstrata.proxy.wire.request import Wire, WireName
from memstrata.proxy.wire.responses import RESPONSES

__all__ = ["ANTHROPIC", "CHAT", "RESPONSES", "WIRES"]

WIRES: Mapping[WireName, Wire] = {"anthropic": ANTHROPIC, "chat": CHAT, "responses": RESPONSES}
