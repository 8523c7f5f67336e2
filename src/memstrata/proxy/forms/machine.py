"""Where a form stands and what comes next: consent, team, agent, task; each asked only where there is a choice. Pure.

A state is a value that the store keeps, with the options as they were shown, so that a restart, another node or a request
of another kind in between changes nothing. Declined is for good until the user asks again; what could not be asked is
tried again with the next question. Source: `reference/proxy.md` §4.3, §4.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from memstrata.proxy.clients.client import QuestionTool
from memstrata.proxy.forms.answers import read_answer
from memstrata.proxy.forms.pages import MORE, NONE, Choice, Option, page_of
from memstrata.proxy.forms.words import FormLanguage, form_words

__all__ = [
    "Ask",
    "Asking",
    "Bind",
    "Decline",
    "NeedTeam",
    "Offer",
    "Postpone",
    "Question",
    "Stage",
    "Step",
    "answered",
    "begin",
    "resumed",
]

Stage: TypeAlias = Literal["consent", "team", "agent", "task"]
MOST_TRIES = 3


@dataclass(frozen=True, slots=True)
class Offer:
    """What there is to choose from: teams; and agents and tasks of one team once that is known, None before."""

    teams: tuple[Choice, ...]
    agents: tuple[Choice, ...] | None = None
    tasks: tuple[Choice, ...] | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a form: `key` is its id on the wire."""

    key: Stage
    header: str
    text: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Asking:
    """A form that waits for its answer. `call_id` is given to it when it is sent; `sent` counts how often it was."""

    questions: tuple[Question, ...]
    page: int = 0
    tries: int = 0
    consented: bool = False
    team: str = ""
    agent: str = ""
    language: FormLanguage = "en"
    call_id: str = ""
    sent: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this form."""

    asking: Asking


@dataclass(frozen=True, slots=True)
class NeedTeam:
    """The agents and tasks of this team have to be looked up before anything else."""

    team: str
    asking: Asking


@dataclass(frozen=True, slots=True)
class Bind:
    """The session has its memory; `task` may be empty."""

    team: str
    agent: str
    task: str


@dataclass(frozen=True, slots=True)
class Decline:
    """The user wants no memory here."""

    reason: str


@dataclass(frozen=True, slots=True)
class Postpone:
    """It could not be asked or there is nothing to choose: this request goes without, the next one tries again."""

    reason: str


Step: TypeAlias = Ask | NeedTeam | Bind | Decline | Postpone


def begin(offer: Offer, tool: QuestionTool, language: FormLanguage, *, always_consent: bool = False) -> Step:
    """Return the first step of a session that is bound to nothing yet.

    Where there is one team, one agent and at most one task, the session is bound to them and nobody is asked, unless
    `always_consent`.
    """
    if not offer.teams:
        return Postpone("the user is in no team")
    asking = Asking((), language=language, team=offer.teams[0].id if len(offer.teams) == 1 else "")
    if asking.team and offer.agents is None:
        return NeedTeam(asking.team, asking)
    if asking.team and offer.agents is not None:
        if not offer.agents:
            return Postpone("the team has no agent")
        tasks = offer.tasks or ()
        if len(offer.agents) == 1 and len(tasks) <= 1 and not always_consent:
            return Bind(asking.team, offer.agents[0].id, tasks[0].id if tasks else NONE)
        if tool.several_questions and _fits(offer, tool):
            return _single_form(asking, offer, tool)
    return Ask(replace(asking, questions=(_consent(language),)))


def answered(asking: Asking, result: str, offer: Offer, tool: QuestionTool) -> Step:
    """Return the step after the answer to a form. `result` is the text of its tool result, with the form's own id."""
    for question in asking.questions:
        answer = read_answer(result, question.text, question.key, question.options)
        if answer.kind == "unavailable":
            return Postpone("the client could not show the question")
        if answer.kind == "declined":
            return Decline("the user declined")
        if answer.option is None:
            return _again(asking)
        if answer.option.id == MORE:
            return _page(asking, question.key, asking.page + 1, offer, tool)
        if question.key == "consent":
            if answer.option.id == "no":
                return Decline("the user declined")
            asking = replace(asking, consented=True)
        elif question.key == "team":
            asking = replace(asking, team=answer.option.id)
        elif question.key == "agent":
            asking = replace(asking, agent=answer.option.id)
        else:
            return Bind(asking.team, asking.agent, answer.option.id)
    return _onward(replace(asking, questions=(), page=0, tries=0), offer, tool)


