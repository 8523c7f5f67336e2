"""Whose memory a session has, in this order: headers, what was bound before, the user's default, a form.

Only three things last: bound, declined, and a form that is open. Whatever else stands in the way (a core that does not
answer, a client that cannot ask, a header that names nothing) concerns one request, is named, and is tried again with the
next. Source: `reference/proxy.md` §3, §4; `reference/user-needs.md` B40.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from memstrata.client import Forbidden, MemstrataClientError, NotFound
from memstrata.clock import Clock
from memstrata.proxy.choices import Choices
from memstrata.proxy.clients.client import Client, QuestionTool
from memstrata.proxy.clients.spoken import first_spoken, open_question
from memstrata.proxy.forms.artefacts import form_answer
from memstrata.proxy.forms.machine import (
    Ask,
    Asking,
    Bind,
    Decline,
    NeedTeam,
    Offer,
    Postpone,
    Step,
    answered,
    begin,
    resumed,
)
from memstrata.proxy.forms.words import FormLanguage
from memstrata.proxy.wire.request import ProxyRequest
from memstrata.records.proxy import Bound, DefaultBinding, ProxySession
from memstrata.store.protocol import Store
from memstrata.text.language import main_language

__all__ = ["Binder", "BindingRules", "Caller", "Form", "Outcome", "Unbound"]

_log = logging.getLogger(__name__)

_MOST_SENT = 3  # times a form is shown that gets no answer
_TEAM, _AGENT, _TASK = "x-team-id", "x-agent-id", "x-task-id"


@dataclass(frozen=True, slots=True)
class BindingRules:
    """`forms`: may a form be shown; `always_consent`: also where there is nothing to choose.

    `fallback` is for a proxy in front of a core without keys, where nobody has teams: all sessions belong to it.
    """

    forms: bool = True
    always_consent: bool = False
    fallback: DefaultBinding | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: `user_key` is empty in front of a core without keys. `headers` have lower-case names."""

    session: ProxySession
    user_key: str
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Form:
    """Answer the client with this form, through this tool of its own."""

    asking: Asking
    tool: QuestionTool


@dataclass(frozen=True, slots=True)
class Unbound:
    """No memory for this request, and why."""

    reason: str


Outcome = Bound | Form | Unbound


