"""What calls answer with: frozen values, times as aware `datetime`.

Read tolerantly: a key that a server does not send gets a neutral value, one that is not known here is dropped, so that
client and server can be upgraded one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

__all__ = [
    "Budget",
    "Found",
    "Health",
    "Hit",
    "LayerLoad",
    "LayerStatus",
    "Memory",
    "Message",
    "Neighbours",
    "Page",
    "Persona",
    "PipelineStatus",
    "Recall",
    "Receipt",
    "Scene",
    "SceneText",
    "SpendingLine",
]

T = TypeVar("T")
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Receipt:
    """An accepted write. `replayed`: the same key had been accepted before, and nothing was stored now.

    `redacted`: how many secrets were taken out of what was stored. A message that was too long has several ids.
    """

    message_ids: tuple[str, ...]
    replayed: bool
    redacted: int = 0

    @classmethod
    def read(cls, data: Data) -> Receipt:
        return cls(tuple(data["accepted_ids"]), bool(data.get("replayed", False)), int(data.get("redacted", 0)))

    @classmethod
    def joined(cls, receipts: Sequence[Receipt]) -> Receipt:
        """Return the receipt of a write that took several requests: replayed only if all of them were."""
        return cls(
            tuple(one for receipt in receipts for one in receipt.message_ids),
            all(receipt.replayed for receipt in receipts),
            sum(receipt.redacted for receipt in receipts),
        )


@dataclass(frozen=True, slots=True)
class Message:
    """L0: what was said. `said_at` is the time of the event, `recorded_at` that of its arrival."""

    id: str
    session_id: str
    task_id: str
    role: str
    content: str
    said_at: datetime | None
    recorded_at: datetime | None

    @classmethod
    def read(cls, data: Data) -> Message:
        return cls(
            id=data["id"],
            session_id=data.get("session_id", ""),
            task_id=data.get("task_id", ""),
            role=data["role"],
            content=data["content"],
            said_at=time_of(data.get("timestamp")),
            recorded_at=time_of(data.get("recorded_at")),
        )


@dataclass(frozen=True, slots=True)
class Memory:
    """L1: a statement that still holds. `activity_start` and `activity_end` say when it happened, if that is known."""

    id: str
    type: str
    content: str
    version: int
    scene_name: str
    task_id: str
    priority: int
    applies_to: str
    origin: str
    created_at: datetime | None
    updated_at: datetime | None
    activity_start: datetime | None
    activity_end: datetime | None

    @classmethod
    def read(cls, data: Data) -> Memory:
        return cls(
            id=data["id"],
            type=data["type"],
            content=data["content"],
            version=version_number(data.get("version", 0)),
            scene_name=data.get("background", ""),
            task_id=data.get("task_id", ""),
            priority=int(data.get("priority", 0)),
            applies_to=data.get("applies_to", "always"),
            origin=data.get("origin", ""),
            created_at=time_of(data.get("created_at")),
            updated_at=time_of(data.get("updated_at")),
            activity_start=time_of(data.get("activity_start")),
            activity_end=time_of(data.get("activity_end")),
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """L2: one theme, without its text."""

    path: str
    summary: str
    heat: int
    version: int
    created_at: datetime | None
    updated_at: datetime | None
    size_bytes: int = 0  # of its text, where the answer is a list of scenes

    @classmethod
    def read(cls, data: Data) -> Scene:
        return cls(
            path=data["path"],
            summary=data.get("summary", ""),
            heat=int(data.get("heat", 0)),
            version=int(data.get("version", 0)),
            created_at=time_of(data.get("created_at")),
            updated_at=time_of(data.get("updated_at")),
            size_bytes=int(data.get("size", 0)),
        )


@dataclass(frozen=True, slots=True)
class SceneText:
    """L2: the Markdown of one theme, with its META block."""

    path: str
    content: str
    version: int
    created_at: datetime | None
    updated_at: datetime | None

    @classmethod
    def read_if_any(cls, data: Data) -> SceneText | None:
        if data.get("content") is None:
            return None
        return cls(
            path=data["path"],
            content=data["content"],
            version=int(data.get("version", 0)),
            created_at=time_of(data.get("created_at")),
            updated_at=time_of(data.get("updated_at")),
        )


@dataclass(frozen=True, slots=True)
class Persona:
    """L3: the portrait of an agent's counterpart, in Markdown."""

    content: str
    version: int
    created_at: datetime | None
    updated_at: datetime | None

    @classmethod
    def read_if_any(cls, data: Data | None) -> Persona | None:
        if data is None or data.get("content") is None:
            return None
        return cls.read(data)

    @classmethod
    def read(cls, data: Data) -> Persona:
        return cls(
            content=data["content"],
            version=int(data.get("version", 0)),
            created_at=time_of(data.get("created_at")),
            updated_at=time_of(data.get("updated_at")),
        )


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A slice of an ordered list, and how long the whole list is."""

    items: tuple[T, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What was said around a message in its session, both in the order of the conversation."""

    before: tuple[Message, ...]
    after: tuple[Message, ...]

    @classmethod
    def read_if_any(cls, data: Data | None) -> Neighbours | None:
        if data is None:
            return None
        before, after = (tuple(Message.read(row) for row in data.get(side, ())) for side in ("before", "after"))
        return cls(before, after)


