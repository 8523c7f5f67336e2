"""Who lost the lease commits nothing: a step that is overtaken raises and leaves no row (invariants 1 and 8)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from memstrata.distill.atoms.step import AtomsStep
from memstrata.distill.persona.step import PersonaStep
from memstrata.distill.protocol import SceneDraft, SceneRequest
from memstrata.distill.run import StepContext
from memstrata.distill.scenes.step import ScenesStep
from memstrata.errors import LeaseLost
from memstrata.records import JobKind, NewDocument, NewMemory, NewMessage, Poison, Retry, Scope
from memstrata.schedule import Handler, PolicyPlanner
from memstrata.search import Finder
from memstrata.settings import PipelineSettings
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import EchoDistiller, FakeClock
from memstrata.testing.distiller import Stage
from memstrata.text.analyser import index_terms

LEASE = 60_000
STAGES: dict[JobKind, Stage] = {"l1": "extract", "l2": "consolidate", "l3": "portray"}


@pytest.fixture
def handlers(
    store: SqliteStore, clock: FakeClock, distiller: EchoDistiller, finder_of: Callable[..., Finder]
) -> dict[JobKind, Handler]:
    settings = PipelineSettings()
    context = StepContext(store, finder_of(store), distiller, PolicyPlanner(settings), clock, settings, index_terms)
    return {"l1": AtomsStep(context), "l2": ScenesStep(context), "l3": PersonaStep(context)}


@pytest.fixture
async def work(
    store: SqliteStore,
    scope: Scope,
    clock: FakeClock,
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> Callable[[JobKind], Awaitable[None]]:
    """Return a way to put one due job in place, with the input that its step needs."""

    async def arm(kind: JobKind) -> None:
        profile = scope.profile("agent")

        def put(r: Repositories) -> None:
            if kind == "l1":
                r.jobs.arm("l1", r.conversations.append(scope, "s1", "", [new_message("a fact")], 0), clock.now())
                return
            memory = r.memories.add(scope, profile, new_memory("a fact"))
            if kind == "l3":
                r.profiles.write(profile, new_document("home.md", memory_seqs=(memory.seq,)))
            r.jobs.arm(kind, r.profiles.ensure(profile), clock.now())

        await store.write(put)

    return arm


def written(r: Repositories, scope: Scope) -> tuple[object, ...]:
    """Return all that the three steps write."""
    profile = scope.profile("agent")
    state = r.profiles.state(profile)
    return (
        r.memories.page(scope, MemoryFilter(), 9, 0),
        r.profiles.documents(profile, "scene"),
        r.profiles.documents(profile, "persona"),
        (state.unconsumed, state.scenes_at, state.portrayed_at) if state else None,
        r.conversations.pending_count(scope, None),
        [r.jobs.last_run(kind, scope, profile) for kind in STAGES],
    )


@pytest.mark.parametrize("kind", STAGES)
async def test_a_step_whose_lease_is_taken_over_commits_nothing(
    store: SqliteStore,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    handlers: dict[JobKind, Handler],
    work: Callable[[JobKind], Awaitable[None]],
    eventually: Callable[..., Awaitable[None]],
    kind: JobKind,
) -> None:
    await work(kind)
    before = await store.read(lambda r: written(r, scope))
    (first,) = await store.write(lambda r: r.jobs.claim("first", clock.now(), clock.now() + LEASE, 9))

    with distiller.paused(STAGES[kind]):
        overtaken = asyncio.ensure_future(handlers[kind](first))
        await eventually(lambda: distiller.calls[STAGES[kind]] == 1)
        clock.advance(60)
        (second,) = await store.write(lambda r: r.jobs.claim("second", clock.now(), clock.now() + LEASE, 9))
    with pytest.raises(LeaseLost):
        await overtaken

    assert await store.read(lambda r: written(r, scope)) == before
    await store.write(lambda r: r.jobs.hold(second))

    assert await handlers[kind](second) is None
    after = await store.read(lambda r: written(r, scope))
    assert after != before
    with pytest.raises(LeaseLost):
        await handlers[kind](first)
    assert await store.read(lambda r: written(r, scope)) == after


async def test_a_session_that_is_deleted_while_it_is_read_leaves_nothing(
    store: SqliteStore,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    handlers: dict[JobKind, Handler],
    work: Callable[[JobKind], Awaitable[None]],
    eventually: Callable[..., Awaitable[None]],
) -> None:
    """Invariant 10: a deletion reaches pending jobs."""
    await work("l1")
    (lease,) = await store.write(lambda r: r.jobs.claim("w", clock.now(), clock.now() + LEASE, 9))
    with distiller.paused("extract"):
        running = asyncio.ensure_future(handlers["l1"](lease))
        await eventually(lambda: distiller.calls["extract"] == 1)
        await store.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))
    with pytest.raises(LeaseLost):
        await running

    assert await store.read(lambda r: r.memories.size(scope)) == 0


@pytest.mark.parametrize("kind", ["l2", "l3"])
async def test_memories_deleted_while_a_document_is_written_from_them_make_it_a_retry(
    store: SqliteStore,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    handlers: dict[JobKind, Handler],
    work: Callable[[JobKind], Awaitable[None]],
    eventually: Callable[..., Awaitable[None]],
    kind: JobKind,
) -> None:
    """Invariant 10: what was deleted cannot come back through a model's answer. The lease is given back at once."""
    await work(kind)
    (lease,) = await store.write(lambda r: r.jobs.claim("w", clock.now(), clock.now() + LEASE, 9))
    with distiller.paused(STAGES[kind]):
        running = asyncio.ensure_future(handlers[kind](lease))
        await eventually(lambda: distiller.calls[STAGES[kind]] == 1)
        (memory,) = await store.read(lambda r: r.memories.page(scope, MemoryFilter(), 9, 0))
        await store.write(lambda r: r.erasure.memories(scope, [memory.memory_id], None))

    assert isinstance(await running, Retry)
    documents = await store.read(
        lambda r: [r.profiles.documents(scope.profile("agent"), of) for of in ("scene", "persona")]
    )
    assert documents == [(), ()]


async def test_a_scene_is_a_retry_if_a_memory_that_it_does_not_cite_was_deleted_meanwhile(
    store: SqliteStore,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    handlers: dict[JobKind, Handler],
    work: Callable[[JobKind], Awaitable[None]],
    eventually: Callable[..., Awaitable[None]],
    new_memory: Callable[..., NewMemory],
) -> None:
    """The model has read it all the same, and any of its sentences may say it."""
    await work("l2")
    secret = await store.write(lambda r: r.memories.add(scope, scope.profile("agent"), new_memory("a secret")))
    consolidate = distiller.consolidate

    async def silent(request: SceneRequest) -> SceneDraft | Retry | Poison:
        draft = await consolidate(request)
        assert isinstance(draft, SceneDraft)
        (write,) = draft.writes
        cited = tuple(seq for seq in write.memory_seqs if seq != secret.seq)
        return SceneDraft((replace(write, memory_seqs=cited),))

    distiller.consolidate = silent  # type: ignore[method-assign]
    (lease,) = await store.write(lambda r: r.jobs.claim("w", clock.now(), clock.now() + LEASE, 9))
    with distiller.paused("consolidate"):
        running = asyncio.ensure_future(handlers["l2"](lease))
        await eventually(lambda: distiller.calls["consolidate"] == 1)
        await store.write(lambda r: r.erasure.memories(scope, [secret.memory_id], None))

    assert isinstance(await running, Retry)
    assert await store.read(lambda r: r.profiles.documents(scope.profile("agent"), "scene")) == ()
