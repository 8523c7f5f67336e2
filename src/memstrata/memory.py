"""The library: one object that introduces the rooms to each other and offers their verbs.

The HTTP server is a thin skin over it, so what can be done over the wire can be done in process. Long for a module, because
it is the list of all verbs; each is a few lines that hand on to the room that does it.

    async with Memory.open("./memories") as memory:
        scope = Scope("default", team="home", agent="assistant", user="lin")
        await memory.add(scope, "monday", [MessageInput("user", "以后推荐菜谱都要注明过敏原")])
        await memory.flush(scope)
        print((await memory.recall(scope, "晚饭做什么")).prepend_context)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar, get_args

from memstrata.audit import AuditTrail, changes
from memstrata.capture import MessageInput, Redaction, append
from memstrata.clock import Clock, Instant, SystemClock, day_of, milliseconds, zone_of
from memstrata.directory import Directory
from memstrata.distill.atoms.step import AtomsStep
from memstrata.distill.choice import Chosen, chosen_distiller
from memstrata.distill.cleaned import CleanedDistiller
from memstrata.distill.edits import corrected_memory, created_scene, edited_persona, edited_scene, refusal
from memstrata.distill.persona.step import PersonaStep
from memstrata.distill.protocol import Distiller
from memstrata.distill.run import StepContext
from memstrata.distill.scenes.names import check_path, check_prefix
from memstrata.distill.scenes.navigation import render_navigation
from memstrata.distill.scenes.step import ScenesStep
from memstrata.distill.undo import restored_persona, restored_scene, undone_memory
from memstrata.errors import Conflict, InvalidRequest, NotFound
from memstrata.forgetting import Forgetter, PolicyBook, Retention, ScanReport, SecretScan
from memstrata.provenance import GenerationLog, PromptBook
from memstrata.provenance.history import document_history, memory_history
from memstrata.provenance.trace import memory_evidence, persona_evidence, scene_evidence
from memstrata.recall import Leg, Recaller
from memstrata.records import (
    PERSONA_PATH,
    ComponentHealth,
    Deletion,
    Document,
    DocumentVersion,
    Evidence,
    Found,
    Health,
    JobKind,
    LayerLoad,
    Lease,
    MemoryRecord,
    MemoryVersion,
    Message,
    Page,
    PersonaEvidence,
    PipelineStatus,
    Poison,
    Profile,
    Recall,
    Receipt,
    Retry,
    SceneEvidence,
    Scope,
    SessionTarget,
    Spending,
    budget_state,
)
from memstrata.records.audit import Change
from memstrata.records.forgetting import Forgetting, ForgettingReceipt, Forgotten
from memstrata.records.proxy import ProxyUsage
from memstrata.schedule import Arming, Engine, Handler, Housekeeping, PolicyPlanner, flush_step, layer_statuses
from memstrata.search import MAX_NEIGHBOURS, MEMORIES, MESSAGES, Finder, Meaning, with_neighbours
from memstrata.settings import Settings, load_settings
from memstrata.store.audit import audited
from memstrata.store.mirror import Mirror
from memstrata.store.protocol import Repositories, Store
from memstrata.store.rebuild import RebuildReport, rebuild_from_files
from memstrata.store.shapes import Coverage, MemoryFilter, MessageFilter, VectorKind
from memstrata.store.sqlite.store import SqliteStore
from memstrata.text.analyser import index_terms
from memstrata.text.language import main_language
from memstrata.text.wellformed import well_formed
from memstrata.transfer.archive import Archives
from memstrata.vectors.factory import embedder_of
from memstrata.vectors.protocol import Embedder

__all__ = ["Cleared", "Memory", "MessageInput", "Scope", "rebuild"]

T = TypeVar("T")
_LOG = logging.getLogger(__name__)
_LOOK_AGAIN_SECONDS = 0.25
MAX_SEARCH = 2_048  # code points of a search string


@dataclass(frozen=True, slots=True)
class Cleared:
    """What went when an agent's memory was emptied."""

    memory_id: str
    deletion: Deletion


