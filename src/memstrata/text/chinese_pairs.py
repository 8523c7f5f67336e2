"""Whether Chinese characters stand together as they do in words: what tells a sentence from characters drawn at random.

Each character of such a draw may be in daily use, and most stores know it. Its neighbours give it away: of a real question
about every third pair is one of the 16,000 commonest, of a random one hardly any. Simplified characters only, because
that is what was counted; other texts get no verdict.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib import resources

from memstrata.text.scripts import HAN, KANA

__all__ = ["FEWEST_PAIRS", "joined_share"]

FEWEST_PAIRS = 3
"""Neighbouring pairs that a text needs; a name alone may be made of pairs that nothing else has."""

_RUN = re.compile(f"[{HAN}]+")
_KANA = re.compile(f"[{KANA}]")


def joined_share(text: str) -> float | None:
    """Return the share of neighbouring Han characters that stand together in common words, 0 to 1.

    None where nothing can be said: too few pairs, kana, or a character that simplified Chinese does not have.
    """
    runs = _RUN.findall(text)
    pairs = [(run[at], run[at + 1]) for run in runs for at in range(len(run) - 1)]
    if len(pairs) < FEWEST_PAIRS or _KANA.search(text):
        return None
    try:
        "".join(runs).encode("gb2312")
    except UnicodeEncodeError:
        return None
    followers = _followers()
    return sum(second in followers.get(first, "") for first, second in pairs) / len(pairs)


@functools.cache
def _followers() -> Mapping[str, str]:
    """Return by character those that follow it. About 0.4 MB, and read only when a Chinese question comes."""
    table = resources.files("memstrata.text").joinpath("data", "chinese_pairs.txt").read_text(encoding="utf-8")
    return {line[0]: line[1:] for line in table.splitlines() if not line.startswith("#")}
