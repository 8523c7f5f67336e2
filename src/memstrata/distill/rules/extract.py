"""L1 by rules: from a batch of messages to drafts.

Only the user's own words count. What is said twice in a batch is one draft with both sources; a value that changes
within a batch is stored in its last form, with the former one noted. Background messages are read too, but only so that
a correction ("actually it's Friday") finds what it corrects.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import Any

from memstrata.distill.gate import worth_reading
from memstrata.distill.protocol import Extraction, MessageBatch
from memstrata.distill.rules.dates import with_dates
from memstrata.distill.rules.readers import readers_for
from memstrata.distill.rules.reading import Correction, Emphasis, Finding, Reader, Reading, Sentence, plain_value
from memstrata.distill.rules.slots import contradict
from memstrata.distill.rules.statements import sentences
from memstrata.distill.rules.themes import theme_named, theme_of
from memstrata.records import MemoryDraft, Message
from memstrata.text.language import language_of

__all__ = ["extract_by_rules", "normal_form"]

_EMPHASIS = 10
_SAME_DATE = re.compile(
    r"\A,? (?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}"
)


@dataclass(frozen=True, slots=True)
class _Item:
    """A reading with where it comes from. `fresh` is False for what only the background says."""

    reading: Reading
    language: str
    message: Message
    sources: tuple[int, ...]
    fresh: bool
    notes: Mapping[str, Any] = field(default_factory=dict)


def extract_by_rules(batch: MessageBatch, zone: tzinfo) -> Extraction:
    """Return the drafts that the batch's messages state, in order, and the name of its last scene."""
    items: list[_Item] = []
    for message in batch.background:
        items = _with_message(items, message, zone, fresh=False)
    for message in batch.messages:
        items = _with_message(items, message, zone, fresh=True)
    drafts: list[MemoryDraft] = []
    spoken_of = ""
    for item in _latest_values(items):
        if item.fresh:
            # What no key word knows belongs to what the same message has been about.
            before = drafts[-1].scene_name if drafts and spoken_of == item.message.message_id else ""
            drafts.append(_draft(item, zone, before))
            spoken_of = item.message.message_id
    return Extraction(tuple(drafts), _scene_name(drafts, batch.previous_scene))


