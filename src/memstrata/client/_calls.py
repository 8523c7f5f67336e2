"""The requests behind the verbs: path, body, how the answer is read. Written once for both clients; no I/O here."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import EllipsisType
from typing import Any, Generic, TypeAlias, TypeVar

from memstrata.client._additions import parts_of
from memstrata.client._evidence import DocumentVersion, Evidence, MemoryVersion, PersonaEvidence, SceneEvidence
from memstrata.client._forgetting import Forgettable, ForgettingReceipt, Policy, PolicyState
from memstrata.client._results import (
    Data,
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
    hits,
    page,
    version_number,
)
from memstrata.client._times import wire_time

__all__ = ["Call", "Calls", "MessageLike", "Time", "wire_time"]

T = TypeVar("T")

MessageLike: TypeAlias = tuple[str, str] | Mapping[str, Any]
"""`(role, content)`, or a mapping with `role`, `content` and optionally `timestamp`, `recorded_at`, `id`."""

Time: TypeAlias = datetime | str
"""An aware `datetime`, or text such as 2026-01-02T03:04:05Z."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request. Without a body it is a GET."""

    path: str
    body: Data | None
    read: Callable[[Data], T]
    repeatable: bool = True  # sending it twice has the effect of sending it once, and the same answer
    wait_seconds: float = 0.0  # how long the server may take on purpose
    headers: Mapping[bytes, bytes] = field(default_factory=dict)
    settle_seconds: float = 0.0  # how far behind its arrival the server dates it; the next one would overtake it