def resumed(asking: Asking, offer: Offer, tool: QuestionTool, *, always_consent: bool = False) -> Step:
    """Return the step after `NeedTeam`, now that the team's agents and tasks are in the offer."""
    if asking.consented:
        return _onward(asking, offer, tool)
    return begin(offer, tool, asking.language, always_consent=always_consent)


def _onward(asking: Asking, offer: Offer, tool: QuestionTool) -> Step:
    if not asking.team:
        if len(offer.teams) != 1:
            return _page(asking, "team", 0, offer, tool) if offer.teams else Postpone("the user is in no team")
        asking = replace(asking, team=offer.teams[0].id)
    if offer.agents is None:
        return NeedTeam(asking.team, asking)
    if not asking.agent:
        if len(offer.agents) != 1:
            return _page(asking, "agent", 0, offer, tool) if offer.agents else Postpone("the team has no agent")
        asking = replace(asking, agent=offer.agents[0].id)
    tasks = offer.tasks or ()
    if len(tasks) <= 1:
        return Bind(asking.team, asking.agent, tasks[0].id if tasks else NONE)
    return _page(asking, "task", 0, offer, tool)


def _again(asking: Asking) -> Step:
    if asking.tries + 1 >= MOST_TRIES:
        return Decline(f"{MOST_TRIES} answers were none of the choices")
    again = form_words(asking.language).again
    questions = tuple(replace(one, text=again + one.text.removeprefix(again)) for one in asking.questions)
    return Ask(replace(asking, questions=questions, tries=asking.tries + 1))


def _page(asking: Asking, stage: Stage, page: int, offer: Offer, tool: QuestionTool) -> Step:
    question = _question(stage, page, offer, tool, asking.language)
    return Ask(replace(asking, questions=(question,), page=page, tries=0))


def _fits(offer: Offer, tool: QuestionTool) -> bool:
    most = tool.most_options or len(offer.agents or ()) + len(offer.tasks or ()) + 1
    return len(offer.agents or ()) <= most and len(offer.tasks or ()) + 1 <= most


def _single_form(asking: Asking, offer: Offer, tool: QuestionTool) -> Step:
    """Ask everything at once, where a client takes several questions and no list has to be paged."""
    questions = [_consent(asking.language)]
    if len(offer.agents or ()) > 1:
        questions.append(_question("agent", 0, offer, tool, asking.language))
    if len(offer.tasks or ()) > 1:
        questions.append(_question("task", 0, offer, tool, asking.language))
    agent = offer.agents[0].id if offer.agents and len(offer.agents) == 1 else ""
    return Ask(replace(asking, questions=tuple(questions), agent=agent))


def _consent(language: FormLanguage) -> Question:
    words = form_words(language)
    options = (Option("yes", words.yes, words.yes_about), Option("no", words.no, words.no_about))
    return Question("consent", words.consent_header, words.consent, options)


def _question(stage: Stage, page: int, offer: Offer, tool: QuestionTool, language: FormLanguage) -> Question:
    words = form_words(language)
    choices: Sequence[Choice]
    if stage == "team":
        header, text, choices = words.team_header, words.team, offer.teams
    elif stage == "agent":
        header, text, choices = words.agent_header, words.agent, offer.agents or ()
    else:
        header, text, choices = words.task_header, words.task, (Choice(NONE, ""), *(offer.tasks or ()))
    return Question(stage, header, text + words.hint, page_of(choices, page, tool.most_options, words))
