"""`doctor --llm`: what the answers to the three questions say about a model, in plain words, and which setting helps.

Pure but for `check_models`, which asks. Endpoints' own words come through `llm.errors`, where keys have been blotted out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from memstrata.cli.check import Check
from memstrata.cli.model_exercise import Answer, Examined, Question, examine_model
from memstrata.cli.words import say
from memstrata.clock import Clock
from memstrata.distill.model import role_models
from memstrata.llm import MODEL_ROLES, ChatReply, ModelChoice, ModelRole
from memstrata.llm.errors import (
    AuthRefused,
    BreakerOpen,
    CallFailed,
    ContentRefused,
    PromptTooLong,
    RateLimited,
    RequestRefused,
    TimedOut,
    Truncated,
    Unreachable,
)
from memstrata.llm.scan import without_reasoning
from memstrata.settings import LlmSettings

__all__ = ["check_models", "checks_of", "cost_check"]

_CALLS_IN_100_TURNS: Final[Mapping[ModelRole, int]] = {"extract": 21, "resolve": 10, "consolidate": 2, "portray": 2}
"""One talk of a hundred turns with the timers as shipped; a run in two finds something to compare (docs/benchmarks.md)."""
_FORMS: Final = {
    "json_schema": "doctor.llm.form.json_schema",
    "json_object": "doctor.llm.form.json_object",
    "plain": "doctor.llm.form.plain",
}
_LABELS: Final[Mapping[Question, str]] = {
    "extract": "doctor.llm.extract",
    "resolve": "doctor.llm.resolve",
    "consolidate": "doctor.llm.tools",
}


async def check_models(settings: LlmSettings, clock: Clock, asking: Callable[[str], None]) -> list[Check]:
    """Ask every model that the settings name and return what was found; `asking` is told whom. Raises Misconfigured."""
    models = role_models(settings)
    roles: dict[ModelChoice, list[ModelRole]] = {}
    for role in MODEL_ROLES:
        roles.setdefault(models.of(role), []).append(role)
    examined: list[Examined] = []
    for choice, its in roles.items():
        asking(choice.model)
        examined.append(await examine_model(choice, its, settings, clock))
    checks = [check for one in examined for check in checks_of(one, settings)]
    return [*checks, *cost_check(examined)]


def checks_of(examined: Examined, settings: LlmSettings) -> Iterator[Check]:
    """Yield what one model's answers say, the most basic first."""
    choice, model = examined.choice, examined.choice.model
    about = say(
        "doctor.llm.choice",
        model=model,
        url=choice.base_url,
        dialect=choice.dialect.name,
        roles=", ".join(examined.roles),
    )
    yield Check("doctor.llm.model", "ok", about, model)
    if not examined.replies:
        answer = examined.answers[0]
        yield Check("doctor.llm.reachable", "failed", _failure(examined, answer, settings), model)
        return
    yield Check("doctor.llm.reachable", "ok", say("doctor.llm.answers"), model)
    if any(answer.replies for answer in examined.answers if answer.question != "consolidate"):
        form = examined.terms.best_form
        yield Check("doctor.llm.form", "warning" if form == "plain" else "ok", say(_FORMS[form]), model)
    for answer in examined.answers:
        yield _answered(examined, answer, settings)
    yield _thinking(examined, settings)
    yield _speed(examined.replies, settings.timeout_seconds, model)


def cost_check(examined: Sequence[Examined]) -> Iterator[Check]:
    """Yield what a hundred turns would take, if every question was answered."""
    used = {
        role: sum(reply.usage.total_tokens for reply in answer.replies)
        for one in examined
        for role in one.roles
        for answer in one.answers
        if answer.question == ("consolidate" if role == "portray" else role) and not answer.reason
    }
    if used.keys() == set(MODEL_ROLES):
        tokens = sum(_CALLS_IN_100_TURNS[role] * used[role] for role in MODEL_ROLES)
        yield Check("doctor.llm.cost", "ok", say("doctor.llm.cost.tokens", tokens=round(tokens, -3)))


def _answered(examined: Examined, answer: Answer, settings: LlmSettings) -> Check:
    label, model = _LABELS[answer.question], examined.choice.model
    if answer.reason:
        return Check(label, "failed", _failure(examined, answer, settings), model)
    stronger = say("doctor.llm.too_weak", setting=_settings_of(settings, examined.roles, "model"))
    is_full = answer.right == answer.most
    match answer.question:
        case "extract":
            found = say("doctor.llm.facts", right=answer.right, most=answer.most)
            if answer.trapped:
                found = f"{found}; {say('doctor.llm.trapped')}"
            if is_full and not answer.trapped:
                return Check(label, "ok", found, model)
            return Check(label, "warning" if answer.right else "failed", f"{found} → {stronger}", model)
        case "resolve":
            if is_full:
                return Check(label, "ok", say("doctor.llm.change_seen"), model)
            return Check(label, "warning", f"{say('doctor.llm.change_missed')} → {stronger}", model)
        case "consolidate":
            told = say("doctor.llm.told", right=answer.right, most=answer.most)
            return Check(label, "ok" if is_full else "warning", told, model)