@dataclass(frozen=True, slots=True)
class Calls:
    """Builds requests about one scope. A session or task of None is not sent, and so does not narrow a read."""

    team: str
    agent: str
    user: str
    session: str | None
    task: str | None

    def __post_init__(self) -> None:
        for name in ("team", "agent", "user"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} must not be empty")

    def narrowed(
        self,
        team: str | None,
        agent: str | None,
        user: str | None,
        session: str | EllipsisType | None,
        task: str | EllipsisType | None,
    ) -> Calls:
        """Return the same for another scope. None keeps an id of the scope and clears a session or task."""
        return Calls(
            team=self.team if team is None else team,
            agent=self.agent if agent is None else agent,
            user=self.user if user is None else user,
            session=self.session if isinstance(session, EllipsisType) else session,
            task=self.task if isinstance(task, EllipsisType) else task,
        )

    def add(
        self, messages: Sequence[MessageLike], session: str | None, idempotency_key: str | None
    ) -> tuple[str, tuple[Call[Receipt], ...]]:
        """Return the key of the whole and the requests that carry it, to be sent in order."""
        session = session or self.session
        if not session:
            raise ValueError("add needs a session: give one here or to the client")
        key = idempotency_key or uuid.uuid4().hex
        parts = parts_of([_message(item) for item in messages], key)
        calls = []
        for part in parts:
            body = {"session_id": session, "messages": part.messages, "idempotency_key": part.key}
            calls.append(
                replace(self._post("/v3/conversation/add", body, Receipt.read), settle_seconds=part.settle_seconds)
            )
        return key, tuple(calls)

    def messages(
        self, session: str | None, since: Time | None, until: Time | None, limit: int | None, offset: int | None
    ) -> Call[Page[Message]]:
        body = {**self._session(session), **_window(since, until), "limit": limit, "offset": offset}
        return self._post(
            "/v3/conversation/query", body, lambda data: page(Message.read, data["messages"], data["total"])
        )

    def count_messages(self, session: str | None, since: Time | None, until: Time | None) -> Call[int]:
        return self._post("/v3/conversation/count", {**self._session(session), **_window(since, until)}, _total)

    def search_messages(
        self,
        query: str,
        session: str | None,
        since: Time | None,
        until: Time | None,
        limit: int | None,
        neighbours: int | None,
    ) -> Call[Found[Message]]:
        body = {
            "query": query,
            **self._session(session),
            **_window(since, until),
            "limit": limit,
            "neighbours": neighbours,
        }
        return self._post(
            "/v3/conversation/search",
            body,
            lambda data: Found(hits(Message.read, data["messages"]), tuple(data.get("degraded", ()))),
        )

    def delete_messages(self, message_ids: Sequence[str], session_ids: Sequence[str]) -> Call[int]:
        # A session in the body would be deleted whole; in the header it only tells where the caller is.
        headers = {b"x-tdai-session-id": self.session.encode()} if self.session else {}
        body = {"message_ids": list(message_ids) or None, "session_ids": list(session_ids) or None}
        return self._post("/v3/conversation/delete", body, _deleted, repeatable=False, headers=headers)

    def memories(
        self,
        kind: str | None,
        since: Time | None,
        until: Time | None,
        limit: int | None,
        offset: int | None,
    ) -> Call[Page[Memory]]:
        body = {**self._session(None), "type": kind, **_window(since, until), "limit": limit, "offset": offset}
        return self._post("/v3/atomic/query", body, lambda data: page(Memory.read, data["items"], data["total"]))

    def count_memories(self, kind: str | None, since: Time | None, until: Time | None) -> Call[int]:
        return self._post("/v3/atomic/count", {**self._session(None), "type": kind, **_window(since, until)}, _total)

    def search(
        self,
        query: str,
        kind: str | None,
        since: Time | None,
        until: Time | None,
        limit: int | None,
    ) -> Call[Found[Memory]]:
        body = {"query": query, **self._session(None), "type": kind, **_window(since, until), "limit": limit}
        return self._post(
            "/v3/atomic/search",
            body,
            lambda data: Found(hits(Memory.read, data["items"]), tuple(data.get("degraded", ()))),
        )

    def update_memory(self, memory_id: str, content: str, scene_name: str | None) -> Call[int]:
        body = {**self._session(None), "id": memory_id, "content": content, "background": scene_name}
        return self._post("/v3/atomic/update", body, _version, repeatable=False)

    def history(self, memory_id: str) -> Call[tuple[MemoryVersion, ...]]:
        body = {**self._session(None), "id": memory_id}
        return self._post(
            "/v3/atomic/history", body, lambda data: tuple(MemoryVersion.read(item) for item in data["items"])
        )

    def undo(self, memory_id: str) -> Call[tuple[Memory, ...]]:
        body = {**self._session(None), "id": memory_id}
        return self._post(
            "/v3/atomic/undo",
            body,
            lambda data: tuple(Memory.read(item) for item in data["items"]),
            repeatable=False,
        )

    def delete_memories(self, memory_ids: Sequence[str]) -> Call[int]:
        body = {**self._session(None), "ids": list(memory_ids)}
        return self._post("/v3/atomic/delete", body, _deleted, repeatable=False)

    def scenes(self, prefix: str) -> Call[tuple[Scene, ...]]:
        return self._post(
            "/v3/scenario/ls",
            {"path_prefix": prefix or None},
            lambda data: tuple(Scene.read(entry) for entry in data["entries"]),
        )

    def read_scene(self, path: str) -> Call[SceneText | None]:
        return self._post("/v3/scenario/read", {"path": path}, SceneText.read_if_any)

    def write_scene(self, path: str, content: str, summary: str | None) -> Call[int]:
        body = {"path": path, "content": content, "summary": summary}
        return self._post("/v3/scenario/write", body, _version, repeatable=False)

    def create_scene(self, path: str, content: str, summary: str | None) -> Call[int]:
        body = {"path": path, "content": content, "summary": summary, "create": True}
        return self._post("/v3/scenario/write", body, _version, repeatable=False)

    def remove_scene(self, path: str) -> Call[None]:
        return self._post("/v3/scenario/rm", {"path": path}, _nothing)

    def scene_history(self, path: str) -> Call[tuple[DocumentVersion, ...]]:
        return self._post("/v3/scenario/history", {"path": path}, _document_versions)

    def restore_scene(self, path: str, version: int) -> Call[int]:
        return self._post("/v3/scenario/restore", {"path": path, "version": version}, _version, repeatable=False)

    def persona(self) -> Call[Persona | None]:
        return self._post("/v3/core/read", {}, Persona.read_if_any)

    def write_persona(self, content: str) -> Call[int]:
        return self._post("/v3/core/write", {"content": content}, _version, repeatable=False)

    def persona_history(self) -> Call[tuple[DocumentVersion, ...]]:
        return self._post("/v3/core/history", {}, _document_versions)

    def restore_persona(self, version: int) -> Call[int]:
        return self._post("/v3/core/restore", {"version": version}, _version, repeatable=False)

    def recall(
        self,
        query: str,
        limit: int | None,
        budget_ms: int | None,
        max_tokens: int | None,
        include: Sequence[str] | None,
    ) -> Call[Recall]:
        body = {
            "query": query,
            "limit": limit,
            "budget_ms": budget_ms,
            "max_tokens": max_tokens,
            "include": None if include is None else list(include),
        }
        return self._post("/v3/recall", body, Recall.read)

    def trace(self, memory_id: str) -> Call[Evidence]:
        return self._post("/v3/trace", {"id": memory_id}, Evidence.read)

    def trace_scene(self, path: str) -> Call[SceneEvidence]:
        return self._post("/v3/trace", {"path": path}, SceneEvidence.read)

    def trace_persona(self, line: str) -> Call[PersonaEvidence]:
        return self._post("/v3/trace", {"persona": True, "line": line or None}, PersonaEvidence.read)

    def status(self, session: str | None) -> Call[PipelineStatus]:
        return self._post("/v3/pipeline/status", self._session(session), PipelineStatus.read)

    def flush(self, session: str | None, wait_seconds: float) -> Call[PipelineStatus]:
        body = {**self._session(session), "wait_seconds": wait_seconds}
        return self._post("/v3/pipeline/flush", body, PipelineStatus.read, wait_seconds=wait_seconds)

    def spending(self, days: int) -> Call[tuple[SpendingLine, ...]]:
        return self._post("/v3/pipeline/spending", {"days": days}, SpendingLine.read_all)

    def retry(self) -> Call[int]:
        return self._post("/v3/pipeline/retry", {}, lambda data: int(data["retried"]), repeatable=False)

    def forgettable(self, selection: Data) -> Call[Forgettable]:
        return self._post("/v3/forget", {**_selected(selection), "dry_run": True}, Forgettable.read)

    def forget(self, selection: Data, confirm: bool) -> Call[ForgettingReceipt]:
        body = {**_selected(selection), "confirm": confirm}
        return self._post("/v3/forget", body, ForgettingReceipt.read, repeatable=False)

    def forgetting_receipt(self, receipt_id: str) -> Call[ForgettingReceipt]:
        return Call("/v3/forget/receipt", {"forgetting_id": receipt_id}, ForgettingReceipt.read)

    def policy(self, team: str | None, agent: str | None, user: str | None) -> Call[PolicyState]:
        return Call("/v3/policy/get", _part(team, agent, user), PolicyState.read)

    def set_policy(
        self,
        team: str | None,
        agent: str | None,
        user: str | None,
        redact_secrets: bool | None,
        retention_days: int | None,
    ) -> Call[PolicyState]:
        rules = {"redact_secrets": redact_secrets, "l0_l1_retention_days": retention_days}
        return Call("/v3/policy/set", {**_part(team, agent, user), **rules}, PolicyState.read)

    def policies(self, limit: int | None, offset: int | None) -> Call[Page[Policy]]:
        body = {"limit": limit, "offset": offset}
        return Call("/v3/policy/list", body, lambda data: page(Policy.read, data["items"], data["total"]))

    def load(self) -> Call[Mapping[str, LayerLoad]]:
        return self._post("/v2/pipeline/status", {}, LayerLoad.read_all)

    def health(self) -> Call[Health]:
        return Call("/health", None, Health.read)

    def _session(self, session: str | None) -> dict[str, Any]:
        return {"session_id": session or self.session}

    def _post(
        self,
        path: str,
        body: Data,
        read: Callable[[Data], T],
        *,
        repeatable: bool = True,
        wait_seconds: float = 0.0,
        headers: Mapping[bytes, bytes] | None = None,
    ) -> Call[T]:
        ids = {"team_id": self.team, "agent_id": self.agent, "user_id": self.user, "task_id": self.task}
        given = {key: value for key, value in {**ids, **body}.items() if value is not None}
        return Call(path, given, read, repeatable, wait_seconds, headers or {})


