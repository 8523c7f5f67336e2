"""The write path: one transaction that stores messages, their receipt and the job that will distill them.

Exactly once: the same key with the same payload answers what it answered before; the same message id with the same text
is stored already. Anything else under a known key or id is a conflict, because one of the two would be lost.
What is compared and hashed is what was sent; secrets are taken out of what is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from memstrata.capture.message import MAX_KEY, MessageInput, accepted, fingerprint
from memstrata.clock import Instant
from memstrata.errors import Conflict, InvalidRequest
from memstrata.records import Message, NewMessage, Receipt, Scope, SessionTarget, check_id
from memstrata.store.protocol import Repositories
from memstrata.text.secrets import redact

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
    redacts: Callable[[Repositories], bool],
) -> Callable[[Repositories], Receipt]:
    """Check a batch and return the work that stores it. `arm` puts the session's job in place,
    `redacts` says whether secrets are taken out; it is asked where there are any.

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
    ids = tuple(one.message.message_id for one in prepared)
    has_secrets = any(one.kinds for one in prepared)

    def work(r: Repositories) -> Receipt:
        if idempotency_key is not None:
            known = r.conversations.receipt(scope, session_id, idempotency_key)
            if known is not None:
                if known.payload != payload:
                    raise Conflict(f"idempotency key {idempotency_key[:64]!r} was used for other messages")
                return Receipt(known.message_ids, replayed=True)
        stored = r.conversations.by_id(scope, session_id, given) if given else {}
        cleans = has_secrets and redacts(r)
        chosen = [(one.message, one.kinds) if cleans else (one.as_said(), ()) for one in prepared]
        new = [message for message, _ in chosen if _is_new(message, stored)]
        taken = {message.message_id for message in new}
        kinds = tuple(kind for message, found in chosen if message.message_id in taken for kind in found)
        target = r.conversations.append(scope, session_id, task_id, new, now)
        if idempotency_key is not None:
            r.conversations.keep_receipt(target, idempotency_key, payload, ids, now)
        if new:
            arm(r, target)
        return Receipt(ids, replayed=not new, redacted=kinds)

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
    # A text may have been stored under another rule about secrets, or been cleaned of them since.
    is_same = known.content == message.content or redact(known.content).text == redact(message.content).text
    if known.role != message.role or not is_same:
        raise Conflict(f"message id {message.message_id[:64]!r} is stored with another text")
    return False
