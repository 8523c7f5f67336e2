"""The asynchronous client: `MemoryClient` with coroutines. What is sent and read is written once, in `_calls`."""

from __future__ import annotations

import copy
import ssl
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Self

import httpx

from memstrata.client._calls import Calls, MessageLike, Time
from memstrata.client._connection import AsyncConnection
from memstrata.client._deadline import Deadline
from memstrata.client._errors import MemstrataClientError
from memstrata.client._evidence import DocumentVersion, Evidence, MemoryVersion, PersonaEvidence, SceneEvidence
from memstrata.client._forgetting import Forgettable, ForgettingReceipt, Policy, PolicyState
from memstrata.client._results import (
    Found,
    Health,
    LayerLoad,
    Memory,
    Message,
    Page,
    Persona,
    PipelineStatus,
    Recall,
    Receipt,
    Scene,
    SceneText,
    SpendingLine,
)

__all__ = ["AsyncMemoryClient"]


class AsyncMemoryClient(AsyncConnection):
    """Memory of one agent for one user, on a Memstrata server, as coroutines.

    Every call raises `MemstrataClientError` or one of its branches, and nothing else once the client exists. Lost
    connections and 503 are retried up to three times where repeating cannot do harm; `add` always carries an
    idempotency key, so it never stores a turn twice. Times are aware `datetime` or ISO text; ranges are inclusive.
    Without a session of its own, a read covers all sessions of the scope.
    """

    def __init__(
        self,
        endpoint: str = "http://127.0.0.1:8420",
        *,
        api_key: str = "local",
        instance: str = "default",
        team: str,
        agent: str,
        user: str,
        session: str | None = None,
        task: str | None = None,
        user_key: str | None = None,
        timeout: float = 30.0,
        tls: ssl.SSLContext | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try; a call's own is for all of its tries.

        `user_key` is that of a person in the directory. `tls` is for a CA of your own; certificates are always verified.
        Raises ValueError for an argument that is empty.
        """
        self._calls = Calls(team, agent, user, session, task)
        super().__init__(endpoint, api_key, instance, timeout, transport, user_key, tls)

    def with_scope(
        self,
        *,
        team: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        session: str | EllipsisType | None = ...,
        task: str | EllipsisType | None = ...,
    ) -> Self:
        """Return a client for another scope over the same connection. None clears the session or the task."""
        other = copy.copy(self)
        other._calls = self._calls.narrowed(team, agent, user, session, task)
        return other

    async def add(
        self,
        messages: Sequence[MessageLike],
        *,
        session: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> Receipt:
        """Append messages of the roles `user` and `assistant` to a session, however many and however long they are.

        More than 100, or one of more than 8,192 characters, take several requests, which are one batch under one key. Give
        your own key when a call must stay harmless across restarts of your program; else the error has the one to repeat
        the call with, as its `idempotency_key`.
        """
        key, calls = self._calls.add(messages, session, idempotency_key)
        deadline = Deadline.after(self._seconds if timeout is None else timeout)
        receipts: list[Receipt] = []
        try:
            for call in calls:
                receipts.append(await self._send(call, deadline))
                if call.settle_seconds and not receipts[-1].replayed:
                    await self._pause(call.settle_seconds)
            return Receipt.joined(receipts)
        except MemstrataClientError as error:
            error.idempotency_key = key
            raise

    async def messages(
        self,
        *,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        offset: int | None = None,
        timeout: float | None = None,
    ) -> Page[Message]:
        """Page through messages, newest first, 20 at a time unless told otherwise."""
        return await self._send(self._calls.messages(session, since, until, limit, offset), timeout)

    async def count_messages(
        self,
        *,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        timeout: float | None = None,
    ) -> int:
        """Count messages."""
        return await self._send(self._calls.count_messages(session, since, until), timeout)

    async def search_messages(
        self,
        query: str,
        *,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        neighbours: int | None = None,
        timeout: float | None = None,
    ) -> Found[Message]:
        """Find messages, best first, 5 unless told otherwise; with up to `neighbours`, at most 5, on each side of a hit."""
        return await self._send(self._calls.search_messages(query, session, since, until, limit, neighbours), timeout)

    async def delete_messages(
        self, *, message_ids: Sequence[str] = (), session_ids: Sequence[str] = (), timeout: float | None = None
    ) -> int:
        """Delete messages or whole sessions, with what was distilled from them alone; return how many messages went."""
        return await self._send(self._calls.delete_messages(message_ids, session_ids), timeout)

    async def memories(
        self,
        *,
        type: str | None = None,  # noqa: A002
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        offset: int | None = None,
        timeout: float | None = None,
    ) -> Page[Memory]:
        """Page through memories, last changed first, 20 at a time unless told otherwise."""
        return await self._send(self._calls.memories(type, since, until, limit, offset), timeout)

    async def count_memories(
        self,
        *,
        type: str | None = None,  # noqa: A002
        since: Time | None = None,
        until: Time | None = None,
        timeout: float | None = None,
    ) -> int:
        """Count memories."""
        return await self._send(self._calls.count_memories(type, since, until), timeout)

    async def search(
        self,
        query: str,
        *,
        type: str | None = None,  # noqa: A002
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        timeout: float | None = None,
    ) -> Found[Memory]:
        """Find memories, best first, 5 unless told otherwise."""
        return await self._send(self._calls.search(query, type, since, until, limit), timeout)

    async def update_memory(
        self, memory_id: str, content: str, *, scene_name: str | None = None, timeout: float | None = None
    ) -> int:
        """Write a new version of a memory and return its number."""
        return await self._send(self._calls.update_memory(memory_id, content, scene_name), timeout)

    async def history(self, memory_id: str, *, timeout: float | None = None) -> tuple[MemoryVersion, ...]:
        """Return every version of a memory, newest first, also of one that no longer holds."""
        return await self._send(self._calls.history(memory_id), timeout)

    async def undo(self, memory_id: str, *, timeout: float | None = None) -> tuple[Memory, ...]:
        """Take back the last change of a memory and return what holds again; Conflict where there is nothing to undo."""
        return await self._send(self._calls.undo(memory_id), timeout)

    async def delete_memories(self, memory_ids: Sequence[str], *, timeout: float | None = None) -> int:
        """Delete memories and return how many went."""
        return await self._send(self._calls.delete_memories(memory_ids), timeout)

    async def scenes(self, *, prefix: str = "", timeout: float | None = None) -> tuple[Scene, ...]:
        """List scenes, hottest first."""
        return await self._send(self._calls.scenes(prefix), timeout)

    async def read_scene(self, path: str, *, timeout: float | None = None) -> SceneText | None:
        """Read a scene; None where there is none."""
        return await self._send(self._calls.read_scene(path), timeout)

    async def write_scene(
        self, path: str, content: str, *, summary: str | None = None, timeout: float | None = None
    ) -> int:
        """Write a new version of a scene that exists and return its number."""
        return await self._send(self._calls.write_scene(path, content, summary), timeout)

    async def create_scene(
        self, path: str, content: str, *, summary: str | None = None, timeout: float | None = None
    ) -> int:
        """Write a scene where there is none and return its version; Conflict for a path that is taken."""
        return await self._send(self._calls.create_scene(path, content, summary), timeout)

    async def remove_scene(self, path: str, *, timeout: float | None = None) -> None:
        """Remove a scene, or all under a path that ends in `/`."""
        await self._send(self._calls.remove_scene(path), timeout)

    async def scene_history(self, path: str, *, timeout: float | None = None) -> tuple[DocumentVersion, ...]:
        """Return every version of a scene, newest first, also of one that was removed."""
        return await self._send(self._calls.scene_history(path), timeout)

    async def restore_scene(self, path: str, version: int, *, timeout: float | None = None) -> int:
        """Write an old version of a scene anew and return the number of the new one."""
        return await self._send(self._calls.restore_scene(path, version), timeout)

    async def persona(self, *, timeout: float | None = None) -> Persona | None:
        """Read the persona with its index of scenes; None where there is none yet."""
        return await self._send(self._calls.persona(), timeout)

    async def write_persona(self, content: str, *, timeout: float | None = None) -> int:
        """Write a new version of the persona and return its number."""
        return await self._send(self._calls.write_persona(content), timeout)

    async def persona_history(self, *, timeout: float | None = None) -> tuple[DocumentVersion, ...]:
        """Return every version of the persona, newest first."""
        return await self._send(self._calls.persona_history(), timeout)

    async def restore_persona(self, version: int, *, timeout: float | None = None) -> int:
        """Write an old version of the persona anew and return the number of the new one."""
        return await self._send(self._calls.restore_persona(version), timeout)

    async def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        budget_ms: int | None = None,
        max_tokens: int | None = None,
        include: Sequence[str] | None = None,
        timeout: float | None = None,
    ) -> Recall:
        """Return what belongs into the next prompt. `include` names some of `memories`, `persona`, `scenes`.

        What does not arrive within `budget_ms` is left out and named; `max_tokens` is for both blocks together.
        """
        return await self._send(self._calls.recall(query, limit, budget_ms, max_tokens, include), timeout)

    async def trace(self, memory_id: str, *, timeout: float | None = None) -> Evidence:
        """Return why a memory exists."""
        return await self._send(self._calls.trace(memory_id), timeout)

    async def trace_scene(self, path: str, *, timeout: float | None = None) -> SceneEvidence:
        """Return why a scene reads as it does."""
        return await self._send(self._calls.trace_scene(path), timeout)

    async def trace_persona(self, line: str = "", *, timeout: float | None = None) -> PersonaEvidence:
        """Return why the persona reads as it does, or with `line` what supports that line of it."""
        return await self._send(self._calls.trace_persona(line), timeout)

    async def status(self, *, session: str | None = None, timeout: float | None = None) -> PipelineStatus:
        """Return what waits to be distilled in this scope."""
        return await self._send(self._calls.status(session), timeout)

    async def flush(
        self, *, session: str | None = None, wait_seconds: float = 30.0, timeout: float | None = None
    ) -> PipelineStatus:
        """Distill what waits now; return when it is done or the wait, at most 300 seconds, is over."""
        return await self._send(self._calls.flush(session, wait_seconds), timeout)

    async def spending(self, *, days: int = 7, timeout: float | None = None) -> tuple[SpendingLine, ...]:
        """Return what models cost this scope, one line for each of the last UTC days and each role."""
        return await self._send(self._calls.spending(days), timeout)

    async def retry(self, *, timeout: float | None = None) -> int:
        """Put dead letters back into the queue and return how many."""
        return await self._send(self._calls.retry(), timeout)

    async def forgettable(
        self,
        *,
        message_ids: Sequence[str] | None = None,
        memory_ids: Sequence[str] | None = None,
        session_ids: Sequence[str] | None = None,
        user: bool = False,
        agent: bool = False,
        team_only: bool = False,
        since: Time | None = None,
        until: Time | None = None,
        timeout: float | None = None,
    ) -> Forgettable:
        """Return what `forget` would let go with the same arguments."""
        return await self._send(
            self._calls.forgettable(
                {
                    "message_ids": message_ids,
                    "memory_ids": memory_ids,
                    "session_ids": session_ids,
                    "user": user,
                    "agent": agent,
                    "team_only": team_only,
                    "since": since,
                    "until": until,
                }
            ),
            timeout,
        )

    async def forget(
        self,
        *,
        message_ids: Sequence[str] | None = None,
        memory_ids: Sequence[str] | None = None,
        session_ids: Sequence[str] | None = None,
        user: bool = False,
        agent: bool = False,
        team_only: bool = False,
        since: Time | None = None,
        until: Time | None = None,
        confirm: bool = False,
        timeout: float | None = None,
    ) -> ForgettingReceipt:
        """Let go in every copy what is named, or was said within a time, or all of the user, the agent, or both.

        `user` reaches all teams and agents, with `team_only` this team. What is not named by id wants `confirm`.
        """
        return await self._send(
            self._calls.forget(
                {
                    "message_ids": message_ids,
                    "memory_ids": memory_ids,
                    "session_ids": session_ids,
                    "user": user,
                    "agent": agent,
                    "team_only": team_only,
                    "since": since,
                    "until": until,
                },
                confirm,
            ),
            timeout,
        )

    async def forgetting_receipt(self, receipt_id: str, *, timeout: float | None = None) -> ForgettingReceipt:
        """Return a receipt as it is now."""
        return await self._send(self._calls.forgetting_receipt(receipt_id), timeout)

    async def policy(
        self,
        *,
        team: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> PolicyState:
        """Return what is set for a part of the instance, and what holds there; None stands for all."""
        return await self._send(self._calls.policy(team, agent, user), timeout)

    async def set_policy(
        self,
        *,
        team: str | None = None,
        agent: str | None = None,
        user: str | None = None,
        redact_secrets: bool | None = None,
        retention_days: int | None = None,
        timeout: float | None = None,
    ) -> PolicyState:
        """Replace both rules of a part of the instance; None leaves a rule to the wider part."""
        return await self._send(self._calls.set_policy(team, agent, user, redact_secrets, retention_days), timeout)

    async def policies(
        self, *, limit: int | None = None, offset: int | None = None, timeout: float | None = None
    ) -> Page[Policy]:
        """Page through what is set in the instance, 20 at a time unless told otherwise."""
        return await self._send(self._calls.policies(limit, offset), timeout)

    async def load(self, *, timeout: float | None = None) -> Mapping[str, LayerLoad]:
        """Return the load of the whole instance, by layer."""
        return await self._send(self._calls.load(), timeout)

    async def health(self, *, timeout: float | None = None) -> Health:
        """Return the state of the server."""
        return await self._send(self._calls.health(), timeout)