def _selected(selection: Data) -> Data:
    """Return a selection as it is sent. An empty list is sent as one: left out, it would make the request wider."""
    window = _window(selection["since"], selection["until"])
    rest = {name: value for name, value in selection.items() if name not in ("since", "until")}
    return {name: list(value) if isinstance(value, tuple | list) else value for name, value in rest.items()} | window


def _part(team: str | None, agent: str | None, user: str | None) -> dict[str, str]:
    ids = {"team_id": team, "agent_id": agent, "user_id": user}
    return {name: value for name, value in ids.items() if value is not None}


def _message(item: MessageLike) -> dict[str, Any]:
    if isinstance(item, tuple):
        role, content = item
        return {"role": role, "content": content}
    return {key: wire_time(value) if isinstance(value, datetime) else value for key, value in item.items()}


def _window(since: Time | None, until: Time | None) -> dict[str, str | None]:
    return {
        "time_start": wire_time(since) if isinstance(since, datetime) else since,
        "time_end": wire_time(until) if isinstance(until, datetime) else until,
    }


def _total(data: Data) -> int:
    return int(data["total"])


def _deleted(data: Data) -> int:
    return int(data["deleted_count"])


def _version(data: Data) -> int:
    return version_number(data["version"])


def _document_versions(data: Data) -> tuple[DocumentVersion, ...]:
    return tuple(DocumentVersion.read(item) for item in data["items"])


def _nothing(_: Data) -> None:
    return None
