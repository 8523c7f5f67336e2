"""The blocking client. Its twin is `AsyncMemoryClient`; what is sent and read is written once, in `_calls`."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Self

import httpx

from memstrata.client._calls import Calls, MessageLike, Time
from memstrata.client._connection import Connection
from memstrata.client._evidence import DocumentVersion, Evidence, MemoryVersion, PersonaEvidence, SceneEvidence
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

__all__ = ["MemoryClient"]


class MemoryClient(Connection):
    """Memory of one agent for one user, on a Memstrata server.

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
        timeout: float = 30.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Nothing is sent yet. `timeout` is in seconds and for one try. Raises ValueError for an empty argument."""
        self._calls = Calls(team, agent, user, session, task)
        super().__init__(endpoint, api_key, instance, timeout, transport)

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

    def add(
        self, messages: Sequence[MessageLike], *, session: str | None = None, idempotency_key: str | None = None
    ) -> Receipt:
        """Append 1 to 100 messages of the roles `user` and `assistant` to a session.

        Give your own key when a call must stay harmless across restarts of your program.
        """
        return self._send(self._calls.add(messages, session, idempotency_key))

    def messages(
        self,
        *,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[Message]:
        """Page through messages, newest first, 20 at a time unless told otherwise."""
        return self._send(self._calls.messages(session, since, until, limit, offset))

    def count_messages(
        self, *, session: str | None = None, since: Time | None = None, until: Time | None = None
    ) -> int:
        """Count messages."""
        return self._send(self._calls.count_messages(session, since, until))

    def search_messages(
        self,
        query: str,
        *,
        session: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        neighbours: int | None = None,
    ) -> Found[Message]:
        """Find messages, best first, 5 unless told otherwise; with up to `neighbours`, at most 5, on each side of a hit."""
        return self._send(self._calls.search_messages(query, session, since, until, limit, neighbours))

    def delete_messages(self, *, message_ids: Sequence[str] = (), session_ids: Sequence[str] = ()) -> int:
        """Delete messages or whole sessions, with what was distilled from them alone; return how many messages went."""
        return self._send(self._calls.delete_messages(message_ids, session_ids))

    def memories(
        self,
        *,
        type: str | None = None,  # noqa: A002
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> Page[Memory]:
        """Page through memories, last changed first, 20 at a time unless told otherwise."""
        return self._send(self._calls.memories(type, since, until, limit, offset))

    def count_memories(
        self,
        *,
        type: str | None = None,  # noqa: A002
        since: Time | None = None,
        until: Time | None = None,
    ) -> int:
        """Count memories."""
        return self._send(self._calls.count_memories(type, since, until))

    def search(
        self,
        query: str,
        *,
        type: str | None = None,  # noqa: A002
        since: Time | None = None,
        until: Time | None = None,
        limit: int | None = None,
    ) -> Found[Memory]:
        """Find memories, best first, 5 unless told otherwise."""
        return self._send(self._calls.search(query, type, since, until, limit))

    def update_memory(self, memory_id: str, content: str, *, scene_name: str | None = None) -> int:
        """Write a new version of a memory and return its number."""
        return self._send(self._calls.update_memory(memory_id, content, scene_name))

    def history(self, memory_id: str) -> tuple[MemoryVersion, ...]:
        """Return every version of a memory, newest first, also of one that no longer holds."""
        return self._send(self._calls.history(memory_id))

    def undo(self, memory_id: str) -> tuple[Memory, ...]:
        """Take back the last change of a memory and return what holds again; Conflict where there is nothing to undo."""
        return self._send(self._calls.undo(memory_id))

    def delete_memories(self, memory_ids: Sequence[str]) -> int:
        """Delete memories and return how many went."""
        return self._send(self._calls.delete_memories(memory_ids))

    def scenes(self, *, prefix: str = "") -> tuple[Scene, ...]:
        """List scenes, hottest first."""
        return self._send(self._calls.scenes(prefix))

    def read_scene(self, path: str) -> SceneText | None:
        """Read a scene; None where there is none."""
        return self._send(self._calls.read_scene(path))

    def write_scene(self, path: str, content: str, *, summary: str | None = None) -> int:
        """Write a new version of a scene that exists and return its number."""
        return self._send(self._calls.write_scene(path, content, summary))

    def remove_scene(self, path: str) -> None:
        """Remove a scene, or all under a path that ends in `/`."""
        self._send(self._calls.remove_scene(path))

    def scene_history(self, path: str) -> tuple[DocumentVersion, ...]:
        """Return every version of a scene, newest first, also of one that was removed."""
        return self._send(self._calls.scene_history(path))

    def restore_scene(self, path: str, version: int) -> int:
        """Write an old version of a scene anew and return the number of the new one."""
        return self._send(self._calls.restore_scene(path, version))

    def persona(self) -> Persona | None:
        """Read the persona with its index of scenes; None where there is none yet."""
        return self._send(self._calls.persona())

    def write_persona(self, content: str) -> int:
        """Write a new version of the persona and return its number."""
        return self._send(self._calls.write_persona(content))

    def persona_history(self) -> tuple[DocumentVersion, ...]:
        """Return every version of the persona, newest first."""
        return self._send(self._calls.persona_history())

    def restore_persona(self, version: int) -> int:
        """Write an old version of the persona anew and return the number of the new one."""
        return self._send(self._calls.restore_persona(version))

    def recall(
        self,
        query: str,
        *,
        limit: int | None = None,
        budget_ms: int | None = None,
        max_tokens: int | None = None,
        include: Sequence[str] | None = None,
    ) -> Recall:
        """Return what belongs into the next prompt. `include` names some of `memories`, `persona`, `scenes`.

        What does not arrive within `budget_ms` is left out and named; `max_tokens` is for both blocks together.
        """
        return self._send(self._calls.recall(query, limit, budget_ms, max_tokens, include))

    def trace(self, memory_id: str) -> Evidence:
        """Return why a memory exists."""
        return self._send(self._calls.trace(memory_id))

    def trace_scene(self, path: str) -> SceneEvidence:
        """Return why a scene reads as it does."""
        return self._send(self._calls.trace_scene(path))

    def trace_persona(self, line: str = "") -> PersonaEvidence:
        """Return why the persona reads as it does, or with `line` what supports that line of it."""
        return self._send(self._calls.trace_persona(line))

    def status(self, *, session: str | None = None) -> PipelineStatus:
        """Return what waits to be distilled in this scope."""
        return self._send(self._calls.status(session))

    def flush(self, *, session: str | None = None, wait_seconds: float = 30.0) -> PipelineStatus:
        """Distill what waits now; return when it is done or the wait, at most 300 seconds, is over."""
        return self._send(self._calls.flush(session, wait_seconds))

    def spending(self, *, days: int = 7) -> tuple[SpendingLine, ...]:
        """Return what models cost this scope, one line for each of the last UTC days and each role."""
        return self._send(self._calls.spending(days))

    def retry(self) -> int:
        """Put dead letters back into the queue and return how many."""
        return self._send(self._calls.retry())

    def load(self) -> Mapping[str, LayerLoad]:
        """Return the load of the whole instance, by layer."""
        return self._send(self._calls.load())

    def health(self) -> Health:
        """Return the state of the server."""
        return self._send(self._calls.health())
