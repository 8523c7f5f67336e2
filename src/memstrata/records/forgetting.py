"""What is to be forgotten, and what went: values that every way of deleting on request shares.

A selector says whose (instance, and as much of team, agent and user as is given) and what of theirs. Receipts hold counts
and whose it was, never what it said: a person who was forgotten must not be found in the proof of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields

from memstrata.clock import Instant
from memstrata.errors import InvalidRequest
from memstrata.records.scope import Profile, check_id

__all__ = ["LISTED", "Forgetting", "ForgettingReceipt", "Forgotten", "ForgottenCounts"]

LISTED = 100
"""Most ids of each layer that an answer lists."""


@dataclass(frozen=True, slots=True)
class Forgetting:
    """Which rows. None leaves a part of the owner open; `since` and `until` are inclusive and about when it was said.

    Named messages, sessions and memories go together; times narrow messages and sessions, or stand alone. With neither
    ids nor times it is all of a user, an agent, or one for the other. Raises InvalidRequest for what names nothing, for
    an empty range, and for memories within times, because a memory is of no one time.
    """

    instance: str
    team: str | None = None
    agent: str | None = None
    user: str | None = None
    message_ids: tuple[str, ...] = ()
    session_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    since: Instant | None = None
    until: Instant | None = None

    def __post_init__(self) -> None:
        for part in ("instance", "team", "agent", "user"):
            if (value := getattr(self, part)) is not None:
                check_id(value, part)
        if self.is_whole and self.user is None and self.agent is None:
            raise InvalidRequest("name messages, memories, sessions, a time, a user or an agent", field="(root)")
        if self.since is not None and self.until is not None and self.since > self.until:
            raise InvalidRequest("must not be before time_start", field="time_end")
        if self.memory_ids and self.is_timed:
            raise InvalidRequest("cannot be narrowed by times; forget the messages of the time", field="memory_ids")

    @property
    def is_timed(self) -> bool:
        return self.since is not None or self.until is not None

    @property
    def is_whole(self) -> bool:
        """Whether all of the owner goes."""
        return not (self.message_ids or self.session_ids or self.memory_ids or self.is_timed)

    def told(self) -> Mapping[str, str | int]:
        """Return what a receipt keeps of it: names of team and agent, a hash of the user, how many ids were given."""
        user = None if self.user is None else hashlib.sha256(f"{self.instance}\0{self.user}".encode()).hexdigest()
        parts: dict[str, str | int | None] = {
            "team": self.team,
            "agent": self.agent,
            "user_sha256": user,
            "message_ids": len(self.message_ids) or None,
            "session_ids": len(self.session_ids) or None,
            "memory_ids": len(self.memory_ids) or None,
            "since": self.since,
            "until": self.until,
        }
        return {name: value for name, value in parts.items() if value is not None}


@dataclass(frozen=True, slots=True)
class ForgottenCounts:
    """How much of each layer goes. Memories, scenes and portraits are counted once, whatever versions they have."""

    sessions: int = 0
    messages: int = 0
    memories: int = 0
    scenes: int = 0
    personas: int = 0

    def __add__(self, other: ForgottenCounts) -> ForgottenCounts:
        return ForgottenCounts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def by_layer(self) -> Mapping[str, int]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What goes, or would go: counts, and the first ids of each layer.

    `rows` counts old versions too, which nobody sees. `index_keys` are of the vector indexes, `profiles` those whose
    memories or documents these are, as they were called before.
    """

    counts: ForgottenCounts
    rows: int = 0
    session_ids: tuple[str, ...] = ()
    message_ids: tuple[str, ...] = ()
    memory_ids: tuple[str, ...] = ()
    scene_paths: tuple[str, ...] = ()
    index_keys: tuple[str, ...] = ()
    profiles: tuple[Profile, ...] = ()


@dataclass(frozen=True, slots=True)
class ForgettingReceipt:
    """The proof. `complete` once no byte of it is left in the files of the data folder; `selector` as `told` has it."""

    forgetting_id: str
    instance: str
    selector: Mapping[str, str | int]
    counts: ForgottenCounts
    actor: str
    at: Instant
    complete: bool
