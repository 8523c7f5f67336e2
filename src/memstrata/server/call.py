"""One authorised request on its way to `Memory`, and the two kinds of handlers that take it there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from memstrata.clock import Instant, from_iso
from memstrata.errors import InvalidRequest
from memstrata.records import Scope
from memstrata.server.envelope import Data

if TYPE_CHECKING:
    from memstrata.memory import Memory

__all__ = ["Call", "InstanceCall", "InstanceWide", "Scoped", "SessionUse", "distinct", "some", "window"]

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call(Generic[R]):
    """A request about one scope. `session_id` and `task_id` are those of the body, else of the headers."""

    memory: Memory
    scope: Scope
    request: R
    session_id: str | None
    task_id: str | None
    idempotency_key: str | None  # of the header; a body's own comes first
    user_id: str | None = None  # whose key narrows it, which `scope.user` is then; None: the operator asks


@dataclass(frozen=True, slots=True)
class InstanceCall(Generic[R]):
    """A request about a whole instance. `operator` is who is remembered for a change, `user_id` as in `Call`."""

    memory: Memory
    instance: str
    request: R
    operator: str
    user_id: str | None = None


class SessionUse(Enum):
    """What a route does with a session id (wire contract §3.5)."""

    REQUIRED = "a write: 422 without one"
    FILTER = "narrows the answer when given"
    NAMED = "has no effect, but must be there when the settings say always"
    IGNORED = "not looked at"


@dataclass(frozen=True, slots=True)
class Scoped:
    """A handler that needs team, agent and user. It answers with `data`, or None for an envelope without."""

    handle: Callable[[Call[Any]], Awaitable[Data | None]]
    session: SessionUse = SessionUse.IGNORED


@dataclass(frozen=True, slots=True)
class InstanceWide:
    """A handler that needs an instance and no scope."""

    handle: Callable[[InstanceCall[Any]], Awaitable[Data | None]]


def window(start: str | None, end: str | None) -> tuple[Instant | None, Instant | None]:
    """Read an inclusive range of times. Raises InvalidRequest naming the bound that is no time."""
    return (
        None if start is None else from_iso(start, field="time_start"),
        None if end is None else from_iso(end, field="time_end"),
    )


def distinct(values: Iterable[str]) -> tuple[str, ...]:
    """Trim ids, drop blanks and repeats, keep the order."""
    return tuple(dict.fromkeys(value.strip() for value in values if value.strip()))


def some(values: Iterable[str], field: str) -> tuple[str, ...]:
    """The same where at least one id must be left. Raises InvalidRequest."""
    ids = distinct(values)
    if not ids:
        raise InvalidRequest("must contain at least one non-empty id", field=field)
    return ids
