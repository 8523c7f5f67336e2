"""One line of an export for each kind of row: the form of the file, and the only form in which an import believes it.

A line is decoded into one of these or refused, so nothing behind them meets a wrong type, an unknown field or a number
that the database cannot hold. Instants are milliseconds since 1970, UTC. `seq` and what refers to rows by it are the
numbers of the exporting database; an import gives rows numbers of its own and translates. See `docs/formats.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from memstrata.errors import InvalidRequest

__all__ = [
    "ARCHIVE_VERSION",
    "ArchiveHeader",
    "ArchiveLine",
    "ArchiveSelection",
    "DocumentLine",
    "EndLine",
    "ImportProblem",
    "ImportReport",
    "LayerLine",
    "MemoryLine",
    "MessageLine",
    "OutputPart",
    "ProfileLine",
    "RunLine",
    "SessionLine",
    "TombstoneLine",
]

ARCHIVE_VERSION: Final = 2
"""1 was what the command line wrote from the API: messages, live memories, scenes and the persona."""

Outcome = Literal["added", "known", "conflict", "skipped"]
"""`known`: it was there and is the same. `conflict`: something else is there, and stays. `skipped`: not of the target."""

# Wide, because whatever a database holds must come back; narrow enough that nothing overflows.
Time = Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Seq = Annotated[int, Meta(ge=1, le=1 << 53)]
Name = Annotated[str, Meta(max_length=4_096)]
Id = Annotated[str, Meta(max_length=4_096)]
Text = Annotated[str, Meta(max_length=8_000_000)]
Hash = Annotated[bytes, Meta(min_length=1, max_length=64)]
Role = Literal["user", "assistant"]
Seqs = Annotated[list[Seq], Meta(max_length=1_000_000)]


@dataclass(frozen=True, slots=True)
class ArchiveSelection:
    """What an export holds: an instance, all of one user in it, or one scope."""

    instance: str
    team: str | None = None
    agent: str | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        if (self.team is None) != (self.agent is None) or (self.team is not None and self.user is None):
            raise InvalidRequest("name a user, or team, agent and user, or nothing for the whole instance")

    @property
    def part(self) -> Literal["instance", "user", "scope"]:
        if self.team is not None:
            return "scope"
        return "instance" if self.user is None else "user"


class ArchiveHeader(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line. `team`, `agent` and `user` are null where the export is not of one alone."""

    memstrata_export: int
    exported_at: Time
    schema: Count
    instance: Annotated[str, Meta(min_length=1, max_length=128)]
    team: Id | None
    agent: Id | None
    user: Id | None


class ArchiveLine(Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """What all lines but the header share: they name their kind."""


class EndLine(ArchiveLine, tag="end", frozen=True):
    """The last line: how many there are between it and the header. A file without it was cut short."""

    lines: Count


class ProfileLine(ArchiveLine, tag="profile", frozen=True):
    """Whose scenes and persona follow, and when they were last written."""

    team: Id
    agent: Id
    user: Name  # '' where all users of the agent share them
    scenes_at: Time
    portrayed_at: Time
    persona_request: Text


class SessionLine(ArchiveLine, tag="session", frozen=True):
    """A session. How far it is distilled stands with its messages."""

    team: Id
    agent: Id
    user: Id
    session_id: Id
    warmup: Count
    scene_name: Name
    last_message_at: Time


class MessageLine(ArchiveLine, tag="message", frozen=True):
    """An L0 message, and what L1 has done with it."""

    team: Id
    agent: Id
    user: Id
    session_id: Id
    seq: Seq
    id: Id
    task_id: Name
    role: Role
    content: Text
    said_at: Time
    recorded_at: Time
    distilled: bool  # L1 is past it
    by_rules: bool  # and will read it again once there is a model
    parked: Name | None  # why no model takes it
    parked_at: Time | None
    revived: bool  # parked, and wanted with the next batch
    spent: bool  # a memory that rested on it was deleted


class MemoryLine(ArchiveLine, tag="memory", frozen=True):
    """One version of an L1 memory."""

    team: Id
    agent: Id
    user: Id
    profile_user: Name
    seq: Seq
    id: Id
    version: Count
    type: Id
    content: Text
    priority: Annotated[int, Meta(ge=-1_000, le=1_000)]
    scene_name: Name
    applies_to: Name
    slot: Name
    session_id: Name
    task_id: Name
    origin: Id
    happened_from: Time | None
    happened_to: Time | None
    metadata: dict[str, object]
    created_at: Time
    updated_at: Time
    valid_to: Time | None
    sources: Seqs  # messages
    supersedes: Seqs  # memories whose place it took
    consumed: bool  # L2 has been shown it
    portrayed: bool  # it was there at the last portrait


class DocumentLine(ArchiveLine, tag="document", frozen=True):
    """One version of an L2 scene or the L3 persona."""

    team: Id
    agent: Id
    user: Name
    seq: Seq
    layer: Literal["scene", "persona"]
    path: Id
    version: Count
    body: Text
    summary: Text
    heat: Count
    origin: Id
    created_at: Time
    updated_at: Time
    valid_to: Time | None
    memories: Seqs
    portrayed: bool


class TombstoneLine(ArchiveLine, tag="tombstone", frozen=True):
    """What was deleted on purpose, as a hash of its words, and the last message that was there then (0: none)."""

    team: Id
    agent: Id
    user: Id
    content_hash: Hash
    up_to: Count


class OutputPart(Struct, frozen=True, forbid_unknown_fields=True):
    """What a run did to one row: `records.RunOutput`."""

    layer: Literal["l1", "l2", "l3"]
    seq: Seq
    action: Id
    inputs: Seqs
    replaced: Seqs
    note: Text


class RunLine(ArchiveLine, tag="run", frozen=True):
    """One run of the pipeline: of a session for l1, else of a profile."""

    team: Id
    agent: Id
    user: Name
    session_id: Name
    id: Seq
    layer: Literal["l1", "l2", "l3"]
    outcome: Id
    from_seq: Count
    to_seq: Count
    written: Count
    retired: Count
    origin: Id
    started_at: Time
    finished_at: Time
    error: Text
    model: Name
    mode: Name
    prompt_id: Name
    prompt_version: Count
    prompt_source: Name
    prompt_sha256: Name
    calls: Count
    prompt_tokens: Count
    completion_tokens: Count
    cached_tokens: Count
    notes: list[Text]
    outputs: list[OutputPart]


LayerLine = ProfileLine | SessionLine | MessageLine | MemoryLine | DocumentLine | TombstoneLine | RunLine


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """A line that was not taken, and why. Ids at most, never contents."""

    line: int
    kind: str
    reason: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or with `dry_run` would do: how many lines of each kind ended how."""

    instance: str
    dry_run: bool
    counts: Mapping[str, Mapping[Outcome, int]]
    problems: tuple[ImportProblem, ...] = field(default=())  # the first of them

    def total(self, outcome: Outcome) -> int:
        """Return how many lines ended so."""
        return sum(of_kind.get(outcome, 0) for of_kind in self.counts.values())
