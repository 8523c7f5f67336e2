"""Whether a text is a loop: what a model writes when it cannot get away from its own last words.

One home for what a stored text and a reply that was cut are judged by. Pure, and linear in the length of the text.
"""

from __future__ import annotations

import re

__all__ = ["ends_in_a_loop", "repeats_its_statements", "repeats_itself"]

_GRAM = 8
_LEAST_TO_JUDGE = 24
_LONGEST_PERIOD = 40
_LEAST_STATEMENTS = 4
_STATEMENT_END = re.compile(r"[.!?;。！？；\n]+\s*")
_MARK_CHARACTERS = 60  # at the end of a text, to be found again before it
_LOOP_CHARACTERS = 240
_LEAST_ROUNDS = 4
_PLACES = 8  # of the mark, each tried as the end of the round before


def ends_in_a_loop(text: str) -> bool:
    """Say whether a text that was cut ends with one passage said at least four times, to the letter and in a row.

    The rounds fill 240 characters or more. Only what is equal to the letter counts, because the entries of a good list
    differ in little.
    """
    mark = text[-_MARK_CHARACTERS:]
    end = len(text)
    for _ in range(_PLACES):
        start = text.rfind(mark, 0, end - 1)
        if start < 0:
            return False
        end = start + len(mark)
        period = len(text) - end
        needed = max(_LOOP_CHARACTERS, _LEAST_ROUNDS * period)
        if len(text) < needed:
            return False
        if text[-needed + period :] == text[-needed:-period]:
            return True
    return False


def repeats_itself(text: str) -> bool:
    """Say whether a text is one phrase again and again, wholly or for its greater part.

    Two signs: a short period that nearly all characters obey, and few distinct runs of eight characters. Sound prose
    and lists have over 0.6 distinct runs; half of the text being a loop brings it under 0.5.
    """
    folded = " ".join(text.casefold().split())
    length = len(folded)
    if length < _LEAST_TO_JUDGE:
        return False
    # A loop, whole or for half of a text, has few distinct runs of four; nearly every sound text ends here, ten times sooner.
    if len({folded[start : start + 4] for start in range(length - 3)}) > 0.7 * (length - 3):
        return False
    for period in range(1, min(_LONGEST_PERIOD, length // 4) + 1):
        obeying = sum(a == b for a, b in zip(folded, folded[period:], strict=False))
        if obeying >= 0.95 * (length - period):
            return True
    if length < 10 * _GRAM:
        return False
    grams = [folded[start : start + _GRAM] for start in range(length - _GRAM + 1)]
    return len(set(grams)) < 0.45 * len(grams)


def repeats_its_statements(text: str) -> bool:
    """Say the same of a text of several statements: a loop stands in one of them, or most are repeats of others.

    Statements that are merely worded alike, as those of a log of runs or of appointments are, are no loop.
    """
    statements = [statement for statement in _STATEMENT_END.split(text) if statement.strip()]
    if len(statements) >= _LEAST_STATEMENTS and 2 * len(set(statements)) <= len(statements):
        return True
    return any(repeats_itself(statement) for statement in statements)
