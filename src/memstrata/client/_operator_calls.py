"""The requests behind custom prompts and the generation log. Reads are GET with a query string; no I/O here.

Source: wire contract §4.2, §4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias, TypeVar
from urllib.parse import urlencode

from memstrata.client._calls import Call, Time
from memstrata.client._operator_results import (
    DeletedPrompts,
    EffectivePrompt,
    Generation,
    GenerationPage,
    Prompt,
    PromptChange,
    PromptSetting,
)
from memstrata.client._results import Data

__all__ = ["GenerationCalls", "PromptCalls"]

T = TypeVar("T")
Value: TypeAlias = str | int | Sequence[str] | None

_PROMPT = "/v3/memory-prompt"
_LOG = "/v3/memory-generation-log"


@dataclass(frozen=True, slots=True)
class PromptCalls:
    """Builds requests about the prompts of an instance. `operator` is remembered as who made a change."""

    operator: str | None

    def create(self, name: str, layer: str, prompt: str) -> Call[str]:
        body = {"name": name, "layer": layer, "prompt": prompt}
        return self._write("create", body, lambda data: str(data["memory_prompt_id"]))

    def get(self, prompt_id: str) -> Call[Prompt]:
        return _read(f"{_PROMPT}/get", {"memory_prompt_id": prompt_id}, Prompt.read)

    def get_effective(self, layer: str, team: str, agent: str | None) -> Call[EffectivePrompt]:
        return _read(f"{_PROMPT}/get", {"layer": layer, "team_id": team, "agent_id": agent}, EffectivePrompt.read)

    def list(
        self, layer: str | None, limit: int | None, offset: int | None, time_order: str | None
    ) -> Call[tuple[Prompt, ...]]:
        query = {"layer": layer, "limit": limit, "offset": offset, "time_order": time_order}
        return _read(f"{_PROMPT}/get", query, lambda data: tuple(Prompt.read(item) for item in data["items"]))

    def update(self, prompt_id: str, name: str | None, prompt: str | None) -> Call[int]:
        body = {"memory_prompt_id": prompt_id, "name": name, "prompt": prompt}
        return self._write("update", body, lambda data: int(data["version"]), repeatable=True)

    def delete(self, prompt_ids: Sequence[str]) -> Call[DeletedPrompts]:
        return self._write("delete", {"memory_prompt_ids": list(prompt_ids)}, DeletedPrompts.read)

    def apply(self, prompt_id: str, layer: str, team: str | None, agents: Sequence[str] | None) -> Call[int]:
        return self._set("apply", layer, team, agents, memory_prompt_id=prompt_id)

    def clear(self, layer: str, team: str | None, agents: Sequence[str] | None) -> Call[int]:
        return self._set("clear", layer, team, agents)

    def list_settings(
        self,
        prompt_id: str | None,
        target_type: str | None,
        team: str | None,
        agent: str | None,
        layer: str | None,
        limit: int | None,
        offset: int | None,
        time_order: str | None,
    ) -> Call[tuple[PromptSetting, ...]]:
        query = {
            "memory_prompt_id": prompt_id,
            "target_type": target_type,
            "team_id": team,
            "agent_id": agent,
            "layer": layer,
            "limit": limit,
            "offset": offset,
            "time_order": time_order,
        }
        return _read(
            f"{_PROMPT}/setting/list", query, lambda data: tuple(PromptSetting.read(item) for item in data["items"])
        )

    def list_setting_logs(
        self,
        prompt_id: str | None,
        target_type: str | None,
        team: str | None,
        agent: str | None,
        since: Time | None,
        until: Time | None,
        action: str | None,
        limit: int | None,
        offset: int | None,
        time_order: str | None,
    ) -> Call[tuple[PromptChange, ...]]:
        query = {
            "memory_prompt_id": prompt_id,
            "target_type": target_type,
            "team_id": team,
            "agent_id": agent,
            **_window(since, until),
            "action": action,
            "limit": limit,
            "offset": offset,
            "time_order": time_order,
        }
        return _read(f"{_PROMPT}/log", query, lambda data: tuple(PromptChange.read(item) for item in data["items"]))

    def _set(self, action: str, layer: str, team: str | None, agents: Sequence[str] | None, **more: Value) -> Call[int]:
        # No agents is not the same as all: an empty list would reach for the whole team.
        body = {"action": action, "layer": layer, "team_id": team, **more}
        body["agent_ids"] = None if agents is None else list(agents)
        return self._write("set", body, lambda data: int(data["affected"]))

    def _write(
        self, verb: str, body: Mapping[str, Value], read: Callable[[Data], T], *, repeatable: bool = False
    ) -> Call[T]:
        headers = {b"x-tdai-user-id": self.operator.encode()} if self.operator else {}
        return Call(f"{_PROMPT}/{verb}", _given(body), read, repeatable, headers=headers)


@dataclass(frozen=True, slots=True)
class GenerationCalls:
    """Builds requests about the generation log of an instance."""

    def list(
        self,
        layer: str | None,
        status: str | None,
        since: Time | None,
        until: Time | None,
        limit: int | None,
        cursor: str | None,
    ) -> Call[GenerationPage]:
        query = {"layer": layer, "status": status, **_window(since, until), "limit": limit, "cursor": cursor}
        return _read(f"{_LOG}/list", query, GenerationPage.read)

    def get(self, log_id: str) -> Call[Generation]:
        return _read(f"{_LOG}/get", {"log_id": log_id}, Generation.read)

    def get_by_memory_id(self, memory_id: str, layer: str) -> Call[Generation]:
        return _read(f"{_LOG}/get", {"memory_id": memory_id, "layer": layer}, Generation.read)


def _read(path: str, query: Mapping[str, Value], read: Callable[[Data], T]) -> Call[T]:
    given = _given(query)
    return Call(f"{path}?{urlencode(given)}" if given else path, None, read)


def _given(fields: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in fields.items() if value is not None}


def _window(since: Time | None, until: Time | None) -> dict[str, str | None]:
    def text(time: Time | None) -> str | None:
        if isinstance(time, datetime) and time.tzinfo is None:
            raise ValueError("a datetime without a time zone could mean any instant; give it one")
        return time.isoformat(timespec="milliseconds") if isinstance(time, datetime) else time

    return {"start_time": text(since), "end_time": text(until)}
