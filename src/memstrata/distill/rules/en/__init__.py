"""English: what a user states about himself, plans, did, and asks for.

A sentence is cut where a new "I" or "my" begins, and each part is read on its own. Patterns start at the part's
beginning, so what others are, say and like is not taken for the user's; lengths in patterns are bounded, so reading is
linear in the text. The content keeps the user's words in the third person.
"""

from __future__ import annotations

import re
from dataclasses import replace

from memstrata.distill.rules.en.corrections import correction_in
from memstrata.distill.rules.en.facts import facts_in, introduction_in
from memstrata.distill.rules.en.orders import order_in
from memstrata.distill.rules.en.person import in_third_person
from memstrata.distill.rules.en.words import parts_of, tidied, without_leads
from memstrata.distill.rules.reading import Emphasis, Finding, Reader, Reading, Sentence

__all__ = ["READER"]

_REMEMBERED = 80
_REMEMBER = re.compile(
    r"(?:please |and |also ){0,2}"
    r"(?:remember|keep in mind|don't forget|do not forget|make a note|note down|take note|bear in mind|note)\b"
    r"(?: (?:that|this|down)){0,2}[\s,:]{0,3}",
    re.IGNORECASE,
)
_WHAT_WAS_SAID = re.compile(
    r"(?:please )?(?:remember|keep|note|don't forget|make a note of) (?:that|this)(?: in mind| down)?"
    r"(?:\s?,? please)?\s?(?:[,.!]|$)",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(r"\b(?:just for now|for the moment|for today only|just this once|just now)\b", re.IGNORECASE)
_GOES_ON = re.compile(r"(?:Mostly|Mainly|Especially|Particularly|Usually|Primarily|Preferably) ")
_OWN_STATEMENT = re.compile(r"\b(?:I|my|we|is|are)\b")


def _read(sentence: Sentence) -> tuple[Finding, ...]:
    text = tidied(sentence.text)
    if _WHAT_WAS_SAID.match(without_leads(text)):
        return (Emphasis(),)
    if (correction := correction_in(text)) is not None:
        return correction
    remember = _REMEMBER.match(text)
    if remember is not None:
        text = text[remember.end() :]
        if not text:
            return (Emphasis(),)
    readings = list(introduction_in(text))
    for part in parts_of(text):
        order = order_in(without_leads(part), remembered=remember is not None)
        if order is not None:
            readings += order
        elif not sentence.supposed and not _FOR_NOW.search(text):
            readings += facts_in(part)
    if remember is None or sentence.supposed:
        return tuple(readings)
    readings = readings or [Reading(f"The user asked to remember: {in_third_person(text)}", "persona", 70)]
    return tuple(_raised(reading) for reading in readings)


def _raised(reading: Reading) -> Reading:
    return replace(reading, priority=max(reading.priority, _REMEMBERED)) if reading.priority >= 0 else reading


def _join(first: str, second: str) -> str | None:
    """Join "I work as an engineer." with "Mostly Python, some Go.": a list that only goes on about it."""
    if _GOES_ON.match(second) and not _OWN_STATEMENT.search(second):
        return f"{first.rstrip('.! ')}, {second[0].lower()}{second[1:]}"
    return None


READER = Reader("en", _read, _join)
