"""What the readers of all protocols share: events in, faults counted, never an exception on the way of an answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from memstrata.proxy.wire.replies.loose import decoded
from memstrata.proxy.wire.request import Reply, Usage
from memstrata.proxy.wire.sse import EventParser

__all__ = ["Reader", "joined"]

_DONE = b"[DONE]"
_LONGEST = 64 * 1024 * 1024  # bytes of one answer; what comes after them still reaches the client, but is not read


class Reader(ABC):
    """A reader of one answer. `faults` counts what could not be read: too long, not JSON, not an object.

    The rest of an answer that is longer than `_LONGEST` is one fault, and the answer stays incomplete.
    """

    def __init__(self) -> None:
        self.faults = 0
        self._parser = EventParser()
        self._left = _LONGEST
        self._stop = ""
        self._complete = False
        self._ident = ""
        self._usage = Usage()
        self._thinking = False

    def feed(self, data: bytes) -> None:
        if self._left < 0:
            return
        self._left -= len(data)
        if self._left < 0:
            self.faults += 1
            return
        for event in self._parser.feed(data):
            if event.data.strip() == _DONE:
                self._complete = True
            elif (read := decoded(event.data)) is None:
                self.faults += 1
            else:
                self._event(read if "type" in read else {**read, "type": event.name})
        self.faults += self._parser.dropped
        self._parser.dropped = 0

    def whole(self, body: bytes) -> None:
        read = decoded(body)
        if read is None:
            self.faults += 1
        else:
            self._answer(read)

    @abstractmethod
    def reply(self) -> Reply: ...

    @abstractmethod
    def _event(self, event: Mapping[str, object]) -> None: ...

    @abstractmethod
    def _answer(self, answer: Mapping[str, object]) -> None: ...


def joined(texts: Iterable[str]) -> str:
    """Return the texts of an answer as one, a blank line between them; those that are blank are left out."""
    return "\n\n".join(stripped for text in texts if (stripped := text.strip("\n")) and stripped.strip())
