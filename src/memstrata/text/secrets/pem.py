"""Private keys in armour: whole blocks, on one line, in JSON with `\\n`, or cut off in the middle.

Certificates and public keys are public and stay, as does a header that nothing follows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memstrata.text.secrets.place import Place

__all__ = ["private_keys"]

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----")
_GAP = r"(?:\\[nr]|\s|\\$)"
_LINE = r"[A-Za-z0-9+/=]"
_BODY = re.compile(rf"{_LINE}{{16}}")
# What a cut block still has: lines that are long for words, and a rest of one at the end.
_CUT = re.compile(
    rf"(?:{_GAP}*+(?:(?:Proc-Type|DEK-Info|Version|Comment): ?[^\n\\]{{0,200}}+|{_LINE}{{16,}}+))*+"
    rf"(?:{_GAP}*+{_LINE}{{1,15}}+\Z)?"
)


def private_keys(text: str) -> Iterator[Place]:
    """Yield the blocks, from the first dash to the last."""
    if "PRIVATE KEY" not in text:
        return
    begins = list(_BEGIN.finditer(text))
    ends = list(_END.finditer(text))
    at = 0
    for place, begin in enumerate(begins):
        following = begins[place + 1].start() if place + 1 < len(begins) else len(text)
        while at < len(ends) and ends[at].start() < begin.end():
            at += 1
        if at < len(ends) and ends[at].start() < following:
            if _BODY.search(text, begin.end(), ends[at].start()):
                yield Place(begin.start(), ends[at].end(), "private_key")
            continue
        cut = _CUT.match(text, begin.end(), following)
        if cut is not None and _BODY.search(cut[0]):
            yield Place(begin.start(), cut.end(), "private_key")
