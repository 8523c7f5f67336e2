"""The one reader of what models write: from a reply's text to typed items, or to the reason why it cannot be read.

What cannot be read is never "nothing to remember": that is only an empty list that the model really gave (user needs A4,
A5, B09 to B13). Values are read as they stand; a value that repeats the input, or the schema, is no answer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import msgspec

from memstrata.llm.scan import Candidate, candidates, without_reasoning
from memstrata.llm.shape import Fitted, Shape, fit

__all__ = ["Read", "Unreadable", "UnreadableReason", "read_reply"]

T = TypeVar("T", bound=msgspec.Struct)

UnreadableReason = Literal["empty", "only_reasoning", "content_filter", "no_json", "echo", "invalid", "too_long"]

_LONGEST_REPLY = 400_000
_SHORTEST_ECHO = 16
_REFUSAL_WINDOW = 300
_REFUSAL = re.compile(
    r"\b(?:i(?:['’]m| am) (?:very |so |really )?(?:sorry|unable|not able)|i (?:can(?:not|['’]t)|won['’]t|must decline)"
    r"|i apologi[sz]e|my apologies|as an ai\b|unable to (?:assist|help|comply|process)|(?:content|safety|usage) polic)"
    r"|抱歉|对不起|對不起|很遗憾|无法(?:提供|协助|处理|回答|完成|满足)|不能(?:提供|协助|处理|回答)|作为(?:一个)?(?:AI|人工智能)"
    r"|申し訳|お手伝いできません|お答えできません|죄송합니다|도와드릴 수 없|к сожалению|lo siento|je suis désolé|es tut mir leid",
    re.IGNORECASE,
)
_BROKEN = re.compile(r"""[\[{]\s*[{"'\[]""")


@dataclass(frozen=True, slots=True)
class Read(Generic[T]):
    """What the model answered. No items: it says that there is nothing.

    `problems` tell what was left out, an invalid item or a cut tail; there are some only where the shape is partial.
    """

    items: tuple[T, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The reply is no answer. `detail` says so in words that a model can act on."""

    reason: UnreadableReason
    detail: str


def read_reply(text: str, shape: Shape[T], shown: str = "") -> Read[T] | Unreadable:
    """Return the first value in `text` that has the shape. Never raises.

    `shown` is what the model was shown; a value with items that stands in it, word for word, is an echo. An intact value without
    any fault goes before one with faults; an empty list counts only if no other value fits.
    """
    if not text.strip():
        return Unreadable("empty", "the reply was empty")
    if len(text) > _LONGEST_REPLY:
        return Unreadable("too_long", f"the reply has more than {_LONGEST_REPLY} characters")
    found = candidates(text)
    reading: _Reading[T] = _Reading(shape, _squeezed(shown))
    for candidate in found:
        reading.take(candidate)
    return reading.result() or _nothing_found(text, any_value=bool(found))


class _Reading(Generic[T]):
    """What the candidates have given so far."""

    def __init__(self, shape: Shape[T], shown: str) -> None:
        self._shape = shape
        self._shown = shown
        self._whole: Read[T] | None = None
        self._part: Read[T] | None = None
        self._empty: Read[T] | None = None
        self._fault: Unreadable | None = None
        self._fault_size = 0
        self._read_to = 0  # up to where a value with faults reaches: its parts must not pass for the whole

    def take(self, candidate: Candidate) -> None:
        if self._whole is not None or candidate.end <= self._read_to:
            return
        fitted = fit(candidate.value, self._shape)
        problems = (*fitted.problems, "the reply ends within an item") if candidate.cut else fitted.problems
        if self._is_echo(candidate, fitted):
            self._note(Unreadable("echo", "the input or the schema was given back"), candidate)
        elif not fitted.items and not problems:
            # An empty list under a name of its own is as clear as one on a line of its own.
            if candidate.alone or isinstance(candidate.value, dict):
                self._empty = Read(())
        elif not problems:
            self._whole = Read(fitted.items)
        else:
            self._note(Unreadable("invalid", "; ".join(problems)), candidate)
            if fitted.items:
                self._read_to = candidate.end
                if self._shape.partial and (self._part is None or len(fitted.items) > len(self._part.items)):
                    self._part = Read(fitted.items, problems)

    def result(self) -> Read[T] | Unreadable | None:
        # Where faulty items stand beside an empty list, the items were meant.
        return self._whole or self._part or self._fault or self._empty

    def _note(self, fault: Unreadable, candidate: Candidate) -> None:
        """Keep the fault of the longest value: brackets in prose have faults too, and nobody can mend those."""
        if len(candidate.source) > self._fault_size:
            self._fault, self._fault_size = fault, len(candidate.source)

    def _is_echo(self, candidate: Candidate, fitted: Fitted[T]) -> bool:
        if any("was given back" in problem for problem in fitted.problems):
            return True
        source = _squeezed(candidate.source)
        return bool(fitted.items) and len(source) >= _SHORTEST_ECHO and source in self._shown


def _nothing_found(text: str, *, any_value: bool) -> Unreadable:
    said = without_reasoning(text)
    if not said:
        return Unreadable("only_reasoning", "the reply holds reasoning and no answer")
    if not any_value and _REFUSAL.search(said[:_REFUSAL_WINDOW]):
        return Unreadable("content_filter", "the reply declines to answer")
    if not any_value and _BROKEN.search(said):
        return Unreadable("invalid", "the JSON is broken or incomplete")
    return Unreadable("no_json", "the reply holds no JSON value")


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", "", text)