class Memory:
    """All verbs, on one data folder. Open it with `Memory.open`."""

    def __init__(self, store: SqliteStore, settings: Settings, chosen: Chosen, meaning: Meaning, clock: Clock) -> None:
        self._redaction = Redaction(store, redacts=settings.capture.redact_secrets)
        distiller = CleanedDistiller(chosen.distiller, self._redaction.cleaned)
        self.settings = settings
        self.prompts = PromptBook(store, clock, self._redaction.cleaned)
        self.generations = GenerationLog(store, clock)
        self.directory = Directory(store, clock, settings.directory, meaning.forget_agents)
        self._store = store
        self._clock = clock
        self._chosen = chosen
        self._distiller = distiller
        self._meaning = meaning
        self._finder = Finder(store, clock, zone_of(settings.time_zone), settings.recall, meaning)
        self._recaller = Recaller(
            self._finder, store, settings.recall, settings.pipeline.profile_scope, self.directory.lenders.of
        )
        context = StepContext(
            store, self._finder, distiller, PolicyPlanner(settings.pipeline), clock, settings.pipeline, index_terms
        )
        handlers: dict[JobKind, Handler] = {
            "l1": self._vectorized(AtomsStep(context)),
            "l2": ScenesStep(context),
            "l3": PersonaStep(context),
        }
        self._engine = Engine(store, clock, handlers, settings.pipeline, distiller.origin)
        self._mirror = Mirror(store, settings.data_dir, clock, settings.mirror.interval_seconds)
        self._arming = Arming(settings.pipeline, clock)
        self.audit = AuditTrail(store, clock, settings.data_dir)
        self._forgetter = Forgetter(store, meaning, self._mirror, clock, self._arming.gap)
        self.policies = PolicyBook(store, clock, settings.retention.l0_l1_days, redacts=settings.capture.redact_secrets)
        retention = Retention(store, settings.retention.l0_l1_days, self._forgetter.told)
        self._housekeeping = Housekeeping(store, clock, self._arming, settings.capture.receipt_days, retention)
        self.archives = Archives(store, clock, index_terms, self._imported, self._redaction.cleaned)
        self._beside: dict[str, Callable[[], Awaitable[ComponentHealth]]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._started_at = clock.now()

    @property
    def store(self) -> Store:
        """What is under all this, for what runs beside it in one process: the proxy keeps its sessions there."""
        return self._store

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        path: str | Path | None = None,
        *,
        settings: Settings | None = None,
        distiller: Distiller | None = None,
        embedder: Embedder | None = None,
        clock: Clock | None = None,
    ) -> AsyncIterator[Memory]:
        """Open the data folder and distill in the background until the block ends.

        Without `settings` they are read from the environment and `memstrata.toml`; `path` overrides the folder. At the
        end, what waits for L1 is distilled within `server.shutdown_seconds`; the rest waits in the database. Raises
        Misconfigured if the folder cannot be used or another process has it open.
        """
        if settings is None:
            settings, _ = load_settings(flags={"data_dir": path})
        clock = clock or SystemClock()
        store = await SqliteStore.open(settings.data_dir)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(store.close)
            chosen = await stack.enter_async_context(chosen_distiller(settings, store, clock))
            if distiller is not None:
                chosen = Chosen(distiller, lambda: ComponentHealth("ok"))
            embedder = embedder or embedder_of(settings.embedding, clock)
            meaning = Meaning(embedder, store, store.vector_rows, settings.embedding, clock, settings.data_dir)
            stack.push_async_callback(meaning.close)
            memory = cls(store, settings, chosen, meaning, clock)
            try:
                await memory._start()
                yield memory
            finally:
                await memory._close()

    # L0 ----------------------------------------------------------------------------------------------------------

    async def add(
        self,
        scope: Scope,
        session_id: str,
        messages: Sequence[MessageInput],
        *,
        task_id: str = "",
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Store 1 to 100 messages of one session, durably and once. Raises InvalidRequest, Conflict, Unavailable.

        Secrets are taken out before, here and in all other texts that are written, unless a policy or the setting says
        otherwise.
        """
        armed: list[Instant] = []
        now = self._clock.now()

        def arm(r: Repositories, target: SessionTarget) -> None:
            due = self._arming.session(r, target)
            if due is not None:
                armed.append(due)

        work = append(
            scope,
            session_id,
            messages,
            task_id=task_id,
            idempotency_key=idempotency_key,
            now=now,
            arm=arm,
            redacts=lambda r: self._redaction.in_force(r, scope),
        )
        receipt = await self._store.write(audited(work, now, lambda done: changes.added(scope, session_id, done)))
        self._redaction.count(receipt.redacted)
        for due in armed:
            self._engine.wake(due)
        self._meaning.wake()
        return receipt

    async def messages(
        self,
        scope: Scope,
        *,
        session_id: str | None = None,
        task_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Page[Message]:
        """Return messages, the last said first; `since` and `until` are inclusive."""
        where = MessageFilter(session_id, task_id, since, until)
        return await self._store.read(
            lambda r: Page(r.conversations.page(scope, where, limit, offset), r.conversations.count(scope, where))
        )

    async def count_messages(
        self,
        scope: Scope,
        *,
        session_id: str | None = None,
        task_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> int:
        """Return how many messages there are."""
        where = MessageFilter(session_id, task_id, since, until)
        return await self._store.read(lambda r: r.conversations.count(scope, where))

    async def search_messages(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 5,
        session_id: str | None = None,
        task_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        neighbours: int = 0,
    ) -> Found[Message]:
        """Return the messages that answer a query, best first. Any text is a valid query.

        With `neighbours`, 1 to 5, each hit has up to so many messages of its session before and after it, whatever the
        other arguments leave out; one that is a hit itself is in both places. Raises InvalidRequest for more.
        """
        if not 0 <= neighbours <= MAX_NEIGHBOURS:
            raise InvalidRequest(f"expected 0 to {MAX_NEIGHBOURS}, got {neighbours}", field="neighbours")
        where = MessageFilter(session_id, task_id, since, until)
        asked = _query(query)
        found = await self._finder.find(MESSAGES, scope, asked, where, limit)
        if not neighbours or not found.hits:
            return found
        return await self._store.read(lambda r: with_neighbours(r, scope, found, neighbours))

    async def delete_messages(
        self,
        scope: Scope,
        *,
        message_ids: Collection[str] = (),
        session_ids: Collection[str] = (),
        task_id: str | None = None,
    ) -> Deletion:
        """Delete messages and whole sessions, with what rests on nothing else; scenes and persona are written anew."""
        return await self._erase(
            scope,
            lambda r: r.erasure.messages(scope, message_ids, session_ids, task_id),
            lambda done: changes.deleted(scope, "message.delete", message_ids, session_ids, done),
        )

    # L1 ----------------------------------------------------------------------------------------------------------

    async def memories(
        self,
        scope: Scope,
        *,
        type: str | None = None,  # noqa: A002 (the field's name)
        task_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        limit: int = 20,
        offset: int = 0,
    ) -> Page[MemoryRecord]:
        """Return live memories, the last changed first."""
        where = MemoryFilter(type, task_id, since, until)
        return await self._store.read(
            lambda r: Page(r.memories.page(scope, where, limit, offset), r.memories.count(scope, where))
        )

    async def count_memories(
        self,
        scope: Scope,
        *,
        type: str | None = None,  # noqa: A002
        task_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> int:
        """Return how many live memories there are."""
        where = MemoryFilter(type, task_id, since, until)
        return await self._store.read(lambda r: r.memories.count(scope, where))

    async def search(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int = 5,
        type: str | None = None,  # noqa: A002
        task_id: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
    ) -> Found[MemoryRecord]:
        """Return the memories that answer a query, best first. Any text is a valid query."""
        where = MemoryFilter(type, task_id, since, until)
        asked = _query(query)
        return await self._finder.find(MEMORIES, scope, asked, where, limit)

    async def update_memory(
        self, scope: Scope, memory_id: str, content: str, *, scene_name: str | None = None
    ) -> MemoryRecord:
        """Correct a memory: a new version in a person's name, which the pipeline does not overwrite.

        Raises NotFound, or Forbidden if it is another user's or agent's of the team.
        """
        profile = self._profile(scope)
        content, name = await self._redaction.cleaned(scope, [content, scene_name or ""])
        scene_name = None if scene_name is None else name
        work = corrected_memory(scope, profile, memory_id, content, scene_name, self._clock.now())
        return await self._change(profile, work, lambda done: changes.remembered(scope, "memory.correct", done))

    async def history(self, scope: Scope, memory_id: str) -> tuple[MemoryVersion, ...]:
        """Return every version of a memory, newest first, with those of others whose place it took and what was proposed.

        Works for one that no longer holds. Raises NotFound or Forbidden as `update_memory` does.
        """

        def work(r: Repositories) -> tuple[MemoryVersion, ...]:
            versions = memory_history(r, scope, memory_id)
            if not versions:
                raise refusal(r, scope, memory_id)
            return versions

        return await self._store.read(work)

    async def undo(self, scope: Scope, memory_id: str) -> tuple[MemoryRecord, ...]:
        """Take back the last change of a memory and return what holds again: new versions in a person's name.

        A merge comes apart into what it was made of. To undo an undo brings the change back. Raises Conflict where there
        is nothing to undo, NotFound or Forbidden as `update_memory` does.
        """
        profile = self._profile(scope)
        work = undone_memory(scope, profile, memory_id, self._clock.now())
        return await self._change(profile, work, lambda done: changes.remembered(scope, "memory.undo", *done))

    async def delete_memories(
        self, scope: Scope, memory_ids: Collection[str], *, task_id: str | None = None
    ) -> Deletion:
        """Delete memories in all their versions; they are not extracted again from what has been said so far."""
        return await self._erase(
            scope,
            lambda r: r.erasure.memories(scope, memory_ids, task_id),
            lambda done: changes.deleted(scope, "memory.delete", memory_ids, (), done),
        )

    # L2 ----------------------------------------------------------------------------------------------------------

    async def scenes(self, scope: Scope, *, prefix: str = "") -> tuple[Document, ...]:
        """Return the live scenes whose path starts with `prefix`, hottest first."""
        check_prefix(prefix)
        profile = self._profile(scope)
        scenes = await self._store.read(lambda r: r.profiles.documents(profile, "scene"))
        return tuple(scene for scene in scenes if scene.path.startswith(prefix))

    async def read_scene(self, scope: Scope, path: str) -> Document | None:
        """Return a scene, None if there is none of that path."""
        check_path(path)
        profile = self._profile(scope)
        return await self._store.read(lambda r: r.profiles.document(profile, "scene", path))

    async def write_scene(self, scope: Scope, path: str, content: str, *, summary: str | None = None) -> Document:
        """Replace a scene's text by a person's. A META block in `content` is taken off. Raises NotFound."""
        profile = self._profile(scope)
        content, line = await self._redaction.cleaned(profile, [content, summary or ""])
        work = edited_scene(profile, path, content, None if summary is None else line, self._clock.now())
        return await self._write_document(profile, "scene.edit", work)

    async def create_scene(self, scope: Scope, path: str, content: str, *, summary: str | None = None) -> Document:
        """Write a scene in a person's name where there is none. Raises Conflict for a path that is taken."""
        profile = self._profile(scope)
        content, line = await self._redaction.cleaned(profile, [content, summary or ""])
        work = created_scene(profile, path, content, None if summary is None else line, self._clock.now())
        return await self._write_document(profile, "scene.create", work)

    async def remove_scene(self, scope: Scope, path: str) -> int:
        """Remove a scene, or with a trailing `/` all below; return how many went. Versions stay and can be restored."""
        check_path(path.rstrip("/") or path)
        profile, now = self._profile(scope), self._clock.now()

        def work(r: Repositories) -> list[str]:
            paths = [scene.path for scene in r.profiles.documents(profile, "scene")]
            chosen = [one for one in paths if (one.startswith(path) if path.endswith("/") else one == path)]
            return [one for one in chosen if r.profiles.retire(profile, "scene", one, now)]

        def told(gone: list[str]) -> Change | None:
            return changes.removed_scenes(profile, gone)

        gone = await self._store.write(audited(work, now, told))
        return len(gone)

    async def scene_history(self, scope: Scope, path: str) -> tuple[DocumentVersion, ...]:
        """Return every version of a scene, newest first, also of one that was removed. Raises NotFound."""
        check_path(path)
        profile = self._profile(scope)
        versions = await self._store.read(lambda r: document_history(r, profile, "scene", path))
        if not versions:
            raise NotFound(f"no such scene: {path}")
        return versions

    async def restore_scene(self, scope: Scope, path: str, version: int) -> Document:
        """Write an old version of a scene anew in a person's name, also of one that was removed. Raises NotFound."""
        profile = self._profile(scope)
        work = restored_scene(profile, path, version, self._clock.now())
        return await self._write_document(profile, "scene.restore", work)

    # L3 ----------------------------------------------------------------------------------------------------------

    async def persona(self, scope: Scope) -> Document | None:
        """Return the portrait, None if there is none yet."""
        profile = self._profile(scope)
        return await self._store.read(lambda r: r.profiles.document(profile, "persona", PERSONA_PATH))

    async def persona_text(self, scope: Scope) -> str | None:
        """Return the portrait as clients of the wire contract read it: with the scene navigation at its end."""
        profile = self._profile(scope)

        def work(r: Repositories) -> tuple[Document | None, tuple[Document, ...]]:
            return r.profiles.document(profile, "persona", PERSONA_PATH), r.profiles.documents(profile, "scene")

        persona, scenes = await self._store.read(work)
        if persona is None:
            return None
        if not persona.body or not scenes:
            return persona.body
        return f"{persona.body}\n\n{render_navigation(scenes, main_language([persona.body]))}"

    async def write_persona(self, scope: Scope, content: str) -> Document:
        """Replace the portrait by a person's text; a scene navigation at its end is cut off."""
        profile = self._profile(scope)
        (content,) = await self._redaction.cleaned(profile, [content])
        return await self._write_document(profile, "persona.edit", edited_persona(profile, content, self._clock.now()))

    async def persona_history(self, scope: Scope) -> tuple[DocumentVersion, ...]:
        """Return every version of the portrait, newest first; none if there never was one."""
        profile = self._profile(scope)
        return await self._store.read(lambda r: document_history(r, profile, "persona", PERSONA_PATH))

    async def restore_persona(self, scope: Scope, version: int) -> Document:
        """Write an old version of the portrait anew in a person's name. Raises NotFound."""
        profile = self._profile(scope)
        work = restored_persona(profile, version, self._clock.now())
        return await self._write_document(profile, "persona.restore", work)

    # All layers ----------------------------------------------------------------------------------------------------

    async def recall(
        self,
        scope: Scope,
        query: str,
        *,
        limit: int | None = None,
        budget_ms: int | None = None,
        max_tokens: int | None = None,
        task_id: str | None = None,
        include: Collection[Leg] = get_args(Leg),
    ) -> Recall:
        """Return what goes into the next prompt. A part that fails or is late is missing and named in `degraded`.

        `budget_ms` and `max_tokens`, both at least 1, go before `recall.timeout_seconds` and `recall.max_tokens`.
        `max_tokens` is for both blocks together: memories have it first, then the persona, the scene index, the guide.
        """
        recall = await self._recaller.recall(
            scope,
            query,
            limit=limit,
            budget_ms=budget_ms,
            max_tokens=max_tokens,
            task_id=task_id,
            include=include,
        )
        self.audit.injected(scope, self._profile(scope), recall)
        return recall

    async def trace(self, scope: Scope, memory_id: str) -> Evidence:
        """Return why a memory exists, how it was made, and what was built from it.

        Raises NotFound or Forbidden as `update_memory` does.
        """
        profile = self._profile(scope)

        def work(r: Repositories) -> Evidence:
            evidence = memory_evidence(r, scope, profile, memory_id)
            if evidence is None:
                raise refusal(r, scope, memory_id)
            return evidence

        return await self._store.read(work)

    async def trace_scene(self, scope: Scope, path: str) -> SceneEvidence:
        """Return what a scene rests on, down to the messages. Raises NotFound.

        Of a scene that several users share, memories and messages of the asking scope only.
        """
        check_path(path)
        profile = self._profile(scope)
        evidence = await self._store.read(lambda r: scene_evidence(r, scope, profile, path))
        if evidence is None:
            raise NotFound(f"no such scene: {path}")
        return evidence

    async def trace_persona(self, scope: Scope, line: str = "") -> PersonaEvidence:
        """Return what the portrait rests on, or with `line` what supports that line of it. Raises NotFound.

        Support is told by shared words. A line that shares none with any memory has no support: nothing is guessed.
        """
        profile, asked = self._profile(scope), well_formed(line)
        evidence = await self._store.read(lambda r: persona_evidence(r, scope, profile, asked))
        if evidence is None:
            raise NotFound("no such document: there is no persona yet")
        return evidence

    async def clear(self, instance: str, memory_ids: Sequence[str]) -> tuple[Cleared, ...]:
        """Empty all memory of agents, named by asset ids `chat_memory-<team>-<agent>`; all or none.

        Raises NotFound for an unknown one, InvalidRequest for an asset of another type, Conflict for an id that fits
        several agents none of which the directory knows.
        """

        def work(r: Repositories) -> tuple[Cleared, ...]:
            cleared = []
            for one in memory_ids:
                asset = r.assets.get(instance, one)
                if asset is not None and asset.asset_type != "chat_memory":
                    raise InvalidRequest(f"asset_type_mismatch: {one[:128]} is no chat_memory")
                agents = r.erasure.agents_named(instance, one)
                if not agents:
                    raise NotFound(f"asset_not_found: {one[:128]}")
                if len(agents) > 1:
                    raise Conflict(f"ambiguous_asset: {one[:128]} names more than one agent")
                ((team, agent),) = agents
                cleared.append(Cleared(one, r.erasure.agent(instance, team, agent)))
            return tuple(cleared)

        def told(done: tuple[Cleared, ...]) -> Change:
            return changes.cleared(instance, memory_ids, [one.deletion for one in done])

        done = await self._store.write(audited(work, self._clock.now(), told))
        await self._meaning.forget_agents(instance, memory_ids)
        return done

    async def forget(self, what: Forgetting, *, actor: str = "library") -> ForgettingReceipt:
        """Let everything go that a selector reaches, in every copy, and return a receipt.

        It is complete when no byte is left in the files of the data folder. Where that takes longer than a second it goes
        on behind the answer, and `forgetting_receipt` tells when it is done. What can be told anew without is told anew.
        """
        receipt = await self._forgetter.forget(what, actor)
        self._engine.wake()
        return receipt

    async def forgettable(self, what: Forgetting) -> Forgotten:
        """Return what `forget` would let go: counts, and the first hundred ids of each layer."""
        return await self._forgetter.foresee(what)

    async def scan_secrets(self, *, fix: bool = False) -> ScanReport:
        """Look for secrets in all that is stored, of all instances; with `fix`, write over them in every version and copy.

        Where an owner's policy keeps secrets they are told of and stay.
        """
        scan = SecretScan(self._store, self._meaning, self._forgetter, self._clock, self._redaction.in_force)
        return await scan.run(fix=fix)

    async def forgetting_receipt(self, instance: str, forgetting_id: str) -> ForgettingReceipt:
        """Return a receipt as it is now. Raises NotFound."""
        return await self._forgetter.receipt(instance, forgetting_id)

    # Pipeline ------------------------------------------------------------------------------------------------------

    async def status(self, scope: Scope, *, session_id: str | None = None) -> PipelineStatus:
        """Return what waits in the scope, when it is due and how the last runs ended."""
        profile, now = self._profile(scope), self._clock.now()

        def work(r: Repositories) -> PipelineStatus:
            found = layer_statuses(r, scope, profile, session_id, self._distiller.origin)
            if not self.settings.llm.configured:
                return found
            used = r.spending.used_tokens(scope.instance, day_of(now))
            return replace(found, budget=budget_state(used, self.settings.llm.daily_tokens or None, now))

        return await self._store.read(work)

    async def spending(self, scope: Scope, *, days: int = 7) -> tuple[Spending, ...]:
        """Return what models cost the scope and its profile, one line for each of the last UTC days and each role."""
        now = self._clock.now()
        first, last = day_of(now - milliseconds((days - 1) * 86_400)), day_of(now)
        lines = await self._store.read(lambda r: r.spending.lines(scope.instance, first, last))
        owners = ((scope.team, scope.agent, scope.user), (scope.team, scope.agent, ""))
        return tuple(line for line in lines if (line.key.team, line.key.agent, line.key.user) in owners)

    async def proxy_usage(self, instance: str, *, days: int = 7, user_id: str | None = None) -> tuple[ProxyUsage, ...]:
        """Return what went through the proxy, one line for each of the last UTC days, each user and each model."""
        now = self._clock.now()
        first, last = day_of(now - milliseconds((days - 1) * 86_400)), day_of(now)
        return await self._store.read(lambda r: r.proxy.usage.lines(instance, first, last, user_id))

    async def load(self, instance: str) -> Mapping[JobKind, LayerLoad]:
        """Return how much work an instance has, in numbers only."""
        return await self._store.read(lambda r: r.jobs.load(instance))

    async def flush(
        self, scope: Scope, *, session_id: str | None = None, wait_seconds: float | None = 30.0
    ) -> PipelineStatus:
        """Distill now what waits in the scope (L1 of one session if it is named, then L2 and L3), and wait for it.

        Returns when nothing is left that can be done, or the wait is over; the status says which. None waits for ever.
        """
        profile = self._profile(scope)
        # A wait is for people, so it goes by time that passes: the clock may be set back, or stand still in a test.
        passing = asyncio.get_running_loop().time
        deadline = None if wait_seconds is None else passing() + wait_seconds
        while await self._store.write(lambda r: flush_step(r, scope, profile, session_id, self._clock.now())):
            self._engine.wake()
            if deadline is not None and passing() >= deadline:
                break
            await self._engine.wait_for_change(_LOOK_AGAIN_SECONDS)
        return await self.status(scope, session_id=session_id)

    async def retry(self, scope: Scope) -> int:
        """Put back to work all of the scope that failed: dead letters, jobs that wait out a failure, parked messages.

        Returns how many there were. Models that had refused key or account, that of vectors too, are asked again.
        """
        profile = self._profile(scope)

        def work(r: Repositories) -> int:
            revived = r.jobs.revive(scope, profile, self._clock.now())
            parked = r.conversations.parked_count(scope, None)
            for target in r.conversations.revive(scope):
                r.jobs.arm("l1", target, self._clock.now(), only_earlier=True)
            return revived + parked

        self._chosen.resume()
        self._meaning.resume()
        count = await self._store.write(work)
        self._engine.wake()
        return count

    async def vectors_settled(self) -> None:
        """Wait until every row that was there at the call has its vector, and every index that is being built is whole.

        Returns at once without an embedder or with `embedding.enabled` off, and where the embedder fails.
        """
        await self._meaning.settled()

    async def vector_coverage(self) -> Mapping[VectorKind, Coverage]:
        """Return how many memories and messages have a vector of the present embedder; nothing while there is none."""
        return await self._meaning.coverage()

    async def health(self) -> Health:
        """Return the state of every part."""
        store, engine = self._store.health(), self._engine.health()
        components = {
            "store": store,
            "pipeline": engine if self.settings.pipeline.enabled else ComponentHealth("reduced", "switched off"),
            "housekeeping": self._housekeeping.health(),
            "forgetting": self._forgetter.health(),
            "redaction": self._redaction.health(),
            "audit": self.audit.health(),
            "mirror": self._mirror.health()
            if self.settings.mirror.enabled
            else ComponentHealth("reduced", "switched off"),
            "recall": ComponentHealth("ok", details=dict(self._recaller.failures)),
            "distiller": self._chosen.health(),
            "embedding": await self._meaning.health(),
        }
        components |= {name: await state() for name, state in self._beside.items()}
        for task in self._tasks:
            if (error := _failure(task)) is not None:
                components[task.get_name()] = ComponentHealth("failed", f"stopped by {type(error).__name__}")
        well = store.state == "ok" and engine.state == "ok" and components["pipeline"].state != "failed"
        uptime = (self._clock.now() - self._started_at) / 1000
        return Health("ok" if well else "degraded", uptime, components)

    def show(self, component: str, state: Callable[[], Awaitable[ComponentHealth]]) -> None:
        """Let `health` tell of a part that runs beside this one in the same process."""
        self._beside[component] = state

    def announce(self, url: str) -> None:
        """Leave a note in the data folder where its server listens, for command lines."""
        self._store.announce(url)

    # -----------------------------------------------------------------------------------------------------------------

    async def _start(self) -> None:
        await self.audit.start()
        if self._distiller.origin == "model" and self.settings.llm.redistill:
            again = await self._store.write(lambda r: r.conversations.start_again_from_rules())
            if again:
                _LOG.info("a model is configured: %d sessions that rules had distilled are distilled again", again)
        await self._housekeeping.sweep()
        if self.settings.pipeline.enabled:
            self._begin("pipeline", self._engine.run())
        if self.settings.mirror.enabled:
            self._begin("mirror", self._mirror.run())
        self._begin("housekeeping", self._housekeeping.run())
        self._begin("forgetting", self._forgetter.run())
        self._begin("audit", self.audit.run())
        self._begin("embedding", self._meaning.run())

    def _begin(self, component: str, work: Coroutine[None, None, None]) -> None:
        """Do the work of a component in the background. It runs until it is stopped: its failure is a defect, and told."""
        task = asyncio.create_task(work, name=component)
        task.add_done_callback(_told)
        self._tasks.append(task)

    async def _close(self) -> None:
        if self._tasks and self.settings.pipeline.enabled:
            await self._engine.drain(self.settings.server.shutdown_seconds)
        self._mirror.stop()
        self._housekeeping.stop()
        self._forgetter.stop()
        self.audit.stop()
        self._meaning.stop()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # `_told` told of failures when they came
        if self._tasks and self.settings.mirror.enabled:
            await self._mirror.catch_up()
        if self._tasks:  # or the start failed, and what it found is not to be noted over
            await self.audit.flush()

    async def _imported(self) -> None:
        """Set the jobs of rows that came with an import, and have their vectors made."""
        await self._housekeeping.sweep()
        self._engine.wake()
        self._meaning.wake()

    async def _write_document(
        self, profile: Profile, action: str, work: Callable[[Repositories], Document]
    ) -> Document:
        return await self._store.write(
            audited(work, self._clock.now(), lambda done: changes.documented(profile, action, done))
        )

    async def _change(
        self, profile: Profile, work: Callable[[Repositories], T], told: Callable[[T], Change | None]
    ) -> T:
        """Perform a change of memories, and set the job that tells the scenes, in one transaction."""

        def both(r: Repositories) -> T:
            done = work(r)
            self._arming.profile(r, profile)
            return done

        done = await self._store.write(audited(both, self._clock.now(), told))
        self._engine.wake()
        self._meaning.wake()
        return done

    async def _erase(
        self, scope: Scope, work: Callable[[Repositories], Deletion], told: Callable[[Deletion], Change | None]
    ) -> Deletion:
        """Perform a deletion, and set the jobs that fill the gaps it leaves, in one transaction."""
        profile = self._profile(scope)

        def both(r: Repositories) -> Deletion:
            deletion = work(r)
            if deletion.documents:
                self._arming.gap(r, profile)
            return deletion

        deletion = await self._store.write(audited(both, self._clock.now(), told))
        self._engine.wake()
        await self._meaning.forget(scope)
        return deletion

    def _vectorized(self, step: Handler) -> Handler:
        """Return the step of L1, which tells of the rows that it wrote."""

        async def perform(lease: Lease) -> Retry | Poison | None:
            outcome = await step(lease)
            self._meaning.wake()
            return outcome

        return perform

    def _profile(self, scope: Scope) -> Profile:
        return scope.profile(self.settings.pipeline.profile_scope)


async def rebuild(settings: Settings) -> RebuildReport:
    """Write a new database in the data folder from its readable mirror. Raises Misconfigured if one is still there."""
    return await rebuild_from_files(settings.data_dir, index_terms, settings.pipeline.profile_scope)


def _query(query: str) -> str:
    if len(query) > MAX_SEARCH:
        raise InvalidRequest(f"at most {MAX_SEARCH} characters, got {len(query)}", field="query")
    return well_formed(query)


def _failure(task: asyncio.Task[None]) -> BaseException | None:
    return task.exception() if task.done() and not task.cancelled() else None


def _told(task: asyncio.Task[None]) -> None:
    if (error := _failure(task)) is not None:
        _LOG.error("the background task %r has failed", task.get_name(), exc_info=error)
