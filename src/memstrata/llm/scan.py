"""Where JSON values stand in a model's reply: outside of reasoning, in order, repaired where they are broken.

Read from left to right. A bracket that starts a value takes the whole value with it, so a tag inside a string is no
tag; a tag of reasoning takes the whole block with it, so a bracket inside it is no answer. Greedy reading from the first
bracket to the last is what lost whole batches elsewhere (user needs A5, B10).

The work is bounded by the length of the text, whatever it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

__all__ = ["Candidate", "candidates", "without_reasoning"]

_NAMES = r"(?:think(?:ing)?|thoughts?|reasoning|analysis|reflection|scratchpad)"
_OPENING = rf"<{_NAMES}(?:\s[^<>]{{0,100}})?>|◁think▷|\[THINK\]|<\|channel\|>(?:analysis|commentary)<\|message\|>"
_CLOSING = rf"</{_NAMES}\s*>|◁/think▷|\[/THINK\]|<\|end\|>|<\|channel\|>final<\|message\|>"
_CLOSING_TAG = re.compile(_CLOSING, re.IGNORECASE)
_TAG = re.compile(rf"(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})", re.IGNORECASE)
_MARK = re.compile(rf"(?P<opening>{_OPENING})|(?P<closing>{_CLOSING})|(?P<bracket>[\[{{])", re.IGNORECASE)

_BRACKET = re.compile(r"[\[{]")

# What can only be meant as JSON: "[note]" and "{name}" in prose are not tried.
_MEANT = re.compile(r"""\[\s*(?:[\[{"'\]]|//|/\*|\Z)|\{\s*(?:["'}]|//|/\*|[\w-]+\s*:|\Z)""")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}"]', re.DOTALL)
_CLOSERS = {"[": "]", "{": "}"}
_BLANK = " \t\r\n`"
_REPAIRS = 6
_REBASE_CHARACTERS = 20_000
_DEEPEST = 60  # of a value that is worth a repair
_REPAIR_CHARACTERS = 100_000
_LINE_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Candidate:
    """A JSON value found in a text. `cut`: the text ends within it, and what was incomplete was left out.

    `alone`: it has its lines to itself, so an empty one is an answer and not a pair of brackets in prose.
    """

    value: Any
    source: str
    start: int
    end: int  # what lies between has been looked at as a part of this value
    alone: bool = False
    repaired: bool = False
    cut: bool = False


def candidates(text: str) -> list[Candidate]:
    """Return the values in the order of their starts. Never raises.

    A value that had to be repaired comes before the intact values inside it. An opening tag that is never closed makes
    reasoning of all that follows, except for an intact value that the text ends with.
    """
    return _Scan(text).run()


def without_reasoning(text: str) -> str:
    """Return `text` without its blocks of reasoning, closed or not, and without blanks at both ends."""
    kept: list[str] = []
    position = 0
    while mark := _TAG.search(text, position):
        if mark.lastgroup == "closing":  # the opening tag was part of the prompt
            kept.clear()
            position = mark.end()
            continue
        kept.append(text[position : mark.start()])
        closing = _CLOSING_TAG.search(text, mark.end())
        position = closing.end() if closing else len(text)
    return "".join([*kept, text[position:]]).strip()


class _Scan:
    def __init__(self, text: str) -> None:
        self._text = text
        self._found: list[Candidate] = []
        self._work = 16 * len(text) + 50_000  # characters that may be decoded in vain
        self._repairs = _REPAIRS
        self._tag_end = 0
        self._base = 0
        self._rest = text  # from `_base` on

    def run(self) -> list[Candidate]:
        position = 0
        while self._work > 0 and (mark := _MARK.search(self._text, position)):
            match mark.lastgroup:
                case "opening":
                    closing = _CLOSING_TAG.search(self._text, mark.end())
                    if closing is None:
                        self._found += self._last_word(mark.end())
                        break
                    position = self._tag_end = closing.end()
                case "closing":  # the opening tag was part of the prompt, so all before it was reasoning
                    self._found.clear()
                    position = self._tag_end = mark.end()
                case _:
                    position = self._bracket(mark.start())
        return self._found

    def _bracket(self, start: int) -> int:
        """Look at the value that may start here; return where to go on."""
        decoded = self._decode(start)
        if decoded is not None:
            value, end = decoded
            self._found.append(Candidate(value, self._text[start:end], start, end, self._stands_alone(start, end)))
            return end
        if self._repairs > 0 and _MEANT.match(self._text, start):
            self._repairs -= 1
            self._found += _repaired(self._text, start)
        return start + 1

    def _decode(self, start: int) -> tuple[Any, int] | None:
        # The decoder's error counts the lines before it, so it is shown no more of the text than that takes.
        if start - self._base > _REBASE_CHARACTERS:
            self._base = start
            self._rest = self._text[start:]
        try:
            value, end = _DECODER.raw_decode(self._rest, start - self._base)
        except json.JSONDecodeError as error:
            self._work -= max(error.pos + self._base - start, 1)
            return None
        except (ValueError, RecursionError):  # NaN, numbers of thousands of digits, thousands of brackets
            self._work -= 20_000
            return None
        return value, end + self._base

    def _last_word(self, start: int) -> Iterator[Candidate]:
        for bracket in _BRACKET.finditer(self._text, start):
            if self._work <= 0:
                return
            begin = bracket.start()
            decoded = self._decode(begin)
            if decoded is not None and not self._text[decoded[1] :].strip(_BLANK):
                yield Candidate(decoded[0], self._text[begin : decoded[1]], begin, decoded[1])
                return

    def _stands_alone(self, start: int, end: int) -> bool:
        floor = max(self._tag_end, start - _LINE_CHARACTERS)
        before = self._text[floor:start].rpartition("\n")
        after = self._text[end : end + _LINE_CHARACTERS].partition("\n")
        if not before[1] and floor > self._tag_end:
            return False
        around = re.sub(r"```\w*|</?\w+>", "", before[2] + after[0])
        return not around.strip(" \t\r`.。")


def _repaired(text: str, start: int) -> Iterator[Candidate]:
    """Yield what a broken value may have meant.

    Where quotes do not pair, items run into each other and every repair is a guess, so only what is complete before the
    fault is taken.
    """
    stack: list[str] = []
    after_last: tuple[int, int] | None = None  # where the last complete value inside ends, and how many are then open
    tokens = _TOKEN.finditer(text, start)
    for token in tokens:
        sign = token[0]
        if sign in "[{":
            stack.append(_CLOSERS[sign])
            if len(stack) > _DEEPEST:
                return
        elif sign in "]}":
            if stack[-1] != sign:
                last = text.rfind(_CLOSERS[text[start]]) + 1
                if last > start and all(later[0] != '"' for later in tokens):
                    yield from _mended(text, start, last, cut=_loses(text[last:]))
                break
            stack.pop()
            if not stack:
                yield from _mended(text, start, token.end())
                return
            after_last = (token.end(), len(stack))
        elif sign == '"':  # a string without an end, so the brackets after it may be text
            break
    if after_last is not None:
        end, depth = after_last
        yield from _mended(text, start, end, "".join(reversed(stack[:depth])), cut=_loses(text[end:]))


def _loses(rest: str) -> bool:
    """Say whether more items begin in what follows the last complete one; prose is no loss."""
    rest = rest.strip(_BLANK)
    return rest.startswith(('"', "'", "{", "[")) or (rest.startswith(",") and len(rest) > 1)


def _mended(text: str, start: int, end: int, closers: str = "", *, cut: bool = False) -> Iterator[Candidate]:
    if end - start > _REPAIR_CHARACTERS:
        return
    source = text[start:end] + closers
    try:
        value: Any = json_repair.loads(source)
    except (ValueError, RecursionError):
        return
    if value not in ("", [], {}):  # nothing left after a repair is no sign that nothing was meant
        yield Candidate(value, source, start, len(text) if closers else end, repaired=True, cut=cut)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


# Not strict: control characters inside strings, a common slip, do not need a repair.
_DECODER = json.JSONDecoder(strict=False, parse_constant=_no_constant)