def _thinking(examined: Examined, settings: LlmSettings) -> Check:
    model, dialect = examined.choice.model, examined.choice.dialect.name
    if not settings.disable_thinking:
        return Check("doctor.llm.thinking", "ok", say("doctor.llm.thinking.wanted"), model)
    if any(_reasons(reply) for reply in examined.replies):
        return Check("doctor.llm.thinking", "warning", say("doctor.llm.thinking.on", dialect=dialect), model)
    return Check("doctor.llm.thinking", "ok", say("doctor.llm.thinking.off"), model)


def _speed(replies: Sequence[ChatReply], timeout_seconds: float, model: str) -> Check:
    seconds = sum(reply.elapsed_ms for reply in replies) / 1000
    written = sum(reply.usage.completion_tokens for reply in replies)
    calls = sum(max(1, reply.usage.calls) for reply in replies)
    text = say("doctor.llm.speed.seconds", calls=calls, seconds=seconds, rate=written / max(seconds, 0.001))
    if max(reply.elapsed_ms for reply in replies) > 500 * timeout_seconds:
        slow = say("doctor.llm.speed.slow", seconds=timeout_seconds)
        return Check("doctor.llm.speed", "warning", f"{text} → {slow}", model)
    return Check("doctor.llm.speed", "ok", text, model)


def _failure(examined: Examined, answer: Answer, settings: LlmSettings) -> str:
    """Return why a question got no usable answer, and after an arrow which setting decides it."""
    failure = answer.failure
    if failure is None:
        return _unusable(examined, answer, settings)
    is_about_tools = answer.question == "consolidate" and (bool(examined.replies) or "tool" in str(failure).lower())
    return f"{failure} → {_advice(failure, examined.roles, settings, is_about_tools=is_about_tools)}"


def _advice(
    failure: CallFailed, roles: Sequence[ModelRole], settings: LlmSettings, *, is_about_tools: bool = False
) -> str:
    key, url, model = (_settings_of(settings, roles, part) for part in ("api_key", "base_url", "model"))
    match failure:
        case AuthRefused():
            return say("doctor.llm.advice.key", setting=key)
        case Unreachable():
            return say("doctor.llm.advice.address", setting=url)
        case TimedOut():
            return say("doctor.llm.advice.time", setting=_named("timeout_seconds"), model=model)
        case RateLimited() | BreakerOpen():
            return say("doctor.llm.advice.wait")
        case RequestRefused() if is_about_tools:
            return say("doctor.llm.advice.tools")
        case RequestRefused():
            return say("doctor.llm.advice.model", model=model, url=url, dialect=_named("dialect"))
        case PromptTooLong():
            return say("doctor.llm.advice.context")
        case Truncated():
            return say("doctor.llm.advice.room", setting=_named("max_tokens"))
        case ContentRefused():
            return say("doctor.llm.advice.filter", setting=model)
        case _:
            return say("doctor.llm.advice.endpoint", setting=url)


def _unusable(examined: Examined, answer: Answer, settings: LlmSettings) -> str:
    """Return what was wrong with answers that came and could not be read."""
    model = _settings_of(settings, examined.roles, "model")
    if answer.question == "consolidate":
        return say("doctor.llm.no_tools", reason=answer.reason) + f" → {say('doctor.llm.advice.tools')}"
    if any(_reasons(reply) and not without_reasoning(reply.text) for reply in answer.replies):
        dialect = _named("dialect")
        return say("doctor.llm.only_reasoning", setting=dialect, dialect=examined.choice.dialect.name, model=model)
    return say("doctor.llm.unreadable", reason=answer.reason) + f" → {say('doctor.llm.too_weak', setting=model)}"


def _reasons(reply: ChatReply) -> bool:
    """Say whether a reply holds reasoning, beside its text or in it."""
    return reply.reasoned or without_reasoning(reply.text) != reply.text.strip()


def _settings_of(settings: LlmSettings, roles: Sequence[ModelRole], part: str) -> str:
    """Return the settings that give these roles their `part`: their own where they have one, else the common one."""
    own = dict.fromkeys(f"{role}_{part}" if getattr(settings, f"{role}_{part}") else part for role in roles)
    return ", ".join(_named(name) for name in own)


def _named(name: str) -> str:
    return f"llm.{name} (MEMSTRATA_LLM_{name.upper()})"
