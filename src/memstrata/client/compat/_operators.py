"""The clients of custom prompts and of the generation log of the contract's SDK, and their twins. Source: §9.1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memstrata.client._calls import Call
from memstrata.client._verbs import verb
from memstrata.client.compat._sender import Answer, AsyncStubSender, StubSender, post, query
from memstrata.client.compat._stub import Verify

__all__ = [
    "AsyncMemoryGenerationLogClient",
    "AsyncMemoryPromptClient",
    "MemoryGenerationLogClient",
    "MemoryPromptClient",
]

_PROMPT = "/v3/memory-prompt"
_LOG = "/v3/memory-generation-log"


class _PromptVerbs:
    def __init__(
        self,
        endpoint: str = "",
        api_key: str = "",
        service_id: str | None = None,
        *,
        team_id: str | None = None,
        agent_id: str | None = None,
        timeout: float = 30,
        verify: Verify = True,
        stub: Any = None,
    ) -> None:
        self._team, self._agent = team_id, agent_id
        self._connect(endpoint, api_key, service_id, timeout, verify, None, stub)

    def _connect(self, *arguments: Any) -> None:
        raise NotImplementedError

    @verb
    def create(self, *, name: str, layer: str, prompt: str) -> Call[Answer]:
        """Keep a new prompt."""
        return post(f"{_PROMPT}/create", {"name": name, "layer": layer, "prompt": prompt})

    @verb
    def get(self, memory_prompt_id: str) -> Call[Answer]:
        """Read a prompt."""
        return query(f"{_PROMPT}/get", {"memory_prompt_id": memory_prompt_id})

    @verb
    def list(
        self,
        *,
        layer: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
    ) -> Call[Answer]:
        """Page through prompts."""
        return query(f"{_PROMPT}/get", {"layer": layer, "limit": limit, "offset": offset, "time_order": time_order})

    @verb
    def get_effective(self, *, layer: str, team_id: str | None = None, agent_id: str | None = None) -> Call[Answer]:
        """Read the prompt in force."""
        target = {"team_id": team_id or self._team, "agent_id": agent_id or self._agent}
        return query(f"{_PROMPT}/get", {"layer": layer, **target})

    @verb
    def update(self, memory_prompt_id: str, *, name: str | None = None, prompt: str | None = None) -> Call[Answer]:
        """Change a prompt."""
        return post(f"{_PROMPT}/update", {"memory_prompt_id": memory_prompt_id, "name": name, "prompt": prompt})

    @verb
    def delete(self, memory_prompt_ids: Sequence[str]) -> Call[Answer]:
        """Delete prompts."""
        return post(f"{_PROMPT}/delete", {"memory_prompt_ids": [*memory_prompt_ids]})

    @verb
    def apply(
        self,
        memory_prompt_id: str,
        *,
        layer: str,
        team_id: str | None = None,
        agent_ids: Sequence[str] | None = None,
    ) -> Call[Answer]:
        """Bind a prompt to a team or its agents."""
        body = {"action": "apply", "memory_prompt_id": memory_prompt_id, "layer": layer}
        return post(f"{_PROMPT}/set", {**body, **self._target(team_id, agent_ids)})

    @verb
    def clear(self, *, layer: str, team_id: str | None = None, agent_ids: Sequence[str] | None = None) -> Call[Answer]:
        """Free a team or its agents of what is bound to them."""
        return post(f"{_PROMPT}/set", {"action": "clear", "layer": layer, **self._target(team_id, agent_ids)})

    @verb
    def list_settings(
        self,
        *,
        memory_prompt_id: str | None = None,
        target_type: str | None = None,
        team_id: str | None = None,
        agent_id: str | None = None,
        layer: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
    ) -> Call[Answer]:
        """Page through bindings."""
        about = {"memory_prompt_id": memory_prompt_id, "target_type": target_type, "layer": layer}
        target = {"team_id": team_id, "agent_id": agent_id}
        window = {"limit": limit, "offset": offset, "time_order": time_order}
        return query(f"{_PROMPT}/setting/list", {**about, **target, **window})

    @verb
    def list_setting_logs(
        self,
        *,
        memory_prompt_id: str | None = None,
        start_time: str | None = None,
        end_time: str | None = None,
        team_id: str | None = None,
        agent_id: str | None = None,
        action: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
    ) -> Call[Answer]:
        """Page through the history of bindings."""
        about = {"memory_prompt_id": memory_prompt_id, "action": action, "team_id": team_id, "agent_id": agent_id}
        window = {"limit": limit, "offset": offset, "time_order": time_order}
        return query(f"{_PROMPT}/log", {**about, "start_time": start_time, "end_time": end_time, **window})

    def _target(self, team_id: str | None, agent_ids: Sequence[str] | None) -> dict[str, Any]:
        agents = [self._agent] if agent_ids is None and self._agent else agent_ids
        return {"team_id": team_id or self._team, "agent_ids": None if agents is None else [*agents]}


class _LogVerbs:
    def __init__(
        self,
        endpoint: str = "",
        api_key: str = "",
        service_id: str | None = None,
        *,
        timeout: float = 30,
        verify: Verify = True,
        stub: Any = None,
    ) -> None:
        self._connect(endpoint, api_key, service_id, timeout, verify, None, stub)

    def _connect(self, *arguments: Any) -> None:
        raise NotImplementedError

    @verb
    def list(
        self,
        *,
        layer: str | None = None,
        status: str | None = None,
        start_time: str | None = None,
        end_time: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Call[Answer]:
        """Page through the log."""
        window = {"start_time": start_time, "end_time": end_time, "limit": limit, "cursor": cursor}
        return query(f"{_LOG}/list", {"layer": layer, "status": status, **window})

    @verb
    def get(self, log_id: str) -> Call[Answer]:
        """Read one run."""
        return query(f"{_LOG}/get", {"log_id": log_id})

    @verb
    def get_by_memory_id(self, memory_id: str, layer: str) -> Call[Answer]:
        """Read how a memory came about."""
        return query(f"{_LOG}/get", {"memory_id": memory_id, "layer": layer})


class MemoryPromptClient(StubSender, _PromptVerbs):
    """Custom prompts of an instance."""


class AsyncMemoryPromptClient(AsyncStubSender, _PromptVerbs):
    """`MemoryPromptClient` with coroutines."""


class MemoryGenerationLogClient(StubSender, _LogVerbs):
    """How memories came about."""


class AsyncMemoryGenerationLogClient(AsyncStubSender, _LogVerbs):
    """`MemoryGenerationLogClient` with coroutines."""
