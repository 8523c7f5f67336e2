"""The way of one request through memory: read, classify, bind, snapshot, ledger, splice; and what its answer leads to.

Whatever goes wrong in here, the request goes on as it came, and says why in a header and in status. Order of the steps:
forms are cut out first, so that nothing behind sees them; who has memory is decided before a command is read; what goes
into the request is durable before it goes out. Source: `reference/proxy.md` §0.2.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from memstrata.clock import Clock, milliseconds
from memstrata.errors import MemstrataError
from memstrata.proxy.binding import Binder, Caller, Form, Unbound
from memstrata.proxy.classify import INJECTED, Verdict, classify, fingerprints
from memstrata.proxy.clients.client import Client
from memstrata.proxy.clients.session import session_of
from memstrata.proxy.clients.spoken import first_spoken, open_question
from memstrata.proxy.commands.answers import Commands, Situation
from memstrata.proxy.commands.parsing import Command, parse
from memstrata.proxy.exchange import Incoming, Prepared
from memstrata.proxy.forms.artefacts import answers_form, strip_forms
from memstrata.proxy.forms.rendering import REASONING, arguments_of
from memstrata.proxy.ledger import Link
from memstrata.proxy.memory_core import MemoryCore
from memstrata.proxy.place import Place
from memstrata.proxy.recalled import RecalledMemory, RecalledRules
from memstrata.proxy.replay import Known, Recall, Replay, TurnOwner
from memstrata.proxy.snapshot import Bridge, Fetch, ProfileTexts, SceneLine, Snapshots
from memstrata.proxy.tokens import BridgeToken, sign_token
from memstrata.proxy.turns import Turns
from memstrata.proxy.usage import UsageBook
from memstrata.proxy.wire.request import Fabricated, ProxyRequest, Reply, Unreadable
from memstrata.proxy.wire.splice import splice
from memstrata.records.proxy import Bound, ProxySession, ShownMemory
from memstrata.store.protocol import Repositories, Store
from memstrata.text.language import main_language

__all__ = ["MemoryRules", "MemoryStep"]

_log = logging.getLogger(__name__)

_TOKEN_DAYS = 180
_COMMAND_MODEL = "memstrata"


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """Switches of the installation. `bridge_url` has no slash at its end, empty for no bridge.

    `recall_agents` names clients besides those of the table that send their history again, and with a minus before the
    name clients that get no memories in their questions.
    """

    recall: bool = True
    write: bool = True
    bridge_url: str = ""
    recalled: RecalledRules = field(default_factory=RecalledRules)
    recall_agents: frozenset[str] = frozenset()

    def recalls_for(self, client: Client) -> bool:
        """Say whether memories may stand in a client's questions."""
        if not self.recall or f"-{client.name}" in self.recall_agents:
            return False
        return client.resends_history or client.name in self.recall_agents


@dataclass(frozen=True, slots=True)
class _Read:
    """A request without its forms, and where it belongs."""

    incoming: Incoming
    original: ProxyRequest
    request: ProxyRequest
    session: ProxySession
    stored: Bound | None
    block: str | None
    seen: tuple[Sequence[Link], Known]
    verdict: Verdict

    @property
    def caller(self) -> Caller:
        return Caller(self.session, self.incoming.user_key, self.incoming.headers)


