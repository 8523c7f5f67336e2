"""The write path: one transaction that stores messages, their receipt and the job that will distill them.

Exactly once: the same key with the same payload answers what it answered before; the same message id with the same text
is stored already. Anything else under a known key or id is a conflict, because one of the two would be lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from memstrata.capture.message import MAX_KEY, MessageInput, accepted, fingerprint
from memstrata.clock import Instant
from memstrata.errors import Conflict, InvalidRequest
from memstrata.records import Message, NewMessage, Receipt, Scope, SessionTarget, check_id
from memstrata.store.protocol import Repositories

__all__ = ["append"]


def append(
    scope: Scope,
    session_id: str,
    messages: Sequence[MessageInput],
    *,
    task_id: str,
    idempotency_key: str | None,
    now: Instant,
    arm: Callable[[Repositories, SessionTarget], object],
) -> Callable[[Repositories], Receipt]:
    """Check a batch and return the work that stores it. `arm` puts the session's job in place.

    Raises InvalidRequest; the work raises Conflict.
    """
    check_id(session_id, "session_id")
    if task_id:
        check_id(task_id, "task_id")
    if idempotency_key is not None:
        check_id(idempotency_key, "idempotency_key", MAX_KEY)
    prepared = accepted(messages, now)
    given = _distinct_ids(messages)
    payload = b"" if idempotency_key is None else fingerprint(messages, task_id)
    ids = tuple(message.message_id for message in prepared)

    def work(r: Repositories) -> Receipt:
        if idempotency_key is not None:
            known = r.conversations.receipt(scope, session_id, idempotency_key)
            if known is not None:
                if known.payload != payload:
                    raise Conflict(f"idempotency key {idempotency_key[:64]!r} was used for other messages")
                return Receipt(known.message_ids, replayed=True)
        stored = r.conversations.by_id(scope, session_id, given) if given else {}
        new = [message for message in prepared if _is_new(message, stored)]
        target = r.conversations.append(scope, session_id, task_id, new, now)
        if idempotency_key is not None:
            r.conversations.keep_receipt(target, idempotency_key, payload, ids, now)
        if new:
            arm(r, target)
        return Receipt(ids, replayed=not new)

    return work


def _distinct_ids(messages: Sequence[MessageInput]) -> frozenset[str]:
    given = [message.message_id for message in messages if message.message_id is not None]
    if len(set(given)) < len(given):
        twice = next(one for one in given if given.count(one) > 1)
        raise InvalidRequest(f"id {twice[:64]!r} stands on two messages of one batch", field="messages")
    return frozenset(given)


def _is_new(message: NewMessage, stored: Mapping[str, Message]) -> bool:
    known = stored.get(message.message_id)
    if known is None:
        return True
    if (known.role, known.content) != (message.role, message.content):
        raise Conflict(f"message id {message.message_id[:64]!r} is stored with another text")
    return False
