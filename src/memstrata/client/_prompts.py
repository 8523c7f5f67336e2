"""The clients of custom prompts: `MemoryPromptClient` and its twin. What is sent and read is in `_operator_calls`."""

from __future__ import annotations

import ssl
from collections.abc import Sequence

import httpx

from memstrata.client._calls import Time
from memstrata.client._connection import AsyncConnection, Connection
from memstrata.client._operator_calls import PromptCalls
from memstrata.client._operator_results import DeletedPrompts, EffectivePrompt, Prompt, PromptChange, PromptSetting

__all__ = ["AsyncMemoryPromptClient", "MemoryPromptClient"]


class MemoryPromptClient(Connection):
    """Custom prompts of an instance. `operator` is remembered as who made a change; `default` without one."""

    def __init__(
        self,
        endpoint: str = "http://127.0.0.1:8420",
        *,
        api_key: str = "local",
        instance: str = "default",
        operator: str | None = None,
        user_key: str | None = None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try; a call's own is for all of its tries.

        `user_key` is that of a person in the directory. `tls` is for a CA of your own; certificates are always verified.
        Raises ValueError for an argument that is empty.
        """
        self._calls = PromptCalls(operator)
        super().__init__(endpoint, api_key, instance, timeout, transport, user_key, tls)

    def create(self, *, name: str, layer: str, prompt: str, timeout: float | None = None) -> str:
        """Keep a new prompt for `l1`, `l2` or `l3`, bound to nothing yet, and return its id."""
        return self._send(self._calls.create(name, layer, prompt), timeout)

    def get(self, prompt_id: str, *, timeout: float | None = None) -> Prompt:
        """Read one prompt."""
        return self._send(self._calls.get(prompt_id), timeout)

    def list(
        self,
        *,
        layer: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
        timeout: float | None = None,
    ) -> tuple[Prompt, ...]:
        """Page through prompts, newest first, 20 at a time unless told otherwise. `time_order` is `desc` or `asc`."""
        return self._send(self._calls.list(layer, limit, offset, time_order), timeout)

    def get_effective(
        self, *, layer: str, team: str, agent: str | None = None, timeout: float | None = None
    ) -> EffectivePrompt:
        """Read the prompt in force for a team or one of its agents; without any, the built-in one with an empty text."""
        return self._send(self._calls.get_effective(layer, team, agent), timeout)

    def update(
        self, prompt_id: str, *, name: str | None = None, prompt: str | None = None, timeout: float | None = None
    ) -> int:
        """Change name or text and return the version, which rises only if something did change."""
        return self._send(self._calls.update(prompt_id, name, prompt), timeout)

    def delete(self, prompt_ids: Sequence[str], *, timeout: float | None = None) -> DeletedPrompts:
        """Delete 1 to 100 prompts, all or none, with their bindings."""
        return self._send(self._calls.delete(prompt_ids), timeout)

    def apply(
        self,
        prompt_id: str,
        *,
        layer: str,
        team: str | None = None,
        agents: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> int:
        """Bind a prompt to agents of a team, else to the team, else to the instance; return how many bindings changed."""
        return self._send(self._calls.apply(prompt_id, layer, team, agents), timeout)

    def clear(
        self, *, layer: str, team: str | None = None, agents: Sequence[str] | None = None, timeout: float | None = None
    ) -> int:
        """Free such targets of whatever is bound to them; return how many were."""
        return self._send(self._calls.clear(layer, team, agents), timeout)

    def list_settings(
        self,
        *,
        prompt_id: str | None = None,
        target_type: str | None = None,
        team: str | None = None,
        agent: str | None = None,
        layer: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
        timeout: float | None = None,
    ) -> tuple[PromptSetting, ...]:
        """Page through bindings. `target_type` is `instance`, `team` or `agent`."""
        return self._send(
            self._calls.list_settings(prompt_id, target_type, team, agent, layer, limit, offset, time_order), timeout
        )

    def list_setting_logs(
        self,
        *,
        prompt_id: str | None = None,
        target_type: str | None = None,
        team: str | None = None,
        agent: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        action: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
        timeout: float | None = None,
    ) -> tuple[PromptChange, ...]:
        """Page through the history of a prompt's or a target's bindings: the last 7 days, or up to 90 days between two times."""
        return self._send(
            self._calls.list_setting_logs(
                prompt_id, target_type, team, agent, since, until, action, limit, offset, time_order
            ),
            timeout,
        )


class AsyncMemoryPromptClient(AsyncConnection):
    """`MemoryPromptClient` with coroutines."""

    def __init__(
        self,
        endpoint: str = "http://127.0.0.1:8420",
        *,
        api_key: str = "local",
        instance: str = "default",
        operator: str | None = None,
        user_key: str | None = None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try; a call's own is for all of its tries.

        `user_key` is that of a person in the directory. `tls` is for a CA of your own; certificates are always verified.
        Raises ValueError for an argument that is empty.
        """
        self._calls = PromptCalls(operator)
        super().__init__(endpoint, api_key, instance, timeout, transport, user_key, tls)

    async def create(self, *, name: str, layer: str, prompt: str, timeout: float | None = None) -> str:
        """Keep a new prompt for `l1`, `l2` or `l3`, bound to nothing yet, and return its id."""
        return await self._send(self._calls.create(name, layer, prompt), timeout)

    async def get(self, prompt_id: str, *, timeout: float | None = None) -> Prompt:
        """Read one prompt."""
        return await self._send(self._calls.get(prompt_id), timeout)

    async def list(
        self,
        *,
        layer: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
        timeout: float | None = None,
    ) -> tuple[Prompt, ...]:
        """Page through prompts, newest first, 20 at a time unless told otherwise. `time_order` is `desc` or `asc`."""
        return await self._send(self._calls.list(layer, limit, offset, time_order), timeout)

    async def get_effective(
        self, *, layer: str, team: str, agent: str | None = None, timeout: float | None = None
    ) -> EffectivePrompt:
        """Read the prompt in force for a team or one of its agents; without any, the built-in one with an empty text."""
        return await self._send(self._calls.get_effective(layer, team, agent), timeout)

    async def update(
        self, prompt_id: str, *, name: str | None = None, prompt: str | None = None, timeout: float | None = None
    ) -> int:
        """Change name or text and return the version, which rises only if something did change."""
        return await self._send(self._calls.update(prompt_id, name, prompt), timeout)

    async def delete(self, prompt_ids: Sequence[str], *, timeout: float | None = None) -> DeletedPrompts:
        """Delete 1 to 100 prompts, all or none, with their bindings."""
        return await self._send(self._calls.delete(prompt_ids), timeout)

    async def apply(
        self,
        prompt_id: str,
        *,
        layer: str,
        team: str | None = None,
        agents: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> int:
        """Bind a prompt to agents of a team, else to the team, else to the instance; return how many bindings changed."""
        return await self._send(self._calls.apply(prompt_id, layer, team, agents), timeout)

    async def clear(
        self, *, layer: str, team: str | None = None, agents: Sequence[str] | None = None, timeout: float | None = None
    ) -> int:
        """Free such targets of whatever is bound to them; return how many were."""
        return await self._send(self._calls.clear(layer, team, agents), timeout)

    async def list_settings(
        self,
        *,
        prompt_id: str | None = None,
        target_type: str | None = None,
        team: str | None = None,
        agent: str | None = None,
        layer: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
        timeout: float | None = None,
    ) -> tuple[PromptSetting, ...]:
        """Page through bindings. `target_type` is `instance`, `team` or `agent`."""
        return await self._send(
            self._calls.list_settings(prompt_id, target_type, team, agent, layer, limit, offset, time_order), timeout
        )

    async def list_setting_logs(
        self,
        *,
        prompt_id: str | None = None,
        target_type: str | None = None,
        team: str | None = None,
        agent: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        action: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_order: str | None = None,
        timeout: float | None = None,
    ) -> tuple[PromptChange, ...]:
        """Page through the history of a prompt's or a target's bindings: the last 7 days, or up to 90 days between two times."""
        return await self._send(
            self._calls.list_setting_logs(
                prompt_id, target_type, team, agent, since, until, action, limit, offset, time_order
            ),
            timeout,
        )