class Binder:
    """Decides and keeps what sessions are bound to. Raises the store's errors; the core's become `Unbound`."""

    def __init__(self, store: Store, choices: Choices, rules: BindingRules, clock: Clock) -> None:
        self._store = store
        self._choices = choices
        self._rules = rules
        self._clock = clock

    async def bound(self, caller: Caller, stored: Bound | None) -> Outcome | None:
        """Return what follows from headers and from what is stored, None where nothing does yet. Asks nobody new."""
        preset = _preset(caller.headers)
        if preset is not None and (stored is None or not _agrees(stored, preset)):
            return await self._by_headers(caller, stored, preset)
        if stored is not None and stored.outcome == "bound":
            return stored
        if stored is not None and stored.outcome == "declined":
            return Unbound("memory was declined in this session; mem:bind asks again")
        return None

    async def resolve(self, caller: Caller, stored: Bound | None, request: ProxyRequest, client: Client) -> Outcome:
        """Return what a main request of a session leads to. `request` still has its forms in it."""
        decided = await self.bound(caller, stored)
        if decided is not None:
            return decided
        try:
            if stored is not None and stored.outcome == "asking":
                return await self._answered(caller, stored, request, client)
            return await self._begin(caller, stored, request, client)
        except MemstrataClientError as error:
            _log.warning("a session could not be bound: %s", type(error).__name__)
            return Unbound(f"the core could not be asked ({type(error).__name__})")

    async def reopen(self, session: ProxySession, stored: Bound | None) -> None:
        """Unbind a session, so that its next question is asked again."""
        if stored is not None:
            await self._put(session, stored, replace(stored, outcome="asking", team="", agent="", task="", form=b""))

    async def bind_to(self, caller: Caller, stored: Bound | None, place: DefaultBinding) -> Outcome:
        """Bind a session to what its user names, as headers do."""
        return await self._by_headers(caller, stored, place)

    async def _by_headers(self, caller: Caller, stored: Bound | None, preset: DefaultBinding) -> Outcome:
        instance = caller.session.instance
        try:
            if caller.user_key:
                team = await self._choices.team_of(instance, caller.user_key, preset.agent)
                if preset.team and team != preset.team:
                    return Unbound("the agent that was named is not in the team that was named")
                preset = replace(preset, team=team)
                if preset.task and await self._choices.team_of_task(instance, caller.user_key, preset.task) != team:
                    return Unbound("the task that was named is not in the agent's team")
        except (NotFound, Forbidden):
            return Unbound("the agent or the task that was named is none that this user may use")
        except MemstrataClientError as error:
            _log.warning("a session's headers could not be checked: %s", type(error).__name__)
            return Unbound(f"the core could not be asked ({type(error).__name__})")
        if not preset.team:
            return Unbound("an agent was named without its team")
        return await self._bind(caller, stored, Bind(preset.team, preset.agent, preset.task))

    async def _begin(self, caller: Caller, stored: Bound | None, request: ProxyRequest, client: Client) -> Outcome:
        session = caller.session
        if not caller.user_key:
            if self._rules.fallback is None:
                return Unbound("nobody said whose memory this session has")
            return await self._bind(caller, stored, Bind(*_parts(self._rules.fallback)))
        default = await self._store.read(lambda r: r.proxy.bindings.default(session.instance, session.user))
        if default is not None:
            return await self._by_headers(caller, stored, default)
        offer = await self._offer(caller, "")
        if len(offer.teams) == 1:
            offer = await self._offer(caller, offer.teams[0].id)
        tool = _offered(client, request) if self._rules.forms else None
        if tool is None:
            return await self._without_form(caller, stored, offer)
        if not open_question(request, client):
            return Unbound("a form waits for the next question")
        if stored is None and any(said.role == "assistant" for said in request.messages):
            return Unbound("the conversation began without memory; mem:bind asks whose it should have")
        language: FormLanguage = "zh" if main_language([first_spoken(request, client)]) == "zh" else "en"
        step = begin(offer, tool, language, always_consent=self._rules.always_consent)
        return await self._take(caller, stored, step, tool)

    async def _without_form(self, caller: Caller, stored: Bound | None, offer: Offer) -> Outcome:
        """Bind where there is no choice; say what to do where there is one and nobody can be asked."""
        if offer.agents is not None and len(offer.agents) == 1 and len(offer.tasks or ()) <= 1:
            task = offer.tasks[0].id if offer.tasks else ""
            return await self._bind(caller, stored, Bind(offer.teams[0].id, offer.agents[0].id, task))
        return Unbound("the client cannot ask whose memory this is; set x-agent-id, or type mem:bind team/agent")

    async def _answered(self, caller: Caller, stored: Bound, request: ProxyRequest, client: Client) -> Outcome:
        tool = _offered(client, request)
        asking = _asking(stored.form)
        if asking is None:
            return await self._begin(caller, stored, request, client)
        if tool is None:
            return Unbound("the client does not offer the tool that its form was sent with")
        result = form_answer(request, asking.call_id)
        if result is None:
            if not open_question(request, client):
                return Unbound("a form waits for its answer")
            if asking.sent >= _MOST_SENT:
                return await self._take(caller, stored, Decline("the form got no answer"), tool)
            again = replace(asking, sent=asking.sent + 1)
            return await self._take(caller, stored, Ask(again), tool, fresh=False)
        offer = await self._offer(caller, asking.team)
        return await self._take(caller, stored, answered(asking, result, offer, tool), tool)

    async def _take(
        self, caller: Caller, stored: Bound | None, step: Step, tool: QuestionTool, *, fresh: bool = True
    ) -> Outcome:
        while isinstance(step, NeedTeam):
            offer = await self._offer(caller, step.team)
            step = resumed(step.asking, offer, tool, always_consent=self._rules.always_consent)
        if isinstance(step, Bind):
            return await self._bind(caller, stored, step)
        if isinstance(step, Ask):
            asking = step.asking
            if fresh:
                call_id = f"{tool.call_prefix}{asking.questions[0].key}_{asking.page}_{secrets.token_hex(6)}"
                asking = replace(asking, call_id=call_id, sent=1)
            kept = replace(stored or Bound("asking"), outcome="asking", form=msgspec.json.encode(asking))
            return await self._put(caller.session, stored, kept) or Form(asking, tool)
        if isinstance(step, Decline):
            kept = replace(stored or Bound("declined"), outcome="declined", form=b"")
            return await self._put(caller.session, stored, kept) or Unbound(step.reason)
        return await self._postponed(caller.session, stored, step)

    async def _postponed(self, session: ProxySession, stored: Bound | None, step: Postpone) -> Outcome:
        if stored is not None and stored.form:
            await self._put(session, stored, replace(stored, form=b""))
        return Unbound(step.reason)

    async def _bind(self, caller: Caller, stored: Bound | None, step: Bind) -> Outcome:
        bound = replace(
            stored or Bound("asking"), outcome="bound", team=step.team, agent=step.agent, task=step.task, form=b""
        )
        other = await self._put(caller.session, stored, bound)
        if other is not None:
            return other
        if caller.user_key and step.task:
            await self._note(caller, step)
        return bound

    async def _note(self, caller: Caller, step: Bind) -> None:
        session = caller.session
        try:
            await self._choices.note(session.instance, session.user, caller.user_key, step.team, step.agent, step.task)
        except MemstrataClientError as error:
            _log.warning("a participation was not written down: %s", type(error).__name__)

    async def _put(self, session: ProxySession, stored: Bound | None, bound: Bound) -> Outcome | None:
        """Keep a binding. Return None, or what another request made of the session in the meantime."""
        version = 0 if stored is None else stored.version
        now = self._clock.now()
        if await self._store.write(lambda r: r.proxy.bindings.put(session, bound, version, now)):
            return None
        theirs = await self._store.read(lambda r: r.proxy.bindings.read(session))
        if theirs is not None and theirs.outcome == "bound":
            return theirs
        return Unbound("another request of the session is being bound")

    async def _offer(self, caller: Caller, team: str) -> Offer:
        instance, user, key = caller.session.instance, caller.session.user, caller.user_key
        teams = await self._choices.teams(instance, user, key)
        if not team:
            return Offer(teams)
        agents = await self._choices.agents(instance, user, key, team)
        return Offer(teams, agents, await self._choices.tasks(instance, user, key, team))


def _preset(headers: Mapping[str, str]) -> DefaultBinding | None:
    agent = headers.get(_AGENT, "").strip()
    return DefaultBinding(headers.get(_TEAM, "").strip(), agent, headers.get(_TASK, "").strip()) if agent else None


def _agrees(stored: Bound, preset: DefaultBinding) -> bool:
    """Say whether headers name what a session is bound to already; what they leave out may be anything."""
    return (
        stored.outcome == "bound"
        and stored.agent == preset.agent
        and preset.team in ("", stored.team)
        and preset.task in ("", stored.task)
    )


def _parts(binding: DefaultBinding) -> tuple[str, str, str]:
    return binding.team, binding.agent, binding.task


def _offered(client: Client, request: ProxyRequest) -> QuestionTool | None:
    return next((tool for tool in client.questions if tool.name in request.tools), None)


def _asking(form: bytes) -> Asking | None:
    """Return the form that the store kept, None for none and for one of another version, which is asked anew."""
    try:
        return msgspec.json.decode(form, type=Asking) if form else None
    except msgspec.MsgspecError:
        _log.warning("a form of another version is asked again")
        return None
