"""What calls about prompts and generations answer with. Read as tolerantly as `_results`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from memstrata.client._results import Data

__all__ = [
    "DeletedPrompts",
    "EffectivePrompt",
    "Generation",
    "GenerationEntry",
    "GenerationOutput",
    "GenerationPage",
    "Prompt",
    "PromptChange",
    "PromptSetting",
    "RecordRef",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A custom prompt. `layer` is l1, l2 or l3; `version` rises with each change."""

    id: str
    name: str
    layer: str
    prompt: str
    version: int
    created_by: str
    updated_by: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def read(cls, data: Data) -> Prompt:
        return cls(
            id=data["memory_prompt_id"],
            name=data["name"],
            layer=data["layer"],
            prompt=data["prompt"],
            version=int(data["version"]),
            created_by=data.get("created_by", ""),
            updated_by=data.get("updated_by", ""),
            created_at=_time(data["created_at_ms"]),
            updated_at=_time(data["updated_at_ms"]),
        )


@dataclass(frozen=True, slots=True)
class EffectivePrompt:
    """The prompt in force. `source` is `agent`, `team`, `instance`, or `system` where only the built-in one is."""

    id: str
    layer: str
    prompt: str
    source: str
    version: int

    @classmethod
    def read(cls, data: Data) -> EffectivePrompt:
        return cls(data["memory_prompt_id"], data["layer"], data["prompt"], data["source"], int(data["version"]))


@dataclass(frozen=True, slots=True)
class DeletedPrompts:
    """What went: prompts, and how many bindings of which kind of target."""

    prompt_ids: tuple[str, ...]
    cleared: Mapping[str, int]

    @classmethod
    def read(cls, data: Data) -> DeletedPrompts:
        return cls(tuple(data["deleted_prompt_ids"]), dict(data.get("cleared_settings", {})))


@dataclass(frozen=True, slots=True)
class PromptSetting:
    """A prompt bound to an instance, a team or an agent."""

    id: str
    target_type: str
    team: str | None
    agent: str | None
    layer: str
    prompt_id: str
    updated_by: str
    updated_at: datetime

    @classmethod
    def read(cls, data: Data) -> PromptSetting:
        return cls(
            id=data["setting_id"],
            target_type=data["target_type"],
            team=data.get("team_id"),
            agent=data.get("agent_id"),
            layer=data["layer"],
            prompt_id=data["memory_prompt_id"],
            updated_by=data.get("updated_by", ""),
            updated_at=_time(data["updated_at_ms"]),
        )


@dataclass(frozen=True, slots=True)
class PromptChange:
    """One change of a binding. `reason` is `explicit`, or `prompt_deleted` where the prompt itself went."""

    id: str
    target_type: str
    team: str | None
    agent: str | None
    layer: str
    action: str
    reason: str
    before_prompt_id: str | None
    after_prompt_id: str | None
    operator: str
    at: datetime

    @classmethod
    def read(cls, data: Data) -> PromptChange:
        return cls(
            id=data["setting_log_id"],
            target_type=data["target_type"],
            team=data.get("team_id"),
            agent=data.get("agent_id"),
            layer=data["layer"],
            action=data["action"],
            reason=data.get("reason", "explicit"),
            before_prompt_id=data.get("before_memory_prompt_id"),
            after_prompt_id=data.get("after_memory_prompt_id"),
            operator=data.get("operator_id", ""),
            at=_time(data["operated_at_ms"]),
        )


@dataclass(frozen=True, slots=True)
class RecordRef:
    """A record of a layer: l0 a message, l1 a memory, l2 a scene, l3 a persona."""

    layer: str
    id: str


@dataclass(frozen=True, slots=True)
class GenerationEntry:
    """One line of the log. `size` is the length of its record as JSON, in bytes."""

    log_id: str
    layer: str
    status: str
    anchor_memory_id: str | None
    finished_at: datetime
    size: int
    key: str

    @classmethod
    def read(cls, data: Data) -> GenerationEntry:
        return cls(
            log_id=data["log_id"],
            layer=data["layer"],
            status=data["status"],
            anchor_memory_id=data.get("anchor_memory_id"),
            finished_at=_time(data["finished_at_ms"]),
            size=int(data.get("size", 0)),
            key=data.get("key", ""),
        )


@dataclass(frozen=True, slots=True)
class GenerationPage:
    """Lines of the log, newest first, and where to go on; None at the end."""

    items: tuple[GenerationEntry, ...]
    next_cursor: str | None

    @classmethod
    def read(cls, data: Data) -> GenerationPage:
        return cls(tuple(GenerationEntry.read(item) for item in data["items"]), data.get("next_cursor"))


@dataclass(frozen=True, slots=True)
class GenerationOutput:
    """One record that a run wrote or touched: how, from what, and in whose place."""

    id: str
    version: int
    action: str
    inputs: tuple[RecordRef, ...]
    replaced: tuple[RecordRef, ...]
    note: str

    @classmethod
    def read(cls, data: Data) -> GenerationOutput:
        return cls(
            id=data["record_id"],
            version=int(data.get("version", 0)),
            action=data.get("action", ""),
            inputs=_refs(data.get("input_refs", ())),
            replaced=_refs(data.get("replaced_refs", ())),
            note=data.get("note", ""),
        )


@dataclass(frozen=True, slots=True)
class Generation:
    """How something came about. `model` is empty where rules did it; `usage` counts calls and tokens."""

    log_id: str
    generation_id: str
    layer: str
    status: str
    team: str
    agent: str
    user: str
    session_id: str
    prompt_id: str
    prompt_version: int
    prompt_source: str
    model: str
    mode: str
    anchor_memory_id: str | None
    inputs: tuple[RecordRef, ...]
    written: tuple[RecordRef, ...]
    outputs: tuple[GenerationOutput, ...]
    started_at: datetime
    finished_at: datetime
    error_code: str
    error_message: str
    usage: Mapping[str, int]
    notes: tuple[str, ...]

    @classmethod
    def read(cls, data: Data) -> Generation:
        prompt = data.get("prompt", {})
        return cls(
            log_id=data["log_id"],
            generation_id=data.get("generation_id", ""),
            layer=data["layer"],
            status=data["status"],
            team=data.get("team_id", ""),
            agent=data.get("agent_id", ""),
            user=data.get("user_id", ""),
            session_id=data.get("session_id", ""),
            prompt_id=prompt.get("memory_prompt_id", ""),
            prompt_version=int(prompt.get("version", 0)),
            prompt_source=prompt.get("source", ""),
            model=data.get("model", ""),
            mode=data.get("prompt_mode", ""),
            anchor_memory_id=data.get("anchor_memory_id"),
            inputs=_refs(data.get("input_refs", ())),
            written=_refs(data.get("output_refs", ())),
            outputs=tuple(GenerationOutput.read(item) for item in data.get("outputs", ())),
            started_at=_time(data["started_at_ms"]),
            finished_at=_time(data["finished_at_ms"]),
            error_code=data.get("error_code", ""),
            error_message=data.get("error_message", ""),
            usage=dict(data.get("usage", {})),
            notes=tuple(data.get("notes", ())),
        )


def _refs(items: Any) -> tuple[RecordRef, ...]:
    return tuple(RecordRef(item["layer"], item["record_id"]) for item in items)


def _time(milliseconds: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=milliseconds)
