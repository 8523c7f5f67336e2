"""A finished turn as two messages in the core: the question once, the final answer once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memstrata.client import Conflict, Forbidden, InvalidRequest, MemstrataClientError, NotFound
from memstrata.clock import to_iso
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.outbox import Deliver, Refused
from memstrata.proxy.place import Place
from memstrata.records.proxy import Turn

__all__ = ["delivering", "messages_of"]


def delivering(core: MemoryCore) -> Deliver:
    """Return what the outbox delivers with."""

    async def deliver(turn: Turn) -> None:
        session = turn.session
        place = Place(session.instance, turn.team, turn.agent, session.user, session.session, turn.task)
        try:
            await core.at(place).add(messages_of(turn), idempotency_key=turn.turn_id)
        except (InvalidRequest, Forbidden, NotFound, Conflict) as error:
            raise Refused(f"{type(error).__name__}, code {error.code}") from error
        except MemstrataClientError as error:
            raise ConnectionError(type(error).__name__) from error

    return deliver


def messages_of(turn: Turn) -> list[Mapping[str, Any]]:
    """Return the messages of a turn, dated when they were said; an answer that never came is none."""
    said = [
        ("user", turn.question, turn.opened_at),
        ("assistant", turn.answer, max(turn.touched_at, turn.opened_at + 1)),
    ]
    return [
        {"role": role, "content": text, "timestamp": to_iso(at), "id": f"{turn.turn_id}-{role}"}
        for role, text, at in said
        if text.strip()
    ]
