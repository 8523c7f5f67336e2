"""What the route about the proxy's usage accepts. It is ours alone, so an unknown key is an error."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from memstrata.server.requests import MemoryId as Id
from memstrata.server.strict import StrictRequest

__all__ = ["ProxyUsageList"]


class ProxyUsageList(StrictRequest, kw_only=True, frozen=True):
    """`/v3/proxy/usage`. `days` counts back from today, which is one of them."""

    days: Annotated[int, Meta(ge=1, le=366)] | None = None
    user_id: Id | None = None
