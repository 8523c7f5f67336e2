"""Whether a query is no language at all: letters, characters or words drawn at random.

A vector leg finds something near to everything: a small model's cosines of nonsense lie among those of true answers
(docs/retrieval.md), so no floor keeps it out. What tells is the query itself. Identifiers look like nonsense too; ask only
about queries of which the scope knows hardly a word (`bm25.is_strange`). A list of words is no nonsense, but there is less in it
to go by than in a sentence.
"""

from __future__ import annotations

import math
import re

from memstrata.text.chinese_pairs import joined_share
from memstrata.text.folding import fold
from memstrata.text.scripts import HAN
from memstrata.text.stopwords import FOREIGN_FUNCTION_WORDS, SPACED_WORDS

__all__ = ["is_disjointed", "is_gibberish", "is_list"]

_HAN = re.compile(f"[{HAN}]")
_LETTER = re.compile(r"[a-z]")
_LEAST_LETTERS = 8
_LEAST_CHARACTERS = 3
_COMMON_SHARE = 0.75
_JOINED_SHARE = 0.1  # of pairs: nearly all questions have more, eight of ten draws of common characters fewer
_LIST = re.compile(r"[a-z']+(?:[\s,;.?!]+[a-z']+){3,}[\s,;.?!]*")
_FUNCTION_WORDS = frozenset(SPACED_WORDS).union(FOREIGN_FUNCTION_WORDS.split())

# How often each letter stands in text, in per mille: about the mean of English, German, French, Spanish, Polish and
# Turkish, in which some letter that is rare in English is common.
_PER_MILLE = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyz",
        (95, 15, 30, 40, 125, 14, 18, 35, 75, 8, 22, 42, 27, 68, 68, 23, 4, 60, 60, 65, 38, 14, 20, 3, 15, 16),
        strict=True,
    )
)
_GAIN = {letter: math.log2(share * 26 / 1000) for letter, share in _PER_MILLE.items()}
_LEAST_GAIN = -0.12  # bits per letter over all letters alike: about +0.4 in text, -0.5 in random letters

_LEAST_GAIN_CROWDED = 0.1  # where a quarter of them stand in rows of four consonants or more
_CROWD = re.compile("[bcdfghjklmnpqrstvwxz]{4,}")
_CROWDED_SHARE = 0.25


def is_gibberish(query: str) -> bool:
    """Return whether the letters or the Han characters of a query are such as no language uses. False when in doubt."""
    folded = fold(query).casefold()
    han = _HAN.findall(folded)
    if len(han) >= _LEAST_CHARACTERS:
        return sum(map(_is_common, han)) < _COMMON_SHARE * len(han)
    letters = _LETTER.findall(folded)
    if han or len(letters) < max(_LEAST_LETTERS, len(folded) // 2):
        return False
    gain = sum(_GAIN[letter] for letter in letters) / len(letters)
    crowded = sum(map(len, _CROWD.findall(folded))) > _CROWDED_SHARE * len(letters)
    return gain < (_LEAST_GAIN_CROWDED if crowded else _LEAST_GAIN)


def is_disjointed(query: str) -> bool:
    """Return whether Chinese characters stand beside each other as in no common word. False where nothing can be said."""
    share = joined_share(query)
    return share is not None and share < _JOINED_SHARE


def is_list(query: str) -> bool:
    """Return whether a query is four or more Latin words and no sentence: none of them only serves to build one.

    Figures, accents, paths and identifiers make it none: they are specific enough, or of a language with other such words.
    """
    words = query.casefold().strip()
    return _LIST.fullmatch(words) is not None and _FUNCTION_WORDS.isdisjoint(re.findall("[a-z]+", words))


def _is_common(character: str) -> bool:
    """Return whether a character is of the first level of the Chinese, Taiwanese or Japanese standard: in daily use."""
    return (
        0xB0 <= _lead(character, "gb2312") <= 0xD7
        or 0xA4 <= _lead(character, "big5") <= 0xC6
        or 0x88 <= _lead(character, "shift_jis") <= 0x97
    )


def _lead(character: str, encoding: str) -> int:
    """Return the first byte of a character, 0 if the standard does not have it."""
    return (character.encode(encoding, "ignore") or b"\0")[0]