class MemoryStep:
    """The `Rewriter` that remembers."""

    def __init__(
        self,
        store: Store,
        core: MemoryCore,
        binder: Binder,
        replay: Replay,
        snapshots: Snapshots,
        turns: Turns,
        usage: UsageBook,
        secret: bytes,
        rules: MemoryRules,
        clock: Clock,
    ) -> None:
        self._store = store
        self._core = core
        self._binder = binder
        self._replay = replay
        self._snapshots = snapshots
        self._turns = turns
        self._usage = usage
        self._secret = secret
        self._rules = rules
        self._clock = clock
        self._commands = Commands(store, core, binder, self._refresh, clock)
        self.kinds: Counter[str] = Counter()
        self.bypasses: Counter[str] = Counter()
        self.commands = 0
        self.forms = 0

    async def prepare(self, incoming: Incoming) -> Prepared:
        """Return what becomes of a request. An error of memory's is logged, counted, and forwards it as it came."""
        try:
            prepared = await self._prepare(incoming)
        except Exception as error:  # noqa: BLE001 - invariant 12: the request goes on
            _log.exception("memory failed, the request goes on as it came")
            prepared = Prepared(incoming.body, "main", f"memory failed ({type(error).__name__})")
        self.kinds[prepared.kind] += 1
        if prepared.bypass:
            self.bypasses[_plain(prepared.bypass)] += 1
        return prepared

    async def _prepare(self, incoming: Incoming) -> Prepared:
        try:
            original = incoming.wire.read(incoming.body)
            forms = strip_forms(original)
            request = incoming.wire.read(splice(incoming.body, forms)) if forms else original
        except Unreadable as error:
            return Prepared(incoming.body, "auxiliary", f"the body could not be read: {error}")
        name = session_of(incoming.client, incoming.headers, request)
        if name is None:
            verdict = classify(request, incoming.headers, incoming.client, incoming.suffix, None)
            return self._without(incoming, request, verdict.kind, "it names no session")
        session = ProxySession(incoming.instance, incoming.user, incoming.client.name, name.value)
        links = self._replay.links(request, incoming.client)
        looking = self._replay.looking(session, links)
        # One look at the store for every request: binding, system block, ledger.
        try:
            stored, block, known = await self._replay.again(lambda r: (*_kept(r, session), looking(r)))
        except MemstrataError:
            if not incoming.counting:
                self._replay.went_bare(session, links)
            raise
        verdict = classify(
            request, incoming.headers, incoming.client, incoming.suffix, None if stored is None else stored.main
        )
        read = _Read(incoming, original, request, session, stored, block, (links, known), verdict)
        if verdict.kind not in INJECTED:
            return self._without(incoming, request, verdict.kind, verdict.reason)
        return await self._injected(read)

    async def _injected(self, read: _Read) -> Prepared:
        incoming, request = read.incoming, read.request
        main = read.verdict.kind == "main" and not incoming.counting
        command = parse(open_question(request, incoming.client)) if main else None
        answered = answers_form(read.original)
        if command is not None and command.name == "bind" and not command.arguments and not answered:
            await self._binder.reopen(read.session, read.stored)
            read = replace(read, stored=await self._store.read(lambda r: r.proxy.bindings.read(read.session)))
        if main:
            outcome = await self._binder.resolve(read.caller, read.stored, read.original, incoming.client)
        else:
            outcome = await self._binder.bound(read.caller, read.stored) or Unbound("its session has no memory yet")
        if isinstance(outcome, Form):
            return self._form(read, outcome)
        if command is not None:
            return await self._command(read, command, outcome)
        if isinstance(outcome, Unbound):
            return self._without(incoming, request, read.verdict.kind, outcome.reason)
        return await self._with_memory(read, outcome, main=main)

    async def _with_memory(self, read: _Read, bound: Bound, *, main: bool) -> Prepared:
        incoming, request, session = read.incoming, read.request, read.session
        place = Place.of(session, bound)
        block = await self._block(read, bound, may_make=main)
        edits = list(incoming.wire.place_system(request, block)) if block else []
        # What was put into a message must be put there again, so a client that does not send it again gets nothing there.
        recalls = main and not bound.recall_off and self._rules.recalls_for(incoming.client)
        settled = await self._replay.settle(
            session,
            request,
            incoming.wire,
            incoming.client,
            recall=self._recall(place) if recalls else None,
            owner=TurnOwner(bound.team, bound.agent, bound.task) if self._writes(bound) and main else None,
            only_look=incoming.counting,
            # A session that was bound just now may go on from another one, which only its binding tells.
            seen=read.seen if read.stored is not None and read.stored.outcome == "bound" else None,
        )
        for at, recalled in settled.blocks:
            edits += incoming.wire.place_recalled(request, at, recalled)
        body = splice(request.body, edits)
        watch = _Watch(self, read, settled.turn, main) if not incoming.counting else None
        bypass = settled.fault or ("memory is off in this session" if bound.recall_off else "")
        return Prepared(body, read.verdict.kind, bypass, None, watch, request.model)

    async def _block(self, read: _Read, bound: Bound, *, may_make: bool) -> str:
        if read.block is not None or not may_make:
            return read.block or ""
        return await self._snapshots.of(read.session, self._fetch(read.caller, bound), self._bridge(read.session))

    def _fetch(self, caller: Caller, bound: Bound) -> Fetch:
        place = Place.of(caller.session, bound)

        async def fetch() -> ProfileTexts:
            found = await self._core.profile(place, caller.user_key)
            lines = [
                SceneLine(one.path, one.summary, one.heat, "" if one.updated_at is None else one.updated_at.isoformat())
                for one in found.scenes
            ]
            return ProfileTexts("" if found.persona is None else found.persona.content, lines)

        return fetch

    def _recall(self, place: Place) -> Recall:
        rules = self._rules.recalled

        async def recall(query: str) -> Sequence[RecalledMemory]:
            return await self._core.recall(place, query, rules.max_memories, rules.budget_seconds)

        return recall

    def _bridge(self, session: ProxySession) -> Bridge | None:
        if not self._rules.bridge_url:
            return None
        until = self._clock.now() + milliseconds(_TOKEN_DAYS * 86_400)
        token = BridgeToken(session.instance, session.user, session.client, session.session, until)
        return Bridge(self._rules.bridge_url, sign_token(token, self._secret))

    async def _refresh(self, caller: Caller, bound: Bound) -> None:
        await self._snapshots.renew(caller.session, self._fetch(caller, bound), self._bridge(caller.session))

    def _writes(self, bound: Bound) -> bool:
        return self._rules.write and not bound.write_off

    def _form(self, read: _Read, form: Form) -> Prepared:
        self.forms += 1
        incoming, tool = read.incoming, form.tool
        answer = incoming.wire.ask(
            tool.name,
            arguments_of(form.asking, tool),
            stream=read.request.stream,
            model=read.request.model,
            ident=form.asking.call_id,
            reasoning=REASONING if tool.shape == "dsh" else "",
        )
        return Prepared(incoming.body, "main", "a form asks whose memory this is", answer, None, read.request.model)

    async def _command(self, read: _Read, command: Command, outcome: Bound | Unbound) -> Prepared:
        self.commands += 1
        incoming, request = read.incoming, read.request
        if command.name == "status":
            await self._usage.flush()  # what the last second cost is asked for too
        language = main_language([first_spoken(request, incoming.client)])
        situation = Situation(
            caller=read.caller,
            bound=outcome if isinstance(outcome, Bound) else None,
            reason=outcome.reason if isinstance(outcome, Unbound) else "",
            shown=self._shown(read),
            language="zh" if language == "zh" else "en",
        )
        text = await self._commands.answer(command, situation)
        return Prepared(
            incoming.body, "main", "a command is answered here", self._said(read, text), None, request.model
        )

    def _said(self, read: _Read, text: str) -> Fabricated:
        request = read.request
        ident = f"memstrata-{self._clock.now()}"
        return read.incoming.wire.answer(
            text, stream=request.stream, model=request.model or _COMMAND_MODEL, ident=ident
        )

    def _shown(self, read: _Read) -> tuple[ShownMemory, ...]:
        """Return what was brought back with the newest question before this one."""
        links, known = read.seen
        chains = [link.chain for link in reversed(links)]
        return next(
            (known.entries[one].shown for one in chains if one in known.entries and known.entries[one].shown), ()
        )

    def _without(self, incoming: Incoming, request: ProxyRequest, kind: str, reason: str) -> Prepared:
        watch = (
            None if incoming.counting else _Watch(self, None, "", main=False, incoming=incoming, model=request.model)
        )
        return Prepared(request.body, kind, reason, None, watch, request.model)

    async def finished(self, read: _Read, turn: str, status: int, reply: Reply | None, *, main: bool) -> None:
        """Take the end of a request that went out with memory."""
        answered = 200 <= status < 300 and reply is not None
        if turn and answered and reply is not None:
            await self._turns.answered(read.session, turn, read.request, reply)
        if main and answered:
            await self._note_main(read)

    async def _note_main(self, read: _Read) -> None:
        seen = fingerprints(read.request, read.incoming.client)
        if read.stored is not None and read.stored.main == seen:
            return
        now = self._clock.now()

        def note(r: Repositories) -> None:
            r.proxy.bindings.note_main(read.session, seen, now)

        await self._store.write(note)

    def note_usage(self, incoming: Incoming, model: str, reply: Reply) -> None:
        """Count what a request cost."""
        self._usage.note(incoming.instance, incoming.user, model, reply.usage)


