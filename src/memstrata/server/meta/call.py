"""One request about the directory with the user who makes it, and what such a request looks like.

Source: wire contract §5. Unknown keys are dropped, `null` counts as absent, numbers may come as text.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta

from memstrata.records.people import User
from memstrata.server.envelope import Data
from memstrata.store.directory import DirectoryPage, Window

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["Id", "MetaCall", "MetaHandler", "MetaRequest", "MetaRoute", "PagedRequest", "paged"]

R = TypeVar("R")
T = TypeVar("T")

Id = Annotated[str, Meta(min_length=1, max_length=512)]


class MetaRequest(msgspec.Struct, kw_only=True, frozen=True):
    """The base of all of them."""


class PagedRequest(MetaRequest, kw_only=True, frozen=True):
    """What answers with a page."""

    limit: Annotated[int, Meta(ge=1, le=100)] | None = None
    offset: Annotated[int, Meta(ge=0, le=2**53 - 1)] | None = None

    @property
    def window(self) -> Window:
        return Window(20 if self.limit is None else self.limit, self.offset or 0)


@dataclass(frozen=True, slots=True)
class MetaCall(Generic[R]):
    """A request about an instance's directory, `memory.directory`. `caller` is whose key it carries."""

    memory: Memory
    instance: str
    caller: User  # of a request without a key: nobody
    request: R
    source: str = ""  # the address that the request came from


MetaHandler = Callable[[MetaCall[Any]], Awaitable[Data]]


@dataclass(frozen=True, slots=True)
class MetaRoute:
    """One row of the table of routes, such as `/v3/meta/team/get`. Who may call it stands in `server.policy`."""

    path: str
    request: type[MetaRequest]
    handle: MetaHandler


def paged(page: DirectoryPage[T], window: Window, shape: Callable[[T], Data]) -> Data:
    """Return a page as the contract has it."""
    items = [shape(item) for item in page.items]
    return {"items": items, "total": page.total, "limit": window.limit, "offset": window.offset}
