"""What of a list belongs to a turn: the messages behind its floor, without tools and without what nobody said. Pure.

Source: `reference/hub-sdk-plugins.md` §E.2, §E.7. There is no path that takes the whole list for want of an anchor. Where
the floor is gone, the input is the second anchor; where both are, the texts written down at the start stand for the
user's part, and what was not in the list then is the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.client.turn.cleaning import Code, clean
from memstrata.client.turn.fingerprints import digest, is_fingerprint
from memstrata.client.turn.messages import MessageView
from memstrata.client.turn.watermark import Input, Turn, is_genuine_user, locate, locate_input, was_known

__all__ = ["CaptureRules", "Said", "cut"]


@dataclass(frozen=True, slots=True)
class CaptureRules:
    """What is remembered of a turn, beyond what was said in it.

    `code`: fenced code in replies, "cut" to a placeholder or kept. `keep_text_before_tools`: also the text that stands
    beside a tool call. `store_blocked`: also a turn that a guard answered instead of the model. `capture_nested`: also runs
    inside another agent's tool, which share that agent's session.
    """

    code: Code = "cut"
    keep_text_before_tools: bool = False
    store_blocked: bool = False
    capture_nested: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """One message to remember. `source` identifies it through every repetition; `said_at` is ISO 8601 in UTC with a Z."""

    source: str
    role: str
    text: str
    said_at: str


def cut(turn: Turn, messages: Sequence[MessageView], now: str, rules: CaptureRules) -> tuple[Said, ...] | None:
    """Return what was said in a turn, in order; None where no message could be trusted as the place to start from."""
    if turn.floor is None:
        return None
    pieces, written_down = _pieces(turn, messages)
    unseen = _unseen(turn, [messages[at] for at in pieces])
    counted: Counter[tuple[str, str]] = Counter()
    said: list[Said] = []
    times = {one.id: one.said_at for one in (*turn.lost, *turn.carried, *turn.inputs)}
    for at in pieces:
        message = messages[at]
        text = _text(message, rules)
        if not text:
            continue
        counted[message.role, text] += 1
        unnamed = digest(turn.id, message.role, text, str(counted[message.role, text]))
        source = message.id or unnamed
        if is_fingerprint(source) and unseen.get(text):
            source = unseen[text].pop(0)
        said.append(Said(source, message.role, text, message.said_at or times.get(source) or now))
    shown = {one.source for one in said}
    lost = [Said(one.id, "user", one.text, one.said_at) for one in written_down if one.id not in shown]
    return (*lost, *said)


def _pieces(turn: Turn, messages: Sequence[MessageView]) -> tuple[Sequence[int], tuple[Input, ...]]:
    """Return the places of a turn's messages, and the inputs that count even if they are not among them."""
    everything = range(len(messages))
    floor = locate(turn.floor, messages)
    compacted = any(message.is_synthetic for message in messages)
    if floor is not None and floor >= 0:
        return everything[floor + 1 :], turn.lost
    written_down = (*turn.lost, *turn.carried, *turn.inputs)
    if floor is not None and not (compacted and is_fingerprint(turn.input_id)):
        return everything, written_down if compacted else turn.lost
    places = [locate_input(turn, messages), *(locate(one.id, messages) for one in written_down)]
    found = [at for at in places if at is not None]
    if found:
        return everything[min(found) :], written_down
    return [at for at in everything if not was_known(messages[at], turn)], written_down


def _unseen(turn: Turn, messages: Sequence[MessageView]) -> dict[str, list[str]]:
    """Return the inputs whose fingerprint is not among the messages, by text: a compaction before one changes it."""
    shown = {message.id for message in messages}
    unseen: dict[str, list[str]] = {}
    for one in (*turn.lost, *turn.carried, *turn.inputs):
        if is_fingerprint(one.id) and one.id not in shown:
            unseen.setdefault(one.text, []).append(one.id)
    return unseen


def _text(message: MessageView, rules: CaptureRules) -> str:
    if is_genuine_user(message):
        return clean("user", message.text)
    if message.role != "assistant" or message.is_synthetic:
        return ""
    if message.calls_tools and not rules.keep_text_before_tools:
        return ""
    return clean("assistant", message.text, code=rules.code)
