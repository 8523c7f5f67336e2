"""`/conversation/*`: L0, what was said. Source: wire contract §3.1."""

from __future__ import annotations

from memstrata.capture import MessageInput
from memstrata.clock import from_iso
from memstrata.errors import InvalidRequest
from memstrata.server.call import Call, distinct, window
from memstrata.server.envelope import Data
from memstrata.server.requests import (
    ConversationAdd,
    ConversationCount,
    ConversationDelete,
    ConversationQuery,
    ConversationSearch,
    IncomingMessage,
)
from memstrata.server.shapes import found_message, message

__all__ = ["add", "count", "delete", "query", "search"]


async def add(call: Call[ConversationAdd]) -> Data:
    """Append messages to a session. The same idempotency key again stores nothing and answers as before."""
    receipt = await call.memory.add(
        call.scope,
        call.session_id or "",
        [_input(index, item) for index, item in enumerate(call.request.messages)],
        task_id=call.task_id or "",
        idempotency_key=call.request.idempotency_key or call.idempotency_key,
    )
    accepted = len(receipt.message_ids)
    data = {"accepted_ids": receipt.message_ids, "accepted_versions": ["v1"] * accepted, "total_count": accepted}
    if receipt.redacted:
        data["redacted"] = len(receipt.redacted)
    return data | {"replayed": True} if receipt.replayed else data


async def query(call: Call[ConversationQuery]) -> Data:
    """Page through messages, newest first."""
    since, until = window(call.request.time_start, call.request.time_end)
    page = await call.memory.messages(
        call.scope,
        session_id=call.session_id,
        task_id=call.task_id,
        since=since,
        until=until,
        limit=call.request.limit or 20,
        offset=call.request.offset or 0,
    )
    return {"messages": [message(call.scope, item) for item in page.items], "total": page.total}


async def search(call: Call[ConversationSearch]) -> Data:
    """Find messages, best first, with what stands around them where that is asked for."""
    since, until = window(call.request.time_start, call.request.time_end)
    found = await call.memory.search_messages(
        call.scope,
        call.request.query,
        limit=call.request.limit or 5,
        session_id=call.session_id,
        task_id=call.task_id,
        since=since,
        until=until,
        neighbours=call.request.neighbours or 0,
    )
    data = {"messages": [found_message(call.scope, hit) for hit in found.hits]}
    return data | {"degraded": found.degraded} if found.degraded else data


async def delete(call: Call[ConversationDelete]) -> Data:
    """Delete messages, whole sessions, or both. A session named in a header is none of them."""
    request = call.request
    messages = distinct(request.message_ids or ())
    sessions = distinct([*(request.session_ids or ()), *([request.session_id] if request.session_id else [])])
    if not messages and not sessions:
        raise InvalidRequest("at least one of message_ids or session_ids must be given", field="(root)")
    deletion = await call.memory.delete_messages(
        call.scope, message_ids=messages, session_ids=sessions, task_id=call.task_id
    )
    return {"deleted_count": deletion.messages}


async def count(call: Call[ConversationCount]) -> Data:
    """Count what `query` would list."""
    since, until = window(call.request.time_start, call.request.time_end)
    total = await call.memory.count_messages(
        call.scope, session_id=call.session_id, task_id=call.task_id, since=since, until=until
    )
    return {"total": total}


def _input(index: int, item: IncomingMessage) -> MessageInput:
    def instant(name: str, text: str | None) -> int | None:
        return None if text is None else from_iso(text, field=f"messages.{index}.{name}")

    return MessageInput(
        role=item.role,
        content=item.content,
        said_at=instant("timestamp", item.timestamp),
        recorded_at=instant("recorded_at", item.recorded_at),
        message_id=item.id,
    )
