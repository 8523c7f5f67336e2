"""One question to a model, answered with typed items or with what to do instead.

At most two calls: what cannot be read is asked for once more, with the reason. After that the outcome is one of four,
and only the first two let a cursor move: `Items`, `Nothing`, `Retry`, `Poison`. Two of them have a finer kind: `Deferred`
is a `Retry` for which the input is not to blame, `Divisible` a `Poison` whose halves may work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import msgspec

from memstrata.errors import Unavailable
from memstrata.llm.errors import (
    AuthRefused,
    BreakerOpen,
    BudgetSpent,
    CallFailed,
    ContentRefused,
    PromptTooLong,
    RateLimited,
    Truncated,
    Unreachable,
)
from memstrata.llm.protocol import Chat, ChatMessage, ChatRequest, Usage
from memstrata.llm.reply import Read, Unreadable, read_reply
from memstrata.llm.scan import without_reasoning
from memstrata.llm.shape import Shape
from memstrata.records import Deferred, Divisible, Poison, Retry

__all__ = ["Asked", "Attempt", "Deferred", "Divisible", "Items", "Nothing", "Outcome", "ask", "outcome_of"]

T = TypeVar("T", bound=msgspec.Struct)

_KEPT_CHARACTERS = 4_000
_OPERATOR_SECONDS = 600.0  # how often to see whether the operator has mended key or account

_AGAIN: Mapping[str, str] = {
    "en": "That answer cannot be used: {why}. Give the whole answer once more, as JSON of the form asked for and nothing "
    "else. If there is nothing to give, answer with an empty list.",
    "zh": "这个回答无法使用：{why}。请按要求的 JSON 格式重新给出完整回答，不要输出其他内容。如果没有可给出的内容，请回答空列表。",
}


@dataclass(frozen=True, slots=True)
class Items(Generic[T]):
    """At least one item. `problems` tell what of a partial answer was left out even after asking again."""

    items: tuple[T, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Nothing:
    """The model says that there is nothing."""


Outcome = Items[T] | Nothing | Retry | Poison


@dataclass(frozen=True, slots=True)
class Attempt:
    """One call, for the generation log. `text` is the start of the reply; `error` is empty for the one that counted."""

    text: str
    error: str
    usage: Usage
    model: str
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """The outcome and how it came about, one or two attempts.

    `salvage`: of a reply that was cut, the items that are complete. The outcome is `Divisible` then, because the halves
    of the input may give all of them; who cannot divide it any more takes these.
    """

    outcome: Outcome[T]
    attempts: tuple[Attempt, ...]
    salvage: Items[T] | None = None

    @property
    def usage(self) -> Usage:
        return sum((attempt.usage for attempt in self.attempts), Usage())


async def ask(
    chat: Chat, request: ChatRequest, shape: Shape[T], *, shown: str | None = None, language: str = "en"
) -> Asked[T]:
    """Ask once, read the reply, ask once more if it cannot be read. Raises nothing that a model can cause.

    The request gets the shape's schema if it has none. `shown` is what must not come back as an answer, by default
    the messages; not the system prompt, whose examples may be the right answer. `language` is that of the prompt.
    """
    if request.schema is None:
        request = replace(request, schema=shape.json_schema())
    if shown is None:
        shown = "\n".join(message.content for message in request.messages)
    attempts: list[Attempt] = []
    best: Read[T] | None = None
    found: Read[T] | Unreadable = Unreadable("empty", "not asked")
    for number in (1, 2):
        try:
            reply = await chat.complete(request)
        except CallFailed as failure:
            attempts.append(Attempt("", f"{failure.code}: {failure}", failure.usage, failure.model, 0.0))
            if best:
                return Asked(Items(best.items, best.problems), tuple(attempts))
            return Asked(outcome_of(failure), tuple(attempts), _salvage(failure, shape, shown))
        found = read_reply(reply.text, shape, shown)
        fault = _fault(found)
        attempts.append(Attempt(reply.text[:_KEPT_CHARACTERS], fault, reply.usage, reply.model, reply.elapsed_ms))
        if isinstance(found, Read):
            if not found.problems:
                return Asked(Items(found.items) if found.items else Nothing(), tuple(attempts))
            if best is None or len(found.items) > len(best.items):
                best = found
        if number == 1:
            request = _once_more(request, reply.text, fault, language)
    if best is not None:
        return Asked(Items(best.items, best.problems), tuple(attempts))
    return Asked(Retry(_fault(found)), tuple(attempts))


def outcome_of(failure: CallFailed) -> Retry | Poison:
    """Return what becomes of the input of a call that failed."""
    reason = f"{failure.code}: {failure}"
    match failure:
        case Truncated() | PromptTooLong() | ContentRefused():
            return Divisible(reason)
        case AuthRefused():
            return Deferred(reason, _OPERATOR_SECONDS)
        case RateLimited() | Unreachable() | BreakerOpen() | BudgetSpent():
            return Deferred(reason, failure.retry_after)
        case Unavailable():
            return Retry(reason, failure.retry_after)
        case _:
            return Retry(reason)


def _salvage(failure: CallFailed, shape: Shape[T], shown: str) -> Items[T] | None:
    """Return what is complete of a reply that was cut, where items count one by one."""
    if not isinstance(failure, Truncated) or not shape.partial:
        return None
    found = read_reply(failure.text, shape, shown)
    if isinstance(found, Unreadable) or not found.items:
        return None
    return Items(found.items, (*found.problems, "the reply was cut, so what came after these items is missing"))


def _fault(found: Read[T] | Unreadable) -> str:
    if isinstance(found, Unreadable):
        return f"{found.reason}: {found.detail}"
    return "invalid: " + "; ".join(found.problems) if found.problems else ""


def _once_more(request: ChatRequest, said: str, fault: str, language: str) -> ChatRequest:
    """Return the request with the failed answer and the complaint at its end, so that its start stays as it was."""
    shown = without_reasoning(said)[:_KEPT_CHARACTERS] or "(empty)"
    why = fault.partition(": ")[2]
    complaint = _AGAIN.get(language, _AGAIN["en"]).format(why=why)
    added = (ChatMessage("assistant", shown), ChatMessage("user", complaint))
    return replace(request, messages=(*request.messages, *added))
