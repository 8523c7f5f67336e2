"""Queries that mean nothing, drawn at random: the answer to each should be empty. Pure and seeded.

Random letters and rare characters are the easy part. The hard part is made of what everybody writes: characters in daily
use, and characters and words of the very store that is asked, so that each of them stands in some row.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable, Mapping, Sequence

from memstrata.text.scripts import HAN

__all__ = ["FAMILIES", "nonsense"]

FAMILIES = (
    "random letters",
    "random characters",
    "daily characters",
    "characters of the store",
    "words of the store",
)
"""What the queries are drawn from. Daily characters are the first level of GB 2312, in which texts are nearly all written."""

_CHARACTERS = tuple(map(chr, range(0x4E00, 0x9FA6)))
_DAILY = tuple(
    character
    for lead in range(0xB0, 0xD8)
    for trail in range(0xA1, 0xFF)
    if (character := bytes((lead, trail)).decode("gb2312", "ignore"))
)
_HAN = re.compile(f"[{HAN}]")
_WORD = re.compile(r"[a-z]{3,}")


def nonsense(texts: Iterable[str], number: int, seed: int) -> Mapping[str, tuple[str, ...]]:
    """Return `number` queries of each family; a family that the texts have nothing for is left out.

    Characters and words of the store are drawn as often as they stand in `texts`. The same seed draws the same.
    """
    stored = [text.casefold() for text in texts]
    letters, characters, daily, own, words = FAMILIES
    drawn = {
        letters: [_letters(_chance(seed, letters, n)) for n in range(number)],
        characters: [_joined(_CHARACTERS, _chance(seed, characters, n)) for n in range(number)],
        daily: [_joined(_DAILY, _chance(seed, daily, n)) for n in range(number)],
    }
    if held := _HAN.findall("".join(stored)):
        drawn[own] = [_joined(held, _chance(seed, own, n)) for n in range(number)]
    if spoken := _WORD.findall(" ".join(stored)):
        drawn[words] = [_words(spoken, _chance(seed, words, n)) for n in range(number)]
    return {family: tuple(queries) for family, queries in drawn.items()}


def _chance(seed: int, family: str, number: int) -> random.Random:
    return random.Random(f"{seed} {family} {number}")  # noqa: S311 (nonsense is no secret)


def _letters(chance: random.Random) -> str:
    return " ".join(
        "".join(chance.choices(string.ascii_lowercase, k=chance.randint(4, 9))) for _ in range(_some(chance))
    )


def _joined(characters: Sequence[str], chance: random.Random) -> str:
    return "".join(chance.choices(characters, k=chance.randint(4, 12)))


def _words(words: Sequence[str], chance: random.Random) -> str:
    return " ".join(chance.choices(words, k=2 + _some(chance)))


def _some(chance: random.Random) -> int:
    return chance.randint(2, 5)
