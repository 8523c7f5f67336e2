"""What counts as the same letter: one canonical spelling per word, applied to stored text and to questions alike.

Compatibility forms, accents, vowel points, letter variants and digits of every script are folded. Case is kept, because
the analyser still needs the humps of `camelCase`. Signs that carry the word (Thai and Indic vowels, the voicing of
kana, Cyrillic й) are kept. The text itself is never changed by this: only its terms are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["fold"]

# `unicodedata.normalize` sorts a run of combining marks by insertion, in quadratic time: 40,000 of them take 1.6 s.
# Marks are never word characters, half-width voicing marks excepted, so cutting runs of other characters bounds it; 32
# is beyond any real text (UAX #15 allows 30).
_LONG_MARKS = re.compile(r"((?:[^\w\s\x00-\x7f]|[\uff9e\uff9f]){32})(?:[^\w\s\x00-\x7f]|[\uff9e\uff9f])+")

_ACCENTED_LETTERS = ((0xC0, 0x250), (0x370, 0x530), (0x1E00, 0x2000))  # Latin, Greek, Cyrillic
_CYRILLIC_SHORT = frozenset("ЙйЎў")  # letters of their own; the Russian stemmer needs them

_DROPPED = (
    (0x300, 0x370),  # combining accents
    (0x483, 0x488),  # Cyrillic titlo and breathings
    (0x591, 0x5C8),  # Hebrew points and cantillation
    (0x5F3, 0x5F5),  # geresh and gershayim inside Hebrew abbreviations
    (0x610, 0x61B),  # Arabic signs
    (0x640, 0x641),  # tatweel
    (0x64B, 0x660),  # harakat
    (0x670, 0x671),  # superscript alef
    (0x6D6, 0x6DD),
    (0x6DF, 0x6E5),
    (0x6E7, 0x6E9),
    (0x6EA, 0x6EE),
    (0x730, 0x74B),  # Syriac points
    (0x1AB0, 0x1B00),
    (0x1DC0, 0x1E00),
    (0x20D0, 0x2100),
    (0x3099, 0x309B),  # voicing marks that found no kana to join
    (0xFE20, 0xFE30),
    (0xAD, 0xAE),  # soft hyphen
    (0x61C, 0x61D),  # direction marks, joiners and other characters without width
    (0x180B, 0x180F),
    (0x200C, 0x2010),
    (0x202A, 0x202F),
    (0x2060, 0x2070),
    (0xFE00, 0xFE10),  # variation selectors
    (0xFEFF, 0xFF00),
    (0xE0001, 0xE0080),
    (0xE0100, 0xE01F0),
)

_KATAKANA = range(0x30A1, 0x30F7)  # written as hiragana: りんご and リンゴ are one word
_HIRAGANA_OFFSET = -0x60

_DIGIT_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
    0x1040, 0x1090, 0x17E0, 0x1810,
)  # fmt: skip

_VARIANTS = {
    "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "ł": "l", "Ł": "L", "ħ": "h", "Ħ": "H", "ı": "i",
    "ŧ": "t", "Ŧ": "T", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "þ": "th", "Þ": "TH", "ß": "ss", "ẞ": "SS",
    "ς": "σ",
    "أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك",
    "’": "'", "‘": "'", "ʼ": "'", "‐": "-", "‑": "-", "‒": "-", "–": "-",
}  # fmt: skip


def _pairs() -> Iterator[tuple[int, str]]:
    for start, end in _ACCENTED_LETTERS:
        for code in range(start, end):
            letter = chr(code)
            base = "".join(c for c in unicodedata.normalize("NFD", letter) if not unicodedata.combining(c))
            if base not in ("", letter) and letter not in _CYRILLIC_SHORT:
                yield code, base
    for start, end in _DROPPED:
        for code in range(start, end):
            yield code, ""
    for code in _KATAKANA:
        yield code, chr(code + _HIRAGANA_OFFSET)
    for zero in _DIGIT_ZEROS:
        for value in range(10):
            yield zero + value, str(value)
    for letter, base in _VARIANTS.items():
        yield ord(letter), base


_TABLE = dict(_pairs())
# A class of BMP characters compiles to a bitmap; one beyond would turn it into a list, a hundred times slower.
_FOLDABLE = re.compile(
    f"[{''.join(re.escape(chr(code)) for code in _TABLE if code < 0x10000)}]|[\U000e0001-\U000e01ef]"
)


def fold(text: str) -> str:
    """Return `text` in the spelling that terms are made of, case kept. Linear time; lone surrogates pass through."""
    if text.isascii():
        return text
    text = unicodedata.normalize("NFKC", _LONG_MARKS.sub(r"\1", text))
    return text.translate(_TABLE) if _FOLDABLE.search(text) else text
