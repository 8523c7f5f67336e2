"""A turn as a list of its own, for frameworks that hand over what is new and not what came before.

In front of it stands a mark for the rest of the conversation, which turn capture reads as a history that was compacted away:
so a turn that failed is carried by the next one from what was written down of it, also in another process.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

__all__ = ["Answered", "Spoken", "asked", "said"]

Spoken: TypeAlias = Mapping[str, object]
"""One message for `view_plain`."""

MAX_ANSWERED = 10_000

_BEFORE: Spoken = {"id": "before", "role": "system", "content": "", "synthetic": True}


def said(role: str, text: str, message_id: str | None = None, at: datetime | None = None) -> Spoken:
    """Return one message for `view_plain`. Without an id it is a message that was never seen before."""
    return {"id": message_id or uuid.uuid4().hex, "role": role, "content": text, "timestamp": at}


def asked(*messages: Spoken) -> list[Spoken]:
    """Return the list of a turn that begins with these messages of the user."""
    return [_BEFORE, *messages]


class Answered:
    """Messages of users that were answered, so that one that is handed over again is no turn."""

    def __init__(self) -> None:
        self._ids: OrderedDict[object, None] = OrderedDict()

    def holds_new(self, turn: Sequence[Spoken]) -> bool:
        """Whether a turn holds a message that was not answered, or none of a user at all."""
        ids = [message["id"] for message in turn if message["role"] == "user"]
        return not ids or any(one not in self._ids for one in ids)

    def note(self, turn: Sequence[Spoken]) -> None:
        """Remember that a turn was answered."""
        self._ids.update(dict.fromkeys(message["id"] for message in turn if message["role"] == "user"))
        while len(self._ids) > MAX_ANSWERED:
            self._ids.popitem(last=False)
