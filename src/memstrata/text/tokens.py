"""How many tokens a text is, near enough: one per CJK character, one per four other characters.

Used where a provider reports no usage, by the benchmark, and for the budgets of a recall, so that costs can be compared and
kept without a vocabulary (tiktoken fetches its own over the network: deps §7).
"""

from __future__ import annotations

import re

__all__ = ["count_tokens"]

_CJK = re.compile("[\u2e80-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufaff\uff00-\uffef\U00016fe0-\U000323af]")


def count_tokens(text: str) -> int:
    """Return the estimate, rounded up. The parts of a text together never count less than the whole."""
    cjk = sum(1 for _ in _CJK.finditer(text))
    return cjk + -(-(len(text) - cjk) // 4)
