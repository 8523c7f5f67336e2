"""`MemoryClient` of the contract's SDK and its twin: layers L0 to L3 of one scope, as dictionaries. Source: §9.1."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from types import EllipsisType
from typing import Any, Self

from memstrata.client._calls import Call
from memstrata.client._errors import ParamError
from memstrata.client._verbs import verb
from memstrata.client.compat._sender import Answer, AsyncStubSender, StubSender, post
from memstrata.client.compat._stub import Verify

__all__ = ["AsyncMemoryClient", "MemoryClient"]

MAX_IDS = 5_000
MAX_SESSIONS = 100


class _MemoryVerbs:
    """The verbs, and the scope that goes with each."""

    _scope: Mapping[str, str | None]
    _session_id: str | None

    def __init__(
        self,
        endpoint: str = "",
        api_key: str = "",
        service_id: str | None = None,
        *,
        team_id: str = "",
        agent_id: str = "",
        user_id: str = "",
        session_id: str | None = None,
        task_id: str | None = None,
        user_key: str | None = None,
        timeout: float = 30,
        verify: Verify = True,
        stub: Any = None,
    ) -> None:
        """Raises ParamError if instance, team, agent or user are missing."""
        if not (service_id and team_id and agent_id and user_id):
            raise ParamError("service_id, team_id, agent_id and user_id are needed")
        self._scope = {"team_id": team_id, "agent_id": agent_id, "user_id": user_id, "task_id": task_id}
        self._session_id = session_id
        self._connect(endpoint, api_key, service_id, timeout, verify, user_key, stub)

    def _connect(self, *arguments: Any) -> None:
        raise NotImplementedError

    def with_isolation(
        self,
        *,
        team_id: str | None = None,
        agent_id: str | None = None,
        user_id: str | None = None,
        session_id: str | EllipsisType | None = ...,
        task_id: str | EllipsisType | None = ...,
    ) -> Self:
        """Return a client for another scope over the same connection. None clears the session or the task."""
        other = copy.copy(self)
        ids = {"team_id": team_id, "agent_id": agent_id, "user_id": user_id}
        scope = {**self._scope, **{name: value for name, value in ids.items() if value}}
        other._scope = scope if isinstance(task_id, EllipsisType) else {**scope, "task_id": task_id}
        other._session_id = self._session_id if isinstance(session_id, EllipsisType) else session_id
        return other

    @verb
    def add_conversation(self, messages: Sequence[Mapping[str, Any]], *, session_id: str | None = None) -> Call[Answer]:
        """Append messages to a session. Raises ValueError without one."""
        if not (session_id or self._session_id):
            raise ValueError("session_id is needed, here or in the client")
        return self._l0("conversation/add", session_id, messages=list(messages))

    @verb
    def query_conversation(
        self,
        *,
        session_id: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        time_start: str | None = None,
        time_end: str | None = None,
    ) -> Call[Answer]:
        """Page through messages."""
        return self._l0(
            "conversation/query", session_id, limit=limit, offset=offset, time_start=time_start, time_end=time_end
        )

    @verb
    def search_conversation(
        self,
        query: str,
        *,
        limit: int | None = None,
        session_id: str | None = None,
        time_start: str | None = None,
        time_end: str | None = None,
    ) -> Call[Answer]:
        """Find messages."""
        return self._l0(
            "conversation/search", session_id, query=query, limit=limit, time_start=time_start, time_end=time_end
        )

    @verb
    def delete_conversation(
        self,
        *,
        message_ids: Sequence[str] | None = None,
        session_ids: Sequence[str] | None = None,
        session_id: str | None = None,
    ) -> Call[Answer]:
        """Delete messages or sessions that are named here; the client's own session is never meant."""
        if message_ids is None and session_ids is None and session_id is None:
            raise ParamError("message_ids, session_ids or session_id is needed")
        return self._post(
            "conversation/delete",
            message_ids=None if message_ids is None else _ids("message_ids", message_ids, MAX_IDS),
            session_ids=None if session_ids is None else _ids("session_ids", session_ids, MAX_SESSIONS),
            session_id=None if session_id is None else _ids("session_id", [session_id], 1)[0],
        )

    @verb
    def count_conversation(
        self, *, session_id: str | None = None, time_start: str | None = None, time_end: str | None = None
    ) -> Call[Answer]:
        """Count messages."""
        return self._l0("conversation/count", session_id, time_start=time_start, time_end=time_end)

    @verb
    def update_atomic(
        self,
        id: str,  # noqa: A002
        content: str,
        *,
        background: str | None = None,
        session_id: str | None = None,
    ) -> Call[Answer]:
        """Change the text of a memory."""
        return self._l0("atomic/update", session_id, id=id, content=content, background=background)

    @verb
    def query_atomic(
        self,
        *,
        type: str | None = None,  # noqa: A002
        limit: int | None = None,
        offset: int | None = None,
        time_start: str | None = None,
        time_end: str | None = None,
        session_id: str | None = None,
    ) -> Call[Answer]:
        """Page through memories."""
        window = {"limit": limit, "offset": offset, "time_start": time_start, "time_end": time_end}
        return self._l0("atomic/query", session_id, type=type, **window)

    @verb
    def search_atomic(
        self,
        query: str,
        *,
        limit: int | None = None,
        type: str | None = None,  # noqa: A002
        time_start: str | None = None,
        time_end: str | None = None,
        session_id: str | None = None,
    ) -> Call[Answer]:
        """Find memories."""
        window = {"limit": limit, "time_start": time_start, "time_end": time_end}
        return self._l0("atomic/search", session_id, query=query, type=type, **window)

    @verb
    def delete_atomic(self, ids: Sequence[str], *, session_id: str | None = None) -> Call[Answer]:
        """Delete memories."""
        return self._l0("atomic/delete", session_id, ids=_ids("ids", ids, MAX_IDS))

    @verb
    def count_atomic(
        self,
        *,
        type: str | None = None,  # noqa: A002
        time_start: str | None = None,
        time_end: str | None = None,
        session_id: str | None = None,
    ) -> Call[Answer]:
        """Count memories."""
        return self._l0("atomic/count", session_id, type=type, time_start=time_start, time_end=time_end)

    @verb
    def list_scenarios(self, *, path_prefix: str | None = None) -> Call[Answer]:
        """List scenes."""
        return self._post("scenario/ls", path_prefix=path_prefix)

    @verb
    def read_scenario(self, path: str) -> Call[Answer]:
        """Read a scene."""
        return self._post("scenario/read", path=path)

    @verb
    def write_scenario(self, path: str, content: str, *, summary: str | None = None) -> Call[Answer]:
        """Write a scene."""
        return self._post("scenario/write", path=path, content=content, summary=summary)

    @verb
    def rm_scenario(self, path: str) -> Call[Answer]:
        """Remove a scene."""
        return self._post("scenario/rm", path=path)

    @verb
    def count_scenario(self, *, path_prefix: str | None = None) -> Call[Answer]:
        """Count scenes."""
        return self._post("scenario/count", path_prefix=path_prefix)

    @verb
    def read_core(self) -> Call[Answer]:
        """Read the persona."""
        return self._post("core/read")

    @verb
    def write_core(self, content: str) -> Call[Answer]:
        """Write the persona."""
        return self._post("core/write", content=content)

    @verb
    def count_core(self) -> Call[Answer]:
        """Count personas: none or one."""
        return self._post("core/count")

    @verb
    def clear_chat_memory(self, memory_ids: Sequence[str]) -> Call[Answer]:
        """Empty the memory of agents, named by their asset ids."""
        return post("/v3/chat-memory/clear", {"memory_ids": _ids("memory_ids", memory_ids, MAX_SESSIONS)})

    def _l0(self, path: str, session_id: str | None, /, **fields: Any) -> Call[Answer]:
        return self._post(path, session_id=session_id or self._session_id, **fields)

    def _post(self, path: str, /, **fields: Any) -> Call[Answer]:
        return post(f"/v3/{path}", {**self._scope, **fields})


class MemoryClient(StubSender, _MemoryVerbs):
    """Memory of one scope."""


class AsyncMemoryClient(AsyncStubSender, _MemoryVerbs):
    """`MemoryClient` with coroutines."""


def _ids(field: str, ids: Iterable[Any], most: int) -> list[str]:
    listed = [] if isinstance(ids, str) else list(ids)
    if not 1 <= len(listed) <= most or not all(isinstance(one, str) and one.strip() for one in listed):
        raise ParamError(f"{field} is a list of 1 to {most} ids, none of them blank")
    return listed
