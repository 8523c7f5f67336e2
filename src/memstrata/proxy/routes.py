"""What a path means: whose agent, whose memory, which protocol. Pure; a path that means nothing here is nobody's.

The path comes as it was sent, percent signs and all, because what is behind agent and instance goes upstream unchanged.
An agent of any name is taken where an instance follows it. Source: `reference/proxy.md` §1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote_to_bytes

from memstrata.errors import InvalidRequest
from memstrata.proxy.clients.table import CLIENTS
from memstrata.proxy.wire.request import WireName
from memstrata.records.scope import check_id

__all__ = ["Endpoint", "Route", "route_of"]

Endpoint = Literal["generate", "count", "auxiliary", "probe"]
"""A request for an answer; for the tokens of one; anything else of a provider; is anybody there."""


@dataclass(frozen=True, slots=True)
class Route:
    """`instance` is empty where the path names none. `suffix` is what goes behind the upstream's address, as sent."""

    agent: str
    instance: str
    wire: WireName
    endpoint: Endpoint
    suffix: str


_ENDPOINTS: Mapping[str, tuple[WireName, Endpoint]] = {
    "messages": ("anthropic", "generate"),
    "messages/count_tokens": ("anthropic", "count"),
    "chat/completions": ("chat", "generate"),
    "responses": ("responses", "generate"),
    "responses/input_tokens": ("responses", "count"),
    "responses/compact": ("responses", "generate"),
    "memories/trace_summarize": ("responses", "generate"),
    "realtime/calls": ("responses", "auxiliary"),
    "embeddings": ("chat", "auxiliary"),
    "completions": ("chat", "auxiliary"),
    "moderations": ("chat", "auxiliary"),
    "models": ("chat", "auxiliary"),
}
_USUAL_AGENT: Mapping[WireName, str] = {"anthropic": "claude-code", "chat": "openai", "responses": "codex"}
_SPEAKS: Mapping[str, WireName] = {"claude-code": "anthropic", "anthropic": "anthropic", "codex": "responses"}
_NO_AGENT = frozenset(
    {"skill-bridge", "memory-bridge", "health", "metrics", "whoami", "hub", "mcp", "static", "favicon.ico"}
)
_VERSIONS = frozenset({"v1", "v2", "v3"})
_MARKERS = frozenset({"cost-guard", "analyse"})
_MOST_AGENT = 64
_ASKING = frozenset({"GET", "HEAD"})


def route_of(method: str, path: str, *, anthropic: bool = False) -> Route | None:
    """Return where a request belongs, None for a path that is not the proxy's.

    `anthropic`: its headers are those of that protocol, for paths that two protocols share, such as `/v1/models`.
    """
    if not path.startswith("/") or not path.isascii():
        return None
    parts = path[1:].split("/")
    if any(_climbs(part) for part in parts):
        return None
    first = parts[0]
    if first == "v1":
        return _bare(method, "", "", parts, anthropic)
    if first in _VERSIONS or first in _NO_AGENT or not first:
        return None
    if first == "proxy":
        instance = _name(parts[1]) if len(parts) > 1 else ""
        return _placed(method, "claude-code", instance, parts[2:], anthropic) if instance else None
    agent = _agent(first)
    if not agent:
        return None
    if len(parts) > 2 and parts[1] == "v1":
        return _bare(method, agent, "", parts[1:], anthropic)
    instance = _name(parts[1]) if len(parts) > 1 else ""
    return _placed(method, agent, instance, parts[2:], anthropic) if instance else None


def _bare(method: str, agent: str, instance: str, parts: list[str], anthropic: bool) -> Route | None:
    """Return the route of a path without an instance: only what is known, so that the rest is nobody's."""
    rest = "/".join(parts[1:])
    if rest.partition("/")[0] == "models" and method in _ASKING:
        wire: WireName = _SPEAKS.get(agent, "anthropic" if anthropic else "chat")
        return Route(agent or _USUAL_AGENT[wire], instance, wire, "auxiliary", f"/v1/{rest}")
    known = _ENDPOINTS.get(rest)
    if known is None or method != "POST":
        return None
    return Route(agent or _USUAL_AGENT[known[0]], instance, known[0], known[1], f"/v1/{rest}")


def _placed(method: str, agent: str, instance: str, parts: list[str], anthropic: bool) -> Route | None:
    """Return the route of a path that names an instance. A provider's path that is not known goes through as it is."""
    usual: WireName = _SPEAKS.get(agent, "anthropic" if anthropic else "chat")
    versioned = bool(parts) and parts[0] == "v1"
    inner = parts[1:] if versioned else parts
    rest = "/".join(inner)
    if not rest.strip("/"):
        probes = method in _ASKING and (versioned or agent in CLIENTS)
        return Route(agent, instance, usual, "probe", "") if probes else None
    if parts[0] in _MARKERS:
        return None
    suffix = f"/v1/{rest}" if versioned else f"/{rest}"
    known = _ENDPOINTS.get(rest)
    if known is not None and method == "POST":
        return Route(agent, instance, known[0], known[1], suffix)
    if not versioned and known is None and agent not in CLIENTS:
        return None
    wire = usual
    if inner[0] in ("messages", "responses"):
        wire = "anthropic" if inner[0] == "messages" else "responses"
    return Route(agent, instance, wire, "auxiliary", suffix)


def _climbs(part: str) -> bool:
    """Whether a segment could lead out of the upstream's folder, or is not one segment to whoever decodes it."""
    plain = unquote_to_bytes(part)
    return plain in (b".", b"..") or b"/" in plain or b"\\" in plain or any(byte < 32 for byte in plain)


def _agent(part: str) -> str:
    plain = part.lower()
    usable = len(plain) <= _MOST_AGENT and plain.replace("-", "").replace("_", "").replace(".", "").isalnum()
    return plain if usable else ""


def _name(part: str) -> str:
    try:
        return check_id(unquote_to_bytes(part).decode(), "instance")
    except (UnicodeDecodeError, InvalidRequest):
        return ""
