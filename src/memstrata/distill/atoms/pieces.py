"""What one call is shown of a batch: messages as they are read, long ones in pieces, and not too much at a time.

A model that is given too much forgets the middle, and a text that is cut loses its end without a word (user needs B07).
So everything is shown, over as many calls as it takes; the pieces of one message all stand for that message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from memstrata.distill.gate import readable, worth_reading
from memstrata.distill.scenes.meta import one_line
from memstrata.records import Message
from memstrata.text.graphemes import cut
from memstrata.text.split import split

__all__ = ["CALL_CHARACTERS", "PIECE_CHARACTERS", "Piece", "halved", "is_of_one_message", "loads", "pieces_of"]

CALL_CHARACTERS: Final = 24_000
PIECE_CHARACTERS: Final = 8_000
_SMALLEST: Final = 500
"""All in code points of new text."""

_SHORT = 40
_LEFT_OUT = "[code or log]"


@dataclass(frozen=True, slots=True)
class Piece:
    """A message, or a part of one that is too long to be read at once. Parts count from 1."""

    message: Message
    text: str
    worth: bool = True  # False: shown in short, only so that its neighbours keep their context
    part: int = 1
    parts: int = 1


def pieces_of(message: Message) -> tuple[Piece, ...]:
    """Return what is shown of a message: at least one piece, cut between paragraphs, else sentences, else words."""
    text = readable(message.content).strip()
    if not worth_reading(message):
        return (Piece(message, cut(one_line(text), _SHORT, "…") or _LEFT_OUT, worth=False),)
    texts = [part.strip() for part in split(text, PIECE_CHARACTERS) if part.strip()]
    return tuple(Piece(message, part, True, place, len(texts)) for place, part in enumerate(texts, start=1))


def loads(messages: Iterable[Message]) -> tuple[tuple[Piece, ...], ...]:
    """Return the pieces of each call, in order. A call that would show nothing worth reading is left out."""
    calls: list[list[Piece]] = []
    room = 0
    for piece in (piece for message in messages for piece in pieces_of(message)):
        if not calls or len(piece.text) > room:
            calls.append([])
            room = CALL_CHARACTERS
        calls[-1].append(piece)
        room -= len(piece.text)
    return tuple(tuple(call) for call in calls if any(piece.worth for piece in call))


def is_of_one_message(pieces: Sequence[Piece]) -> bool:
    """Say whether what one call shows belongs to a single message."""
    return len({piece.message.seq for piece in pieces}) == 1


def halved(pieces: Sequence[Piece]) -> tuple[tuple[Piece, ...], ...]:
    """Return the two halves of what one call showed of a single message; nothing if there is no smaller part to try.

    A call over several messages is not halved here: whoever made the batch divides it between them.
    """
    if not is_of_one_message(pieces):
        return ()
    middle = len(pieces) // 2
    if middle:
        return tuple(pieces[:middle]), tuple(pieces[middle:])
    (piece,) = pieces
    if len(piece.text) < 2 * _SMALLEST:
        return ()
    texts = [part.strip() for part in split(piece.text, -(-2 * len(piece.text) // 3)) if part.strip()]
    return tuple((Piece(piece.message, part, True, piece.part, piece.parts),) for part in texts)
