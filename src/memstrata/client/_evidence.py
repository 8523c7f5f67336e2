"""What traces and histories answer with: why something is remembered, how it was made, and what was there before.

Read as tolerantly as the rest, see `_results`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memstrata.client._results import Data, Memory, Message, Persona, Scene, time_of, version_number

__all__ = [
    "Derivation",
    "DocumentVersion",
    "Evidence",
    "MemoryVersion",
    "PersonaEvidence",
    "SceneEvidence",
    "Support",
]


@dataclass(frozen=True, slots=True)
class Derivation:
    """What one run did to the version `id`, `version`, and by which model and prompt; both are empty where rules did it."""

    id: str
    version: int
    action: str
    at: datetime | None
    run_id: int
    model: str
    mode: str
    prompt_id: str
    prompt_version: int
    prompt_source: str
    note: str
    notes: tuple[str, ...]

    @classmethod
    def read(cls, data: Data) -> Derivation:
        prompt = data.get("prompt") or {}
        return cls(
            id=data["id"],
            version=version_number(data["version"]),
            action=data.get("action", ""),
            at=time_of(data.get("at")),
            run_id=int(data.get("run_id", 0)),
            model=data.get("model") or "",
            mode=data.get("mode", ""),
            prompt_id=prompt.get("id", ""),
            prompt_version=version_number(prompt.get("version", 0)),
            prompt_source=prompt.get("source", ""),
            note=data.get("note", ""),
            notes=tuple(data.get("notes", ())),
        )

    @classmethod
    def read_all(cls, data: Data) -> tuple[Derivation, ...]:
        return tuple(cls.read(item) for item in data.get("generation", ()))


@dataclass(frozen=True, slots=True)
class Support:
    """A memory that a document rests on, with the messages it cites."""

    memory: Memory
    messages: tuple[Message, ...]

    @classmethod
    def read(cls, data: Data) -> Support:
        return cls(Memory.read(data), tuple(Message.read(item) for item in data.get("messages", ())))


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a memory exists: the messages it cites, the versions it replaced, what was built on it, and how it was made."""

    memory: Memory
    messages: tuple[Message, ...]
    replaced: tuple[Memory, ...]
    scenes: tuple[Scene, ...]
    persona: Persona | None
    derivations: tuple[Derivation, ...] = ()

    @classmethod
    def read(cls, data: Data) -> Evidence:
        return cls(
            memory=Memory.read(data["memory"]),
            messages=tuple(Message.read(item) for item in data["messages"]),
            replaced=tuple(Memory.read(item) for item in data["replaced"]),
            scenes=tuple(Scene.read(entry) for entry in data["scenes"]),
            persona=Persona.read_if_any(data.get("persona")),
            derivations=Derivation.read_all(data),
        )


@dataclass(frozen=True, slots=True)
class SceneEvidence:
    """Why a scene reads as it does: the memories of this scope that it rests on, and how it was made."""

    scene: Scene
    supports: tuple[Support, ...]
    derivations: tuple[Derivation, ...]

    @classmethod
    def read(cls, data: Data) -> SceneEvidence:
        return cls(
            scene=Scene.read(data["scene"]),
            supports=tuple(Support.read(item) for item in data["memories"]),
            derivations=Derivation.read_all(data),
        )


@dataclass(frozen=True, slots=True)
class PersonaEvidence:
    """Why the persona, or a line of it, reads as it does. A line that no memory shares a word with has no support."""

    persona: Persona
    line: str
    scenes: tuple[Scene, ...]
    supports: tuple[Support, ...]
    derivations: tuple[Derivation, ...]

    @classmethod
    def read(cls, data: Data) -> PersonaEvidence:
        return cls(
            persona=Persona.read(data["persona"]),
            line=data.get("line", ""),
            scenes=tuple(Scene.read(entry) for entry in data["scenes"]),
            supports=tuple(Support.read(item) for item in data["memories"]),
            derivations=Derivation.read_all(data),
        )


@dataclass(frozen=True, slots=True)
class MemoryVersion:
    """A version in a memory's history. `proposal`: it never held, because a person's words stood in its place.

    `superseded_by` is id and version of what took its place.
    """

    memory: Memory
    live: bool
    proposal: bool
    valid_from: datetime | None
    valid_to: datetime | None
    superseded_by: tuple[str, int] | None
    message_ids: tuple[str, ...]
    derivations: tuple[Derivation, ...]

    @classmethod
    def read(cls, data: Data) -> MemoryVersion:
        successor = data.get("superseded_by")
        return cls(
            memory=Memory.read(data),
            live=bool(data["live"]),
            proposal=bool(data.get("proposal", False)),
            valid_from=time_of(data.get("valid_from")),
            valid_to=time_of(data.get("valid_to")),
            superseded_by=(successor["id"], version_number(successor["version"])) if successor else None,
            message_ids=tuple(data.get("message_ids", ())),
            derivations=Derivation.read_all(data),
        )


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A version in the history of a scene or of the persona, with its text. `proposal` as of memories."""

    path: str
    version: int
    content: str
    summary: str
    heat: int
    origin: str
    live: bool
    proposal: bool
    valid_from: datetime | None
    valid_to: datetime | None
    derivations: tuple[Derivation, ...]

    @classmethod
    def read(cls, data: Data) -> DocumentVersion:
        return cls(
            path=data["path"],
            version=version_number(data["version"]),
            content=data["content"],
            summary=data.get("summary", ""),
            heat=int(data.get("heat", 0)),
            origin=data.get("origin", ""),
            live=bool(data["live"]),
            proposal=bool(data.get("proposal", False)),
            valid_from=time_of(data.get("valid_from")),
            valid_to=time_of(data.get("valid_to")),
            derivations=Derivation.read_all(data),
        )
