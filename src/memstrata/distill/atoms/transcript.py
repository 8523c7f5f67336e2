"""The part of the extraction prompt that changes: a few lines about the situation, then messages under unforgeable headers.

Every token here is paid for each batch anew, so a header says only what has changed: the date when the day does, the
offset when the zone's does. A header starts with a mark that occurs in no text of the call (see `fresh_mark`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from memstrata.distill.atoms.pieces import Piece
from memstrata.distill.atoms.times import local_time, offset_of
from memstrata.distill.calls import Aliases, new_mark
from memstrata.distill.gate import readable
from memstrata.distill.scenes.meta import one_line
from memstrata.records import Message
from memstrata.text.graphemes import cut
from memstrata.text.wellformed import well_formed

__all__ = ["UNKNOWN_USER", "Shown", "Situation", "fresh_mark", "label", "transcript"]

UNKNOWN_USER: Final = "unknown"

_BACKGROUND_CHARACTERS = 160
_LABEL_CHARACTERS = 80
_MARK_LINE = "mark: "
_SPEAKERS = {"user": "user", "assistant": "ai"}


@dataclass(frozen=True, slots=True)
class Situation:
    """What a call is told besides the messages."""

    language: str
    user_name: str
    zone: tzinfo
    scene: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What a call was shown: its transcript, and by message number what it holds of each new message."""

    transcript: str
    said: Mapping[int, str]

    @property
    def mark(self) -> str:
        return self.transcript.partition("\n")[0].removeprefix(_MARK_LINE)

    def cited(self, seqs: Collection[int]) -> str:
        """Return the messages that an item rests on."""
        return "\n".join(text for seq, text in self.said.items() if seq in seqs)


def transcript(
    situation: Situation, background: Sequence[Message], pieces: Sequence[Piece], aliases: Aliases, mark: str = ""
) -> str:
    """Return the user message of one call. `mark` is drawn unless it is given."""
    before = [cut(one_line(readable(message.content)), _BACKGROUND_CHARACTERS, "…") for message in background]
    name, scene = label(situation.user_name), label(situation.scene)
    mark = mark or fresh_mark((name, scene, *before, *(piece.text for piece in pieces)))
    lines = [
        f"{_MARK_LINE}{mark}",
        f"lang: {situation.language}",
        f"user: {name or UNKNOWN_USER}",
        f"zone: {situation.zone}",
        f"scene: {scene or 'none'}",
    ]
    shown = [(message, text) for message, text in zip(background, before, strict=True) if text]
    if shown:
        lines.append(f"#{mark} before")
        for message, text in shown:
            lines += (f"#{mark} {_SPEAKERS[message.role]}", text)
    lines.append(f"#{mark} new")
    day = offset = ""
    for piece in pieces:
        moment = local_time(piece.message.said_at, situation.zone)
        new_day, new_offset = moment.date().isoformat(), offset_of(moment)
        when = [new_day] if new_day != day else []
        when.append(f"{moment:%H:%M}" + (new_offset if new_offset != offset else ""))
        if piece.parts > 1:
            when.append(f"part {piece.part}/{piece.parts}")
        day, offset = new_day, new_offset
        alias = aliases.name(piece.message.seq)
        lines += (f"#{mark} {alias} {_SPEAKERS[piece.message.role]} {' '.join(when)}", piece.text)
    lines.append(f"#{mark} end")
    return well_formed("\n".join(lines))


def fresh_mark(texts: Iterable[str]) -> str:
    """Return a mark that stands in none of the texts, not even by chance."""
    shown = "\n".join(texts)
    mark = new_mark()
    while mark in shown:
        mark = new_mark()
    return mark


def label(text: str) -> str:
    """Return a name that somebody else chose as one short line."""
    return cut(one_line(text), _LABEL_CHARACTERS, "…")