@dataclass(frozen=True, slots=True)
class Hit(Generic[T]):
    """A search result: 0 ≤ score ≤ 1, and which leg found it with which score of its own.

    `neighbours` are of a message, where they were asked for.
    """

    item: T
    score: float
    legs: Mapping[str, float]
    neighbours: Neighbours | None = None


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """Search results, best first. `degraded` names every part that did not take part, and why."""

    hits: tuple[Hit[T], ...]
    degraded: tuple[str, ...]

    @property
    def items(self) -> tuple[T, ...]:
        return tuple(hit.item for hit in self.hits)


@dataclass(frozen=True, slots=True)
class Recall:
    """What goes into the next prompt: memories before the newest user message, the rest after the system prompt."""

    hits: tuple[Hit[Memory], ...]
    persona: Persona | None
    scenes: tuple[Scene, ...]
    prepend_context: str
    append_system_context: str
    degraded: tuple[str, ...]
    elapsed_ms: float

    @classmethod
    def read(cls, data: Data) -> Recall:
        return cls(
            hits=hits(Memory.read, data.get("items", ())),
            persona=Persona.read_if_any(data.get("persona")),
            scenes=tuple(Scene.read(entry) for entry in data.get("scenes", ())),
            prepend_context=data.get("prepend_context", ""),
            append_system_context=data.get("append_system_context", ""),
            degraded=tuple(data.get("degraded", ())),
            elapsed_ms=float(data.get("elapsed_ms", 0.0)),
        )


@dataclass(frozen=True, slots=True)
class LayerStatus:
    """One layer of a scope: how much waits, when it is due, how the last run ended."""

    pending: int
    state: str
    next_due_at: datetime | None
    last_run_at: datetime | None
    last_outcome: str
    last_error: str
    parked: int = 0  # messages put aside because no model takes them


@dataclass(frozen=True, slots=True)
class Budget:
    """How the instance's model tokens of today stand. `limit_tokens` is None where there is no limit."""

    used_tokens: int
    limit_tokens: int | None
    spent: bool
    resets_at: datetime | None

    @classmethod
    def read(cls, data: Data | None) -> Budget | None:
        if data is None:
            return None
        return cls(data["used_tokens"], data["limit_tokens"], bool(data["spent"]), time_of(data["resets_at"]))


@dataclass(frozen=True, slots=True)
class SpendingLine:
    """What one role of the models used on one UTC day."""

    day: str
    role: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    estimated: bool

    @classmethod
    def read_all(cls, data: Data) -> tuple[SpendingLine, ...]:
        return tuple(cls(**{name: line[name] for name in cls.__slots__}) for line in data["items"])


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """What waits in a scope, by layer (`l1`, `l2`, `l3`). `idle`: nothing waits and nothing runs.

    `budget` is None where no model is configured.
    """

    layers: Mapping[str, LayerStatus]
    idle: bool
    distiller: str
    budget: Budget | None = None

    @classmethod
    def read(cls, data: Data) -> PipelineStatus:
        layers = {
            name: LayerStatus(
                pending=layer["pending"],
                state=layer["state"],
                next_due_at=time_of(layer.get("next_due_at")),
                last_run_at=time_of(layer.get("last_run_at")),
                last_outcome=layer.get("last_outcome", ""),
                last_error=layer.get("last_error", ""),
                parked=layer.get("parked", 0),
            )
            for name, layer in data["layers"].items()
        }
        return cls(layers, bool(data["idle"]), data.get("distiller", ""), Budget.read(data.get("budget")))


@dataclass(frozen=True, slots=True)
class LayerLoad:
    """One layer across an instance."""

    queued: int
    running: int
    idle: bool

    @classmethod
    def read_all(cls, data: Data) -> Mapping[str, LayerLoad]:
        return {
            name: cls(layer["queued"], layer["running"], bool(layer["idle"]))
            for name, layer in data.items()
            if isinstance(layer, Mapping)
        }


@dataclass(frozen=True, slots=True)
class Health:
    """State of the server: `ok` or `degraded`, and that of each component."""

    status: str
    version: str
    uptime_seconds: float
    components: Mapping[str, Mapping[str, Any]]

    @classmethod
    def read(cls, data: Data) -> Health:
        return cls(
            data["status"], data.get("version", ""), float(data.get("uptime", 0)), dict(data.get("components", {}))
        )


def page(read: Callable[[Data], T], items: list[Data], total: int) -> Page[T]:
    """Read a page of rows."""
    return Page(tuple(read(item) for item in items), total)


def hits(read: Callable[[Data], T], rows: Any) -> tuple[Hit[T], ...]:
    """Read rows that carry a score."""
    return tuple(
        Hit(
            read(row),
            float(row.get("score", 0.0)),
            dict(row.get("legs", {})),
            Neighbours.read_if_any(row.get("neighbours")),
        )
        for row in rows
    )


def version_number(version: int | str) -> int:
    """Read a version in either of the forms that the wire has for it, 3 or "v3"."""
    return int(str(version).removeprefix("v"))


def time_of(text: str | None) -> datetime | None:
    """Read a time of the wire; what is absent or empty is None."""
    return datetime.fromisoformat(text) if text else None
