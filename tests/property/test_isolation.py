"""Scopes that look alike share a data folder, and no answer to one ever holds a word of another (invariants 4 and 10)."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from memstrata.distill.protocol import PersonaDraft, PersonaRequest, Poison, Retry
from memstrata.errors import Conflict, Forbidden, NotFound
from memstrata.memory import Memory, MessageInput, Scope
from memstrata.records import MemoryRecord, ProfileScope
from memstrata.settings import MirrorSettings, PipelineSettings, Settings
from memstrata.testing import EchoDistiller

from .tenants import Known, Said, Tenants, canaries_of

T = TypeVar("T")
MANY = 1_000
SCENE = "notes.md"
SAME_WORDS = "green tea, as always"

# Ids that are equal when joined, folded, trimmed, normalised, or taken for a pattern or a path.
LOOKALIKES = [
    Scope("default", "team", "agent", "user"),
    Scope("default", "team", "agent", "user2"),
    Scope("default", "team", "agent2", "user"),
    Scope("default", "team2", "agent", "user"),
    Scope("other", "team", "agent", "user"),
    Scope("default", "team|agent", "a", "user"),
    Scope("default", "team", "agent|a", "user"),
    Scope("default", "team", "agent", "a|user"),
    Scope("default", "team-agent", "a", "user"),
    Scope("default", "team", "agent-a", "user"),
    Scope("default", "Team", "agent", "user"),
    Scope("default", "team ", "agent", "user"),
    Scope("default", "%", "_", "%"),
    Scope("default", "caf\u00e9", "agent", "user"),
    Scope("default", "cafe\u0301", "agent", "user"),
    Scope("instances/default", "..", "../agent", "user"),
    Scope("default", "团队", "agent", "用户"),
]
SCOPES = st.one_of(
    st.sampled_from(LOOKALIKES),
    st.builds(
        Scope,
        st.sampled_from(["default", "other"]),
        st.sampled_from(["team", "team-a"]),
        st.sampled_from(["agent", "a-agent"]),
        st.sampled_from(["user", "team"]),
    ),
)
SESSIONS = st.sampled_from(["s", "s|1"])
MESSAGE_IDS = st.sampled_from(["m1", "m2", "m|1"])
KEYS = st.sampled_from([None, None, "key", "key|1"])
TASKS = st.sampled_from(["", "task"])
PLACES = st.integers(0, 3)


class PortrayingEcho(EchoDistiller):
    """An EchoDistiller whose portrait quotes the memories, so that a leak into L3 would be seen."""

    async def portray(self, request: PersonaRequest) -> PersonaDraft | Retry | Poison:
        memories = {memory.seq: memory for view in request.scenes for memory in view.memories}
        body = "\n".join(f"* {memory.content}" for memory in memories.values())
        return PersonaDraft(body[:2_000] or "nothing yet", tuple(memories))


class LookalikeTenants(RuleBasedStateMachine):
    """Two to four scopes, any calls in any order, and a model that knows whose word is whose.

    L1 runs only when a rule flushes, so that the model knows at each moment what has been distilled.
    """

    @initialize(
        scopes=st.lists(SCOPES, min_size=2, max_size=4, unique=True),
        profile_scope=st.sampled_from(["agent", "agent_user"]),
    )
    def open(self, scopes: list[Scope], profile_scope: ProfileScope) -> None:
        self.scopes = scopes
        self.model = Tenants(profile_scope)
        self.folder = Path(tempfile.mkdtemp(prefix="tenants-"))
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        given = Settings(
            data_dir=self.folder,
            pipeline=PipelineSettings(every_n=MANY, warmup=False, profile_scope=profile_scope),
            mirror=MirrorSettings(interval_seconds=0.05),
        )
        self.memory = self.run(self.stack.enter_async_context(Memory.open(settings=given, distiller=PortrayingEcho())))
        # All start alike: the same session, ids, key and words, some distilled and some waiting.
        for place in range(len(scopes)):
            self.add(place, "s", "", "key", ["m1", "m2"], same_words=False)
            self.add(place, "s", "", None, [], same_words=True)
            self.flush(place)
            self.add(place, "s|1", "task", "key", ["m1", "m2"], same_words=False)
            self.add(place, "s|1", "task", None, [], same_words=True)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def scope(self, place: int) -> Scope:
        return self.scopes[place % len(self.scopes)]

    def live(self, scope: Scope) -> tuple[MemoryRecord, ...]:
        return self.run(self.memory.memories(scope, limit=MANY)).items

    def chosen(self, scope: Scope, place: int) -> tuple[MemoryRecord, Known] | None:
        """Return one of the scope's memories, from both sides, or None if it has none."""
        rows = self.live(scope)
        if not rows:
            return None
        row = rows[place % len(rows)]
        return row, next(memory for memory in self.model.memories(scope) if memory.content == row.content)

    # L0 --------------------------------------------------------------------------------------------------------------

    @rule(
        place=PLACES,
        session=SESSIONS,
        task=TASKS,
        key=KEYS,
        ids=st.lists(MESSAGE_IDS, unique=True, max_size=2),
        same_words=st.booleans(),
    )
    def add(self, place: int, session: str, task: str, key: str | None, ids: list[str], same_words: bool) -> None:
        scope, model = self.scope(place), self.model
        said = SAME_WORDS if same_words else f"green tea {model.canary()}"
        texts = [("user", said), ("assistant", f"noted {model.canary()}")]
        # The same words under the same id are a replay, which is another test's business.
        given: list[str | None] = [None, *ids, None][:2] if same_words else [*ids, None, None][:2]
        messages = [MessageInput(role, text, message_id=one) for (role, text), one in zip(texts, given, strict=True)]
        work = self.memory.add(scope, session, messages, task_id=task, idempotency_key=key)
        if not model.accepts(scope, session, key, [one for one in given if one is not None]):
            with pytest.raises(Conflict):
                self.run(work)
            return
        receipt = self.run(work)
        assert not receipt.replayed
        stored = [(one, role, text) for one, (role, text) in zip(receipt.message_ids, texts, strict=True)]
        model.say(scope, session, task, key, stored)

    @rule(place=PLACES, sessions=st.lists(SESSIONS, max_size=1), ids=st.lists(MESSAGE_IDS, max_size=2), task=TASKS)
    def delete_messages(self, place: int, sessions: list[str], ids: list[str], task: str) -> None:
        scope = self.scope(place)

        def chosen(one: Said) -> bool:
            named = one.session in sessions or one.message_id in ids
            return one.scope == scope and named and task in ("", one.task)

        deletion = self.run(
            self.memory.delete_messages(scope, message_ids=ids, session_ids=sessions, task_id=task or None)
        )
        assert (deletion.messages, deletion.memories) == self.model.unsay(chosen)

    # L1 --------------------------------------------------------------------------------------------------------------

    @rule(place=PLACES)
    def flush(self, place: int) -> None:
        scope = self.scope(place)
        state = self.run(self.memory.flush(scope))
        assert state.idle, state
        self.model.distill(scope)

    @rule(place=PLACES, which=st.integers(0, 20))
    def update(self, place: int, which: int) -> None:
        scope = self.scope(place)
        if chosen := self.chosen(scope, which):
            row, known = chosen
            content = f"corrected {self.model.canary()}"
            changed = self.run(self.memory.update_memory(scope, row.memory_id, content))
            assert (changed.content, changed.version) == (content, row.version + 1)
            known.versions.append(content)

    @rule(place=PLACES, which=st.integers(0, 20))
    def delete(self, place: int, which: int) -> None:
        scope = self.scope(place)
        if chosen := self.chosen(scope, which):
            row, known = chosen
            assert self.run(self.memory.delete_memories(scope, [row.memory_id])).memories == 1
            self.model.forget(scope, known)

    @rule(place=PLACES, other=PLACES, which=st.integers(0, 20))
    def touch_what_is_foreign(self, place: int, other: int, which: int) -> None:
        scope, stranger = self.scope(place), self.scope(other)
        if scope != stranger and (chosen := self.chosen(scope, which)):
            memory_id = chosen[0].memory_id
            with pytest.raises((Forbidden, NotFound)):
                self.run(self.memory.update_memory(stranger, memory_id, f"stolen {self.model.canary()}"))
            with pytest.raises((Forbidden, NotFound)):
                self.run(self.memory.trace(stranger, memory_id))
            assert self.run(self.memory.delete_memories(stranger, [memory_id])).memories == 0

    # L2 and L3 -------------------------------------------------------------------------------------------------------

    @rule(place=PLACES)
    def write_scene(self, place: int) -> None:
        scope, canary = self.scope(place), self.model.canary()
        work = self.memory.write_scene(scope, SCENE, f"by hand {canary}")
        if self.run(self.memory.read_scene(scope, SCENE)) is None:
            with pytest.raises(NotFound):
                self.run(work)
            return
        self.run(work)
        self.model.written_by_hand.setdefault(self.model.profile(scope), set()).add(canary)

    @rule(place=PLACES)
    def write_persona(self, place: int) -> None:
        scope, canary = self.scope(place), self.model.canary()
        self.run(self.memory.write_persona(scope, f"by hand {canary}"))
        self.model.met.add((scope.instance, scope.team, scope.agent))
        self.model.written_by_hand.setdefault(self.model.profile(scope), set()).add(canary)

    @rule(place=PLACES)
    def remove_scene(self, place: int) -> None:
        scope = self.scope(place)
        there = self.run(self.memory.read_scene(scope, SCENE)) is not None
        assert self.run(self.memory.remove_scene(scope, SCENE)) == there

    # All layers ------------------------------------------------------------------------------------------------------

    @rule(place=PLACES)
    def clear(self, place: int) -> None:
        scope = self.scope(place)
        asset = f"chat_memory-{scope.team}-{scope.agent}"
        work = self.memory.clear(scope.instance, [asset])
        named = self.model.agents_named(scope.instance, asset)
        if len(named) != 1:
            with pytest.raises(Conflict if named else NotFound):
                self.run(work)
            return
        (cleared,) = self.run(work)
        expected = self.model.clear(scope.instance, *named[0])
        assert (cleared.deletion.messages, cleared.deletion.memories) == expected

    @rule(place=PLACES, other=PLACES)
    def ask(self, place: int, other: int) -> None:
        """Search and recall with words that all scopes share, with the scope's own, and with those of another."""
        scope, stranger, model = self.scope(place), self.scope(other), self.model
        own, theirs = model.spoken_canaries(scope), model.spoken_canaries(stranger)
        for query in ("green tea corrected noted", *sorted(own)[:3]):
            found = self.run(self.memory.search_messages(scope, query, limit=MANY))
            assert canaries_of(found) <= own
            assert query not in own or query in canaries_of(found.hits[0])
            assert canaries_of(self.run(self.memory.search(scope, query, limit=MANY))) <= model.memory_canaries(scope)
            recalled = self.run(self.memory.recall(scope, query, limit=100))
            assert recalled.degraded == ()
            profile = model.profile_canaries(model.profile(scope))
            assert canaries_of(recalled) <= model.memory_canaries(scope) | profile
            assert canaries_of(recalled.prepend_context) <= model.memory_canaries(scope)
        for memory in model.memories(scope)[:3]:
            contents = [hit.item.content for hit in self.run(self.memory.search(scope, memory.content)).hits]
            assert contents[0] == memory.content
        for query in sorted(theirs - own)[:3]:
            assert self.run(self.memory.search_messages(scope, query)).hits == ()
            assert self.run(self.memory.search(scope, query)).hits == ()
            assert self.run(self.memory.recall(scope, query)).hits == ()

    @rule(place=PLACES, which=st.integers(0, 20))
    def trace(self, place: int, which: int) -> None:
        scope, model = self.scope(place), self.model
        if chosen := self.chosen(scope, which):
            row, known = chosen
            evidence = self.run(self.memory.trace(scope, row.memory_id))
            sources = {one.message_id: one.content for one in model.messages(scope) if one.order in known.sources}
            assert {one.message_id: one.content for one in evidence.messages} == sources
            allowed = model.spoken_canaries(scope) | model.profile_canaries(model.profile(scope))
            assert canaries_of(evidence) <= allowed

    @invariant()
    def every_scope_holds_its_own_and_nothing_else(self) -> None:
        for scope in self.scopes:
            expected = Counter((one.message_id, one.content) for one in self.model.messages(scope))
            page = self.run(self.memory.messages(scope, limit=MANY))
            assert Counter((one.message_id, one.content) for one in page.items) == expected
            assert page.total == self.run(self.memory.count_messages(scope)) == expected.total()
            memories = self.run(self.memory.memories(scope, limit=MANY))
            contents = Counter(one.content for one in self.model.memories(scope))
            assert Counter(one.content for one in memories.items) == contents
            assert canaries_of(memories) <= self.model.memory_canaries(scope)
            assert memories.total == self.run(self.memory.count_memories(scope)) == contents.total()
            assert self.run(self.memory.status(scope)).layers["l1"].pending == self.model.pending(scope)

    @invariant()
    def documents_hold_what_their_profile_may_know(self) -> None:
        for scope in self.scopes:
            scenes = self.run(self.memory.scenes(scope))
            persona = self.run(self.memory.persona_text(scope))
            allowed = self.model.profile_canaries(self.model.profile(scope))
            assert canaries_of((scenes, persona)) <= allowed

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        try:
            self.run(self.stack.aclose())
            for scope in self.scopes:
                self.model.distill(scope)
            self._check_files()
        finally:
            self.runner.close()
            shutil.rmtree(self.folder)

    def _check_files(self) -> None:
        """The readable copy holds each message once, in its own instance's folder, and nothing that was deleted."""
        lines: Counter[tuple[str, ...]] = Counter()
        for file in self.folder.rglob("conversations/*.jsonl"):
            for line in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
                names = ("instanceId", "teamId", "agentId", "userId", "sessionId", "id", "content")
                lines[tuple(line[name] for name in names)] += 1
                own = self.folder / "conversations"
                assert (file.parent == own) == (line["instanceId"] == "default")
        assert lines == Counter(
            (
                one.scope.instance,
                one.scope.team,
                one.scope.agent,
                one.scope.user,
                one.session,
                one.message_id,
                one.content,
            )
            for one in self.model.said
        )
        living = self.model.living_canaries()
        for file in self.folder.rglob("*"):
            if file.suffix in (".jsonl", ".json", ".md"):
                assert canaries_of(file.read_text(encoding="utf-8")) <= living, file


QUICK = settings(
    max_examples=25,
    stateful_step_count=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
LONG = settings(QUICK, max_examples=120, stateful_step_count=40, derandomize=False, print_blob=True)


def test_lookalike_tenants_never_meet() -> None:
    run_state_machine_as_test(LookalikeTenants, settings=QUICK)


@pytest.mark.slow
def test_lookalike_tenants_never_meet_in_long_random_runs() -> None:
    run_state_machine_as_test(LookalikeTenants, settings=LONG)
