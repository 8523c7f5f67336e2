"""The stem of a word by its script, so that "allergies" finds "allergic" and "кошку" finds "кошка".

Snowball through PyStemmer. A script stands for the language that uses it most: French and Spanish go through the
English stemmer, which is harmless, because text and question go through the same one.
"""

from __future__ import annotations

import threading

import Stemmer

__all__ = ["stems"]

# First code point of a block, first one after it, and the Snowball algorithm for words that start in it.
_ALGORITHMS = (
    (0x61, 0x7B, "english"),
    (0x370, 0x400, "greek"),
    (0x400, 0x530, "russian"),
    (0x530, 0x590, "armenian"),
    (0x600, 0x700, "arabic"),
    (0x900, 0x980, "hindi"),
    (0xB80, 0xC00, "tamil"),
)
_HEBREW = (0x590, 0x600)
_HEBREW_PREFIXES = "הבלמוכש"
_ARABIC_ARTICLES = ("وال", "بال", "كال", "فال", "لل", "ال")


class _Stemmers(threading.local):
    """One set per thread: a Snowball object holds its word in a buffer and must not be shared."""

    def __init__(self) -> None:
        # The callers cache, so the stemmers need not do it again.
        self.by_algorithm = {name: Stemmer.Stemmer(name, 0) for _, _, name in _ALGORITHMS}


_stemmers = _Stemmers()


def stems(word: str) -> tuple[str, ...]:
    """Return the terms that stand for one folded, case-folded word: its stem, and in Hebrew also its prefixless forms."""
    first = ord(word[0])
    if _HEBREW[0] <= first < _HEBREW[1]:
        return _without_hebrew_prefixes(word)
    for start, end, algorithm in _ALGORITHMS:
        if start <= first < end:
            if algorithm == "arabic":
                word = _without_arabic_article(word)
            stem: str = _stemmers.by_algorithm[algorithm].stemWord(word)
            return (stem or word,)
    return (word,)


def _without_arabic_article(word: str) -> str:
    # Snowball leaves the article on words of three letters: القطة and قطة would not meet.
    for article in _ARABIC_ARTICLES:
        if word.startswith(article) and len(word) >= len(article) + 3:
            return word[len(article) :]
    return word


def _without_hebrew_prefixes(word: str) -> tuple[str, ...]:
    # "The", "in", "to", "and" are written as part of the word, and only a dictionary could tell them from its first
    # letter: both readings are kept, up to two prefixes ("and the").
    forms = [word]
    while len(forms) < 3 and len(forms[-1]) >= 4 and forms[-1][0] in _HEBREW_PREFIXES:
        forms.append(forms[-1][1:])
    return tuple(forms)