def normal_form(text: str) -> str:
    """Return what two texts share that say the same in the same words, whatever their case, width and punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(character for character in folded if character.isalnum())


def _with_message(items: list[_Item], message: Message, zone: tzinfo, *, fresh: bool) -> list[_Item]:
    if message.role != "user" or not worth_reading(message):
        return items
    items = list(items)
    before = len(items)
    for language, finding in _findings(message.content):
        match finding:
            case Reading():
                _add(items, _Item(finding, language, message, (message.seq,), fresh))
            case Correction():
                _correct(items, finding, message, zone, fresh=fresh)
            case Emphasis():
                if len(items) > before:
                    last = items[-1]
                    raised = min(100, last.reading.priority + _EMPHASIS) if last.reading.priority >= 0 else -1
                    items[-1] = replace(last, reading=replace(last.reading, priority=raised))
    return items


def _findings(text: str) -> Iterator[tuple[str, Finding]]:
    """Yield what each sentence says, with its language. Sentences that complete one another are read as one."""
    pending: Sentence | None = None
    for sentence in sentences(text):
        if pending is not None:
            joined = _joined(pending.text, sentence.text)
            if joined is not None:
                pending = Sentence(joined, pending.supposed)
                continue
            yield from _read(pending)
        pending = sentence
    if pending is not None:
        yield from _read(pending)


def _joined(first: str, second: str) -> str | None:
    for reader in readers_for(language_of(first)):
        if (joined := reader.join(first, second)) is not None:
            return joined
    return None


def _read(sentence: Sentence) -> Iterator[tuple[str, Finding]]:
    readers: Iterable[Reader] = readers_for(language_of(sentence.text))
    for reader in readers:
        found = reader.read(sentence)
        if found:
            yield from ((reader.language, finding) for finding in found)
            return


def _add(items: list[_Item], item: _Item) -> None:
    """Add what is new; unite the sources of what was said already."""
    form = normal_form(item.reading.content)
    for index, other in enumerate(items):
        if normal_form(other.reading.content) == form and other.fresh == item.fresh:
            sources = tuple(dict.fromkeys((*other.sources, *item.sources)))
            items[index] = replace(other, sources=sources)
            return
    if item.reading.corrects:
        item = replace(item, notes={"corrects": item.reading.corrects})
    items.append(item)


def _correct(items: list[_Item], correction: Correction, message: Message, zone: tzinfo, *, fresh: bool) -> None:
    """Exchange the wrong value in the newest statement that holds it. Without one, nothing was corrected."""
    wrong = correction.wrong.casefold()
    for index in range(len(items) - 1, -1, -1):
        item = items[index]
        at = item.reading.content.casefold().find(wrong)
        if at < 0:
            continue
        content = _exchanged(item.reading.content, at, len(wrong), correction.right)
        value = plain_value(correction.right) if item.reading.value else ""
        reading = replace(item.reading, content=content, value=value)
        former = with_dates(item.reading.content, item.message.said_at, zone, item.reading.tense).text
        corrected = _Item(
            reading,
            item.language,
            item.message,
            tuple(dict.fromkeys((*(item.sources if item.fresh else ()), message.seq))),
            fresh,
            {"replaced": former},
        )
        if item.fresh:
            items[index] = corrected
        else:
            items.append(corrected)
        return


def _exchanged(content: str, at: int, length: int, right: str) -> str:
    rest = content[at + length :]
    # "Thursday, March 12" corrected to "Friday, March 13" is one date, not a weekday before a date.
    if (date := _SAME_DATE.match(rest)) is not None and re.search(r"\d", right):
        rest = rest[date.end() :]
    return content[:at] + right + rest


def _latest_values(items: list[_Item]) -> list[_Item]:
    """Keep of each slot and type the last value; it remembers the one before. What has no slot stays."""
    kept: list[_Item] = []
    for item in items:
        slot = item.reading.slot
        former = next((other for other in kept if slot and _same_slot(other, item)), None)
        if former is not None:
            kept.remove(former)
            if former.reading.value != item.reading.value and "replaced" not in item.notes and former.fresh:
                item = replace(item, notes={**item.notes, "replaced": former.reading.content})
        kept.append(item)
    return kept


def _same_slot(earlier: _Item, later: _Item) -> bool:
    one, other = earlier.reading, later.reading
    if one.slot != other.slot or one.type != other.type or earlier.fresh != later.fresh:
        return False
    return contradict(one.slot, other.value, one.value)


def _draft(item: _Item, zone: tzinfo, scene_name: str) -> MemoryDraft:
    reading = item.reading
    timed = with_dates(reading.content, item.message.said_at, zone, reading.tense)
    happened = reading.type == "episodic"
    metadata: dict[str, Any] = dict(item.notes)
    if reading.slot and reading.value:
        metadata["value"] = reading.value
    if reading.ends:
        metadata["ends"] = reading.ends
    if happened and reading.tense == "future":
        metadata["plan"] = True
    theme = theme_of(timed.text, type=reading.type, slot=reading.slot or reading.ends, scene_name=scene_name)
    return MemoryDraft(
        content=timed.text,
        type=reading.type,
        priority=reading.priority,
        source_seqs=item.sources,
        scene_name=theme.title(item.language),
        applies_to=reading.applies_to,
        slot=reading.slot,
        happened_from=timed.happened_from if happened else None,
        happened_to=timed.happened_to if happened else None,
        metadata=metadata,
    )


def _scene_name(drafts: Sequence[MemoryDraft], previous: str) -> str:
    """Return the last theme's name; the previous name when nothing was kept or the theme goes on in another language."""
    if not drafts:
        return previous
    last = drafts[-1].scene_name
    theme = theme_named(previous)
    return previous if theme is not None and theme is theme_named(last) else last
