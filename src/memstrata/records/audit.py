"""One line of the audit trail: who did what to whom's data. Ids and counts, never contents.

The trail is kept after a user was forgotten, so it must not name them. Users, and every id that a caller chose (sessions,
messages, assets, paths), stand in it as marks: twelve hex digits of a hash, the same for the same name in an instance.
Whoever knows the name can look for it; nobody can read it off. Teams and agents stand by name, as in receipts of forgetting.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from memstrata.clock import Instant
from memstrata.records.scope import Profile, Scope

__all__ = [
    "CLI",
    "GATEWAY",
    "GENESIS",
    "LIBRARY",
    "PIPELINE",
    "Actor",
    "AuditEntry",
    "AuditFilter",
    "AuditHead",
    "AuditRow",
    "Change",
    "chained",
    "mark",
]

GENESIS = bytes(32)
"""What stands before the first row."""

LISTED = 20
"""Most ids of a kind that a row lists; of more it keeps their number and a hash of all."""

_JSON = msgspec.json.Encoder(order="sorted")  # one text for one value, without blanks
_BY_NAME = frozenset({"team", "agent"})
# Ids that the house makes by itself: numbers, which say nothing about anybody.
_OUR_OWN = re.compile(
    r"msg-[0-9a-f]{16}|m_[0-9]{13,}_[0-9a-f]{8}|fgt-[0-9a-f]{24}|(?:team|agt|task|ast|uky)-[0-9a-z]{10}"
    r"|(?:mp-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)

Id = str | tuple[str, int]
"""An id, or one with the version that is meant."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the operator by the gateway's key or the command line, a user, the program that holds the library, or
    the pipeline by itself. `user_id` is of a user alone."""

    kind: Literal["gateway", "user", "pipeline", "library", "cli"]
    user_id: str = ""

    def name(self, instance: str) -> str:
        """Return what a row says: the kind, of a user with their mark."""
        return f"user:{mark(instance, self.user_id)}" if self.kind == "user" else self.kind


GATEWAY, PIPELINE, LIBRARY, CLI = Actor("gateway"), Actor("pipeline"), Actor("library"), Actor("cli")


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A line before it has its place. `owner` and `subject` are JSON: team, agent and user's mark; ids and counts."""

    at: Instant
    instance: str
    actor: str
    action: str
    owner: str
    subject: str


@dataclass(frozen=True, slots=True)
class AuditRow:
    """A line in its place: the `seq`-th, `hash` is of itself and the hash of the one before."""

    seq: int
    entry: AuditEntry
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditHead:
    """Where the trail ends: how many rows there were, and the hash of the last."""

    seq: int
    hash: bytes


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which rows of an instance. None leaves a part open; `user` is a name, `action` may end in `.` for all of a kind."""

    instance: str
    user: str | None = None
    action: str | None = None
    since: Instant | None = None
    until: Instant | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What was done, with names as the one who did it knows them. `entry` makes of them what may be kept.

    `action` is a noun and a verb: `message.add`. `ids` are by kind of thing, `counts` are numbers only.
    """

    instance: str
    action: str
    team: str = ""
    agent: str = ""
    user: str = ""
    ids: Mapping[str, Collection[Id]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        owner: Scope | Profile,
        action: str,
        ids: Mapping[str, Collection[Id]] | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> Change:
        """Return a change of what belongs to a scope or a profile."""
        return cls(owner.instance, action, owner.team, owner.agent, owner.user, ids or {}, counts or {})

    def entry(self, actor: Actor, at: Instant) -> AuditEntry:
        """Return the line that says so."""
        user = mark(self.instance, self.user) if self.user else ""
        subject: dict[str, object] = {kind: self._listed(kind, ids) for kind, ids in self.ids.items() if ids}
        subject |= {name: number for name, number in self.counts.items() if number}
        owner = _json([self.team, self.agent, user])
        return AuditEntry(at, self.instance, actor.name(self.instance), self.action, owner, _json(subject))

    def _listed(self, kind: str, ids: Collection[Id]) -> object:
        shown = [self._shown(kind, one) for one in ids]
        if len(shown) <= LISTED:
            return shown
        return {"count": len(shown), "sha256": hashlib.sha256("\n".join(shown).encode()).hexdigest()}

    def _shown(self, kind: str, one: Id) -> str:
        if isinstance(one, tuple):
            name, version = one
            return f"{self._shown(kind, name)}@{version}"
        return one if kind in _BY_NAME or _OUR_OWN.fullmatch(one) else mark(self.instance, one)


def mark(instance: str, name: str) -> str:
    """Return what stands for a name: the start of the hash that receipts of forgetting keep of a user."""
    return hashlib.sha256(f"{instance}\0{name}".encode("utf-8", "surrogatepass")).hexdigest()[:12]


def chained(before: bytes, seq: int, entry: AuditEntry) -> bytes:
    """Return the hash of a row after another: SHA-256 of that one's hash and of all columns as a JSON list."""
    row = [seq, entry.at, entry.instance, entry.actor, entry.action, entry.owner, entry.subject]
    return hashlib.sha256(before + _JSON.encode(row)).digest()


def _json(value: object) -> str:
    return _JSON.encode(value).decode()
