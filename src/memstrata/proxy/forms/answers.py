"""Which option a user's answer means. Labels come first, because that is what clients send; free text last. Pure.

An answer reaches this module only after its tool result was found by the form's own call id, so an echo of the question
somewhere else can never be one. Source: `reference/proxy.md` §4.4, §4.5, §4.7, and its defect B12.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from memstrata.proxy.forms.pages import Option

__all__ = ["Answer", "read_answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """`kind`: an option was chosen; the user wants no memory; the tool could not ask; nobody knows what was meant."""

    kind: Literal["chosen", "declined", "unavailable", "unclear"]
    option: Option | None = None


_UNAVAILABLE = re.compile(r"\s*(?:request_user_input|AskUserQuestion|ask_user_question) is unavailable\b")
_DECLINED = re.compile(
    r"user (?:has )?declined|doesn't want to proceed|does not want to proceed|clarify these questions|"
    r"tool use was rejected|rejected the tool",
    re.IGNORECASE,
)
_SKIP = frozenset({"skip", "跳过", "不关联", "no memory", "none"})
_ANSWER_KEYS = ("answers", "answer", "value", "selection", "selected", "selectedOption", "label")
_TAIL = re.compile(r"\(([^()\s]{1,64})\)\s*\Z")
_IN_PARENTHESES = re.compile(r"\(([^()\s]{4,64})\)")
_MOST_DEPTH = 8
_MOST_TEXT = 20_000


def read_answer(result: str, question: str, key: str, options: Sequence[Option]) -> Answer:
    """Return what a tool result says about one question. `key` is the question's id, for clients that answer by id."""
    result = result[:_MOST_TEXT].strip()
    if _UNAVAILABLE.match(result):
        return Answer("unavailable")
    for given in _given(result, question, key):
        if (found := _meant(given, options)) is not None:
            return Answer("chosen", found)
        if given.strip().casefold() in _SKIP:
            return Answer("declined")
    return Answer("declined" if _DECLINED.search(result) else "unclear")


def _given(result: str, question: str, key: str) -> Iterator[str]:
    """Yield what was answered to the question, the surest reading first."""
    try:
        read = json.loads(result)
    except (ValueError, RecursionError):
        read = None
    if isinstance(read, dict | list):
        yield from _in_json(read, question, key)
        return
    if isinstance(read, str):
        result = read
    quoted = f'"{question}"="'
    at = result.find(quoted)
    if at >= 0:
        rest = result[at + len(quoted) :]
        for end in re.finditer(r'"(?=[,.;\s]|\Z)', rest):
            yield rest[: end.start()]
            break
        return
    if question not in result:
        yield result


def _in_json(read: object, question: str, key: str) -> Iterator[str]:
    """Yield the answers of an object, those that stand under the question or its id before any others."""
    named = list(_under(read, {question, key}, 0))
    for found in named or [read]:
        yield from _texts(found, 0)


def _under(read: object, names: set[str], depth: int) -> Iterator[object]:
    if depth > _MOST_DEPTH:
        return
    if isinstance(read, dict):
        if read.get("id") in names or read.get("question") in names:
            yield {name: value for name, value in read.items() if name in _ANSWER_KEYS}
            return
        for name, value in read.items():
            if name in names:
                yield value
            else:
                yield from _under(value, names, depth + 1)
    elif isinstance(read, list):
        for value in read:
            yield from _under(value, names, depth + 1)


def _texts(read: object, depth: int) -> Iterator[str]:
    if isinstance(read, str):
        yield read
    elif depth <= _MOST_DEPTH and isinstance(read, dict):
        for name in _ANSWER_KEYS:
            if name in read:
                yield from _texts(read[name], depth + 1)
    elif depth <= _MOST_DEPTH and isinstance(read, list):
        for value in read:
            yield from _texts(value, depth + 1)


def _meant(given: str, options: Sequence[Option]) -> Option | None:
    """Return the one option that a text names; None where it names none, or several."""
    said = given.strip().strip('"').strip()
    folded = said.casefold()
    if not folded:
        return None
    by_label = [option for option in options if folded in (option.label.casefold(), option.id.casefold())]
    if by_label:
        return by_label[0]
    by_name = [option for option in options if _name(option) == folded]
    if by_name:
        return by_name[0] if len(by_name) == 1 else None
    tails = _IN_PARENTHESES.findall(said)
    by_tail = [option for option in options if any(option.id.endswith(tail) for tail in tails)]
    if by_tail:
        return by_tail[0] if len(by_tail) == 1 else None
    contained = [option for option in options if _name(option) in folded]
    longest = max((_name(option) for option in contained), key=len, default="")
    # "Search" inside "Search team" is the longer name; two names side by side are no answer.
    if longest and all(_name(option) in longest for option in contained):
        meant = [option for option in contained if _name(option) == longest]
        return meant[0] if len(meant) == 1 else None
    return None


def _name(option: Option) -> str:
    return _TAIL.sub("", option.label).strip().casefold()
