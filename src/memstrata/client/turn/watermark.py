"""Where a turn begins: the last message that stood in the list before the user's input. Pure; no I/O, no clock.

Source: `reference/hub-sdk-plugins.md` §E.1, §E.3, §E.7. A `Turn` is written down when a run starts, so that a run that is
resumed elsewhere finds it. It carries two anchors, the watermark and the input, and the clean text of the input, so that
a turn can still be cut when a compaction took an anchor away. A turn that was never acknowledged (its run failed, was
cancelled, was abandoned) is carried by the next one: that one's `floor` is the last message before the older turn. So
the floor is the committed high-water mark; and messages of a time when nothing was recorded stay out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from memstrata.client.turn.cleaning import clean
from memstrata.client.turn.fingerprints import digest, is_fingerprint
from memstrata.client.turn.messages import MessageView

__all__ = [
    "START",
    "Anchor",
    "Input",
    "Turn",
    "fits",
    "is_genuine_user",
    "locate",
    "locate_input",
    "place",
    "was_known",
]

START = ""
"""The watermark of a thread's first turn: everything in the list is new."""

MAX_KNOWN = 512  # ids that a mark remembers; a longer list leaves the reply behind two lost anchors out
MAX_INPUTS = 50  # texts of users that a mark keeps; a list that still holds its floor needs none of them

Anchor: TypeAlias = str | None
"""An id, START, or None where the message that stands there has no id: such a turn is not written."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a user said to start a turn: the message's own id, its clean text, when it was said (ISO 8601)."""

    id: str
    text: str
    said_at: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn that was begun. `carried` and `lost` are inputs of turns that were never acknowledged.

    The carried ones stood in the list, the lost ones no longer did. `known` are digests of the ids that stood in it, None
    if there were too many or some message had none.
    """

    id: str
    user: str
    watermark: Anchor
    floor: Anchor
    inputs: tuple[Input, ...]
    carried: tuple[Input, ...] = ()
    lost: tuple[Input, ...] = ()
    known: frozenset[str] | None = None

    @property
    def input_id(self) -> str:
        """The id of the newest message that the turn was begun with."""
        return self.inputs[-1].id


def is_genuine_user(message: MessageView) -> bool:
    """Whether a user said this: not a summary, not a tool's result, not a text that is wholly a runtime's."""
    return message.role == "user" and not message.is_synthetic and bool(clean("user", message.text))


def place(
    messages: Sequence[MessageView], user: str, thread: str, now: str, unfinished: Turn | None = None
) -> Turn | None:
    """Return the turn that starts with the user messages at the end of the list; None where there are none.

    None means resume, replay or a tool's answer: no new turn begins. `unfinished` is the thread's last turn if it was not
    acknowledged; `now` is ISO 8601 in UTC with a Z and stands for messages that carry no time.
    """
    start = len(messages)
    while start > 0 and is_genuine_user(messages[start - 1]):
        start -= 1
    newest = messages[-1].id if messages else None
    if start == len(messages) or not newest:
        return None
    opens = all(message.role == "system" for message in messages[:start])
    watermark: Anchor = START if opens else messages[start - 1].id or None
    turn = Turn(
        id=digest(thread, user, repr(watermark), newest, now),
        user=user,
        watermark=watermark,
        floor=watermark,
        inputs=_inputs(messages[start:], now),
        known=_known(messages),
    )
    return turn if unfinished is None or unfinished.user != user else _carrying(turn, unfinished, messages, start)


def fits(turn: Turn, messages: Sequence[MessageView], user: str) -> bool:
    """Whether a turn that was recovered, not handed over, is the one that this list ends with.

    Its input must be the newest that a user said and follow the watermark, with nothing but user messages between. Where
    a compaction took anchors away, what is left of them must agree, and every user message must have been there before.
    """
    if turn.user != user or not turn.inputs:
        return False
    said = [at for at, message in enumerate(messages) if is_genuine_user(message)]
    at = locate_input(turn, messages)
    marked = locate(turn.watermark, messages)
    if at is not None:
        if not said or said[-1] != at:
            return False
        if marked is None:
            return True
        between = (message for message in messages[marked + 1 : at] if message.role != "system")
        return marked < at and all(message.is_synthetic or is_genuine_user(message) for message in between)
    compacted = any(message.is_synthetic for message in messages)
    gone = marked is None or turn.watermark == START
    return compacted and gone and all(was_known(messages[index], turn) for index in said)


def locate(anchor: Anchor, messages: Sequence[MessageView]) -> int | None:
    """Return the place of an anchor, -1 for START, None if it is not in the list."""
    if anchor is None:
        return None
    if anchor == START:
        return -1
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].id == anchor), None)


def locate_input(turn: Turn, messages: Sequence[MessageView]) -> int | None:
    """Return the place of the turn's newest input: by id, or by text where ids are made from what surrounds them."""
    found = locate(turn.input_id, messages)
    if found is not None or not is_fingerprint(turn.input_id):
        return found
    for at in range(len(messages) - 1, -1, -1):
        if is_genuine_user(messages[at]):
            return at if clean("user", messages[at].text) == turn.inputs[-1].text else None
    return None


def was_known(message: MessageView, turn: Turn) -> bool:
    """Whether a message stood in the list when the turn began. One without an id may have."""
    return turn.known is None or not message.id or _short(message.id) in turn.known


def _carrying(turn: Turn, unfinished: Turn, messages: Sequence[MessageView], start: int) -> Turn:
    """Extend a turn back over an unfinished one, as far as the list still shows it, else by what was written down.

    A floor that is still in the list makes the list the truth: what is missing behind it was taken back or edited. Where
    the floor is gone behind a summary, the texts that were written down stand in for the messages. So do they at the start
    of a thread whose ids are fingerprints, because those change when what stood before them goes.
    """
    own = {one.id for one in turn.inputs}
    earlier = [one for one in (*unfinished.carried, *unfinished.inputs) if one.id not in own]
    places = {one: at for one in earlier if (at := locate(one.id, messages)) is not None and at < start}
    turn = replace(turn, carried=tuple(places)[-MAX_INPUTS:], lost=unfinished.lost)
    compacted = any(message.is_synthetic for message in messages)
    floor = locate(unfinished.floor, messages)
    if floor is not None and floor < start and not (floor < 0 and compacted):
        return replace(turn, floor=unfinished.floor)
    if compacted:
        gone = tuple(one for one in earlier if one not in places)
        turn = replace(turn, lost=(*unfinished.lost, *gone)[-MAX_INPUTS:])
    if unfinished.floor == START and not (compacted and is_fingerprint(turn.input_id)):
        return replace(turn, floor=START)
    first = min(places.values(), default=0)
    return replace(turn, floor=messages[first - 1].id) if first > 0 and messages[first - 1].id else turn


def _inputs(messages: Sequence[MessageView], now: str) -> tuple[Input, ...]:
    return tuple(
        Input(message.id, clean("user", message.text), message.said_at or now) for message in messages if message.id
    )[-MAX_INPUTS:]


def _known(messages: Sequence[MessageView]) -> frozenset[str] | None:
    if len(messages) > MAX_KNOWN or not all(message.id for message in messages):
        return None
    return frozenset(_short(message.id) for message in messages if message.id)


def _short(message_id: str) -> str:
    return digest(message_id)[:12]
