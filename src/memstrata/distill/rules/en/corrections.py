"""English: how a user takes something back ("I said 14, actually it's 16"; "I said I live in Berlin but it is Munich")."""

from __future__ import annotations

import re
from dataclasses import replace

from memstrata.distill.rules.en.facts import facts_in
from memstrata.distill.rules.en.words import parts_of, where_parts_begin
from memstrata.distill.rules.reading import Correction, Finding, plain_value

__all__ = ["correction_in"]

_CUE = re.compile(r"\b(?:said|meant|told you|wrote|mentioned|not)\b", re.IGNORECASE)
_IT_IS = r"(?:it's|it is|it was|that's|I meant|the right one is|it should be)"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        r"(?:\w+,? ){0,3}?I (?:said|meant|told you|wrote|mentioned)(?: (?:that )?it (?:is|was)| that)? "
        r"(?P<wrong>[^,;]{1,40}?),? (?:but )?(?:actually |in fact |really |sorry,? )?"
        rf"{_IT_IS}(?: actually)? (?P<right>[^;]{{1,60}})",
        r"(?:\w+,? ){0,2}?(?:it's|it is|that's|I meant) (?P<right>[^,;]{1,40}),? not (?P<wrong>[^,;]{1,40})$",
        r"(?:\w+,? ){0,2}?(?:it's|it is) not (?P<wrong>[^,;]{1,40}),? (?:but|it's|it is) (?P<right>[^,;]{1,40})$",
    )
)
_CLAIM = re.compile(
    r"I (?:said|told you|mentioned)(?: earlier| before)? (?:that )?(?P<claim>(?:I|my)\b[^,;]{3,80}),? "
    rf"(?:but|actually)(?: actually)? {_IT_IS} (?P<right>[^,;]{{1,60}})",
    re.IGNORECASE,
)
_AGAIN_IT_IS = re.compile(r"^(?:it's|it is|actually)\s+", re.IGNORECASE)


def correction_in(text: str) -> tuple[Finding, ...] | None:
    """Return what a sentence corrects, after what it states before; None when it corrects nothing."""
    if _CUE.search(text) is None:
        return None
    if (claim := _CLAIM.search(text)) is not None:
        return _exchanged(claim["claim"], claim["right"].strip(" ."))
    for form in _FORMS:
        for start in where_parts_begin(text):
            match = form.match(text, start)
            if match is not None:
                right = _AGAIN_IT_IS.sub("", match["right"].strip(" ."))
                before = facts_in(parts_of(text[:start])[0]) if start else ()
                return (*before, Correction(match["wrong"].strip(" ."), right))
    return None


def _exchanged(claim: str, right: str) -> tuple[Finding, ...]:
    """Return what a claim states with its value exchanged."""
    readings: list[Finding] = []
    for reading in facts_in(claim):
        start = reading.content.casefold().find(reading.value) if reading.value else -1
        if start >= 0:
            content = reading.content[:start] + right + reading.content[start + len(reading.value) :]
            readings.append(replace(reading, content=content, value=plain_value(right)))
    return tuple(readings)