class _Watch:
    """What a request's end leads to, whatever it was."""

    def __init__(
        self,
        step: MemoryStep,
        read: _Read | None,
        turn: str,
        main: bool,
        *,
        incoming: Incoming | None = None,
        model: str = "",
    ) -> None:
        self._step = step
        self._read = read
        self._turn = turn
        self._main = main
        self._incoming = incoming if incoming is not None else (read.incoming if read is not None else None)
        self._model = model if read is None else read.request.model

    async def finished(self, status: int, reply: Reply | None) -> None:
        try:
            if reply is not None and 200 <= status < 300 and self._incoming is not None:
                self._step.note_usage(self._incoming, self._model, reply)
            if self._read is not None:
                await self._step.finished(self._read, self._turn, status, reply, main=self._main)
        except Exception:  # noqa: BLE001 - the client has its answer; nobody is left to tell
            self._step.bypasses["what was answered could not be kept"] += 1
            _log.exception("the end of a request could not be kept")


def _kept(r: Repositories, session: ProxySession) -> tuple[Bound | None, str | None]:
    """Return the binding and the system block of a session, in one go: every request of it waits for them."""
    snapshot = r.proxy.snapshots.read(session)
    return r.proxy.bindings.read(session), None if snapshot is None else snapshot.block.decode()


def _plain(reason: str) -> str:
    """Return a reason as a counter's name: without what a request may have put into it."""
    return reason.partition(":")[0]
