"""What a command does and says. Every answer is a text; a core that cannot be asked becomes one too.

A command never reaches the model and is never remembered. Source: `reference/proxy.md` §10.1.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from memstrata.client import MemstrataClientError
from memstrata.clock import Clock, day_of, to_iso
from memstrata.proxy.binding import Binder, Caller, Unbound
from memstrata.proxy.commands.parsing import Command
from memstrata.proxy.commands.words import CommandLanguage, CommandWords, command_words
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.place import Place
from memstrata.records.proxy import Bound, DefaultBinding, ProxySession, ProxyUsage, ShownMemory, TurnCounts
from memstrata.store.protocol import Repositories, Store

__all__ = ["Commands", "Situation"]

_log = logging.getLogger(__name__)

_MEMORY_ID = re.compile(r"m_\d{13,16}_[0-9a-f]{8}\Z")
_MOST_FOUND = 5
_MOST_SHOWN = 200  # characters of one memory or message

Refresh = Callable[[Caller, Bound], Awaitable[None]]
"""Takes a session's snapshot anew."""


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a command was typed. `bound` is None where the session has no memory, `reason` says why then.

    `shown` is what was brought back with the question before it.
    """

    caller: Caller
    bound: Bound | None
    reason: str
    shown: Sequence[ShownMemory]
    language: CommandLanguage


class Commands:
    """Carries out commands. Raises the store's errors alone."""

    def __init__(self, store: Store, core: MemoryCore, binder: Binder, refresh: Refresh, clock: Clock) -> None:
        self._store = store
        self._core = core
        self._binder = binder
        self._refresh = refresh
        self._clock = clock

    async def answer(self, command: Command, situation: Situation) -> str:
        """Do what a command says and return what the user is told."""
        words = command_words(situation.language)
        if command.name == "help":
            return words.help
        if command.name is None:
            return words.unknown.format(word=command.word[:40], help=words.help)
        try:
            if command.name == "status":
                return await self._status(situation, words)
            if command.name == "bind":
                return await self._bind(command.arguments, situation, words)
            if situation.bound is None:
                return words.nothing.format(reason=situation.reason)
            return await self._of_bound(command, situation, situation.bound, words)
        except MemstrataClientError as error:
            _log.warning("mem:%s failed: %s", command.name, type(error).__name__)
            return words.failed.format(reason=type(error).__name__)

    async def _of_bound(self, command: Command, situation: Situation, bound: Bound, words: CommandWords) -> str:
        if command.name in ("off", "on"):
            return await self._switch(situation, bound, words, off=command.name == "off")
        if command.name == "sync":
            await self._refresh(situation.caller, bound)
            return words.synced
        if command.name == "why":
            return await self._why(situation, bound, words)
        return await self._forget(command.arguments, situation, bound, words)

    async def _status(self, situation: Situation, words: CommandWords) -> str:
        session, bound = situation.caller.session, situation.bound
        if bound is None:
            return words.nothing.format(reason=situation.reason)
        today = day_of(self._clock.now())

        def look(r: Repositories) -> tuple[int | None, TurnCounts, Sequence[ProxyUsage]]:
            snapshot = r.proxy.snapshots.read(session)
            lines = r.proxy.usage.lines(session.instance, today, today, session.user)
            return None if snapshot is None else snapshot.created_at, r.proxy.turns.counts(session.instance), lines

        taken_at, turns, usage = await self._store.read(look)
        spent = [line.tokens for line in usage]
        task = bound.task or words.no_task
        return "\n".join(
            (
                words.bound.format(team=bound.team, agent=bound.agent, task=task, session=session.session),
                words.is_off if bound.recall_off else words.is_on,
                words.no_snapshot if taken_at is None else words.snapshot.format(time=to_iso(taken_at)),
                words.waiting.format(ready=turns.by_state.get("ready", 0), parked=turns.by_state.get("parked", 0)),
                words.usage.format(
                    requests=sum(one.requests for one in spent),
                    input=sum(one.input + one.cache_read + one.cache_write for one in spent),
                    cached=sum(one.cache_read for one in spent),
                    output=sum(one.output for one in spent),
                ),
            )
        )

    async def _bind(self, arguments: str, situation: Situation, words: CommandWords) -> str:
        if arguments:
            team, _, rest = arguments.partition("/")
            agent, _, task = rest.partition("/")
            place = DefaultBinding(team.strip(), agent.strip(), task.strip())
            if not place.agent:
                return words.not_bound.format(reason="team/agent")
            stored = await self._store.read(lambda r: r.proxy.bindings.read(situation.caller.session))
            outcome = await self._binder.bind_to(situation.caller, stored, place)
            if isinstance(outcome, Unbound):
                return words.not_bound.format(reason=outcome.reason)
            if isinstance(outcome, Bound):
                situation = replace(situation, bound=outcome, reason="")
        return await self._status(situation, words)

    async def _switch(self, situation: Situation, bound: Bound, words: CommandWords, *, off: bool) -> str:
        session = situation.caller.session
        now = self._clock.now()

        def switch(r: Repositories) -> None:
            current = r.proxy.bindings.read(session) or bound
            r.proxy.bindings.put(session, replace(current, recall_off=off, write_off=off), current.version, now)

        await self._store.write(switch)
        return words.switched_off if off else words.switched_on

    async def _why(self, situation: Situation, bound: Bound, words: CommandWords) -> str:
        if not situation.shown:
            return words.why_nothing
        client = self._core.at(Place.of(situation.caller.session, bound), situation.caller.user_key)
        lines = []
        for one in situation.shown[:_MOST_FOUND]:
            evidence = await client.trace(one.memory_id)
            lines.append(f"- {one.memory_id}: {_short(evidence.memory.content)}")
            lines += [
                f"  {words.why_from.format(said=_short(message.content))}"
                for message in evidence.messages[:_MOST_FOUND]
            ]
        return words.why.format(lines="\n".join(lines))

    async def _forget(self, arguments: str, situation: Situation, bound: Bound, words: CommandWords) -> str:
        session, key = situation.caller.session, situation.caller.user_key
        place = Place.of(session, bound)
        ids = arguments.split()
        if ids and all(_MEMORY_ID.match(one) for one in ids):
            count = await self._core.forget(place, ids, key)
            await self._cut(session, ids)
            return words.forgotten.format(count=count)
        found = await self._core.memories(place, arguments, _MOST_FOUND) if arguments else ()
        if not found:
            return words.found_none
        return words.found.format(lines="\n".join(f"- {one.id}: {_short(one.content)}" for one in found))

    async def _cut(self, session: ProxySession, ids: Sequence[str]) -> None:
        """Take what was forgotten out of the running conversation too; the provider's cache begins again there."""
        await self._store.write(lambda r: r.proxy.ledger.cut(session, ids))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 1]}…"
