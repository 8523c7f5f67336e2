"""L2 and L3: scenes and personas in versions, and where a profile stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memstrata.records import PERSONA_PATH, MemoryRecord, NewDocument, NewMemory, NewMessage, Profile, Scope
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import ProfileState

Build = Callable[..., NewDocument]


async def add(store: Store, scope: Scope, *memories: NewMemory) -> list[MemoryRecord]:
    profile = scope.profile("agent")
    return await store.write(lambda r: [r.memories.add(scope, profile, memory) for memory in memories])


async def state(store: Store, profile: Profile) -> ProfileState:
    found = await store.read(lambda r: r.profiles.state(profile))
    assert found is not None
    return found


async def test_a_profile_exists_once_it_is_ensured(store: Store, scope: Scope) -> None:
    profile = scope.profile("agent")
    assert await store.read(lambda r: r.profiles.target(profile)) is None
    assert await store.read(lambda r: r.profiles.state(profile)) is None

    made = await store.write(lambda r: r.profiles.ensure(profile))

    assert await store.write(lambda r: r.profiles.ensure(profile)) == made
    assert await store.read(lambda r: r.profiles.target(profile)) == made
    fresh = await state(store, profile)
    assert (fresh.unconsumed, fresh.scenes, fresh.scenes_at, fresh.portrayed_at) == (0, 0, 0, 0)
    assert (fresh.persona, fresh.oldest_unconsumed_at, fresh.persona_request) == (None, None, "")


async def test_a_written_document_is_live_and_the_one_before_it_is_not(
    store: Store, scope: Scope, new_document: Build
) -> None:
    """Invariant 8: each write is a version of its own."""
    profile = scope.profile("agent")
    first = await store.write(lambda r: r.profiles.write(profile, new_document("home.md", "one")))
    second = await store.write(lambda r: r.profiles.write(profile, new_document("home.md", "two", heat=2)))

    assert (first.version, second.version) == (1, 2)
    assert second.seq > first.seq
    assert await store.read(lambda r: r.profiles.document(profile, "scene", "home.md")) == second
    assert await store.read(lambda r: r.profiles.documents(profile, "scene")) == (second,)
    assert await store.read(lambda r: r.profiles.document(profile, "scene", "unknown.md")) is None


async def test_versions_go_on_after_a_document_was_retired(store: Store, scope: Scope, new_document: Build) -> None:
    """Invariant 8: retired versions are kept, so a new one never takes an old one's number."""
    profile = scope.profile("agent")
    await store.write(lambda r: r.profiles.write(profile, new_document()))

    assert await store.write(lambda r: r.profiles.retire(profile, "scene", "home.md", 9)) is True
    assert await store.write(lambda r: r.profiles.retire(profile, "scene", "home.md", 9)) is False
    assert await store.read(lambda r: r.profiles.documents(profile, "scene")) == ()

    again = await store.write(lambda r: r.profiles.write(profile, new_document()))
    assert again.version == 2


async def test_scenes_come_hottest_first_and_the_persona_is_none_of_them(
    store: Store, scope: Scope, new_document: Build
) -> None:
    profile = scope.profile("agent")

    def write(r: Repositories) -> None:
        for path, heat in (("b.md", 1), ("c.md", 7), ("a.md", 1)):
            r.profiles.write(profile, new_document(path, heat=heat))
        r.profiles.write(profile, new_document(PERSONA_PATH, "Lin", kind="persona"))

    await store.write(write)

    assert [d.path for d in await store.read(lambda r: r.profiles.documents(profile, "scene"))] == [
        "c.md",
        "a.md",
        "b.md",
    ]
    assert [d.body for d in await store.read(lambda r: r.profiles.documents(profile, "persona"))] == ["Lin"]


async def test_memories_wait_for_a_profile_until_they_are_marked_as_consumed(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    profile = scope.profile("agent")
    a, b, c = await add(
        store, scope, new_memory("a", updated_at=30), new_memory("b", updated_at=20), new_memory("c", updated_at=25)
    )
    assert (await store.read(lambda r: r.profiles.unconsumed(profile, 2))) == (a, b)
    now = await state(store, profile)
    assert (now.unconsumed, now.oldest_unconsumed_at) == (3, 20)

    await store.write(lambda r: r.profiles.mark_consumed(profile, [a.seq, b.seq]))

    assert [m.seq for m in await store.read(lambda r: r.profiles.unconsumed(profile, 9))] == [c.seq]
    await store.write(lambda r: r.memories.retire(scope, c.seq, 99, None))
    assert (await state(store, profile)).unconsumed == 0


async def test_the_memories_of_all_users_of_an_agent_wait_for_one_profile(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    await add(store, scope, new_memory("a"))
    await add(store, replace(scope, user="max"), new_memory("b"))

    found = await store.read(lambda r: r.profiles.unconsumed(scope.profile("agent"), 9))
    assert [m.content for m in found] == ["a", "b"]


async def test_known_versions_are_those_that_exist_live_or_retired(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    a, b, c = await add(store, scope, new_memory("a"), new_memory("b"), new_memory("c", memory_id="gone"))
    await store.write(lambda r: r.memories.retire(scope, b.seq, 1, None))
    await store.write(lambda r: r.erasure.memories(scope, ["gone"], None))

    known = await store.read(lambda r: r.profiles.known(scope.profile("agent"), [a.seq, b.seq, c.seq, 999_999]))
    assert known == {a.seq, b.seq}


async def test_a_document_lists_the_live_memories_of_its_profile_that_it_was_built_from(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Build
) -> None:
    """Invariant 6: every version lists the L1 it was built from."""
    profile = scope.profile("agent")
    a, b = await add(store, scope, new_memory("a"), new_memory("b"))
    (foreign,) = await add(store, replace(scope, agent="other"), new_memory("c"))
    cites = (a.seq, b.seq, foreign.seq, 999_999)
    document = await store.write(lambda r: r.profiles.write(profile, new_document(memory_seqs=cites)))
    await store.write(lambda r: r.memories.retire(scope, b.seq, 1, None))

    assert [m.seq for m in await store.read(lambda r: r.profiles.sources(profile, document.seq))] == [a.seq]
    built = await store.read(lambda r: r.profiles.built_from(profile, "scene", a.seq))
    assert built == (document,)
    assert await store.read(lambda r: r.profiles.built_from(profile, "persona", a.seq)) == ()
    assert await store.read(lambda r: r.profiles.built_from(profile, "scene", foreign.seq)) == ()


async def test_a_document_may_rest_on_more_memories_than_it_was_written_from(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Build
) -> None:
    profile = scope.profile("agent")
    a, b = await add(store, scope, new_memory("a"), new_memory("b"))
    document = await store.write(lambda r: r.profiles.write(profile, new_document(memory_seqs=(a.seq,))))

    await store.write(lambda r: r.profiles.add_sources(profile, document.seq, [a.seq, b.seq, 999_999]))

    assert await store.read(lambda r: r.profiles.sources(profile, document.seq)) == (a, b)


async def test_only_live_versions_count_as_built_from_a_memory(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Build
) -> None:
    profile = scope.profile("agent")
    (a,) = await add(store, scope, new_memory("a"))
    await store.write(lambda r: r.profiles.write(profile, new_document(memory_seqs=(a.seq,))))
    await store.write(lambda r: r.profiles.write(profile, new_document(memory_seqs=())))

    assert await store.read(lambda r: r.profiles.built_from(profile, "scene", a.seq)) == ()


async def test_a_portrait_consumes_scenes_memories_and_the_request(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Build
) -> None:
    profile = scope.profile("agent")
    rows = await add(store, scope, new_memory("a"), new_memory("b"))

    def scenes(r: Repositories) -> None:
        r.profiles.write(profile, new_document())
        r.profiles.scenes_done(profile, 50)
        r.profiles.request_persona(profile, "moved")

    await store.write(scenes)
    before = await state(store, profile)
    assert (before.scenes, before.scenes_at, before.changed_scenes, before.persona_request) == (1, 50, 1, "moved")
    assert (before.memories_since_portrait, before.last_memory) == (2, rows[-1].seq)

    await store.write(lambda r: r.profiles.portrait_done(profile, 60, before.last_memory, before.last_document))
    after = await state(store, profile)
    assert (after.portrayed_at, after.changed_scenes, after.memories_since_portrait) == (60, 0, 0)
    assert after.persona_request == ""

    await add(store, scope, new_memory("c"))
    await store.write(lambda r: r.profiles.write(profile, new_document("garden.md")))
    later = await state(store, profile)
    assert (later.changed_scenes, later.memories_since_portrait, later.scenes) == (1, 1, 2)


async def test_the_state_holds_the_live_persona(store: Store, scope: Scope, new_document: Build) -> None:
    profile = scope.profile("agent")
    written = await store.write(lambda r: r.profiles.write(profile, new_document(PERSONA_PATH, "Lin", kind="persona")))

    assert (await state(store, profile)).persona == written


async def test_the_last_message_of_a_profile_is_that_of_its_agent_or_of_its_user_alone(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    others = [replace(scope, user="max"), replace(scope, agent="other"), replace(scope, team="other")]

    def say(r: Repositories) -> None:
        for number, who in enumerate([scope, *others]):
            r.conversations.append(who, "s1", "", [new_message()], 100 + number)
        for kind in ("agent", "agent_user"):
            r.profiles.ensure(scope.profile(kind))

    await store.write(say)

    assert (await state(store, scope.profile("agent"))).last_message_at == 101
    assert (await state(store, scope.profile("agent_user"))).last_message_at == 100


async def test_the_versions_of_a_document_are_told_newest_first_with_the_time_each_was_retired(
    store: Store, scope: Scope, new_document: Build
) -> None:
    """Invariant 8: versions are kept and can be restored."""
    profile = scope.profile("agent")

    def write(r: Repositories) -> None:
        for body, at in (("one", 10), ("two", 20)):
            r.profiles.write(profile, new_document("home.md", body, updated_at=at))
        r.profiles.retire(profile, "scene", "home.md", 25)
        r.profiles.write(profile, new_document("home.md", "three", updated_at=30))
        r.profiles.write(profile, new_document("garden.md", "other"))
        r.profiles.write(profile, new_document("home.md", "no scene", kind="persona"))

    await store.write(write)

    found = await store.read(lambda r: r.profiles.versions(profile, "scene", "home.md"))
    assert [(d.version, d.body, until) for d, until in found] == [(3, "three", None), (2, "two", 25), (1, "one", 20)]
    assert found[0][0] == await store.read(lambda r: r.profiles.document(profile, "scene", "home.md"))
    assert await store.read(lambda r: r.profiles.versions(profile, "scene", "unknown.md")) == ()


async def test_a_proposed_version_is_in_the_history_and_nowhere_else(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Build
) -> None:
    """What was written by hand stays until somebody accepts what the model would write."""
    profile = scope.profile("agent")
    (memory,) = await add(store, scope, new_memory("a"))
    portrait = new_document(PERSONA_PATH, "by hand", kind="persona", origin="human")
    proposal = new_document(PERSONA_PATH, "by a model", kind="persona", updated_at=77, memory_seqs=(memory.seq,))
    live = await store.write(lambda r: r.profiles.write(profile, portrait))

    proposed = await store.write(lambda r: r.profiles.propose(profile, proposal))

    assert (proposed.version, proposed.body) == (2, "by a model")
    assert await store.read(lambda r: r.profiles.documents(profile, "persona")) == (live,)
    assert (await state(store, profile)).persona == live
    assert await store.read(lambda r: r.profiles.versions(profile, "persona", PERSONA_PATH)) == (
        (proposed, 77),
        (live, None),
    )
    assert await store.read(lambda r: r.profiles.sources(profile, proposed.seq)) == (memory,)
    assert await store.read(lambda r: r.profiles.built_from(profile, "persona", memory.seq)) == ()


async def test_the_version_after_a_proposal_takes_the_next_number_and_the_place_of_the_live_one(
    store: Store, scope: Scope, new_document: Build
) -> None:
    profile = scope.profile("agent")

    def write(r: Repositories) -> None:
        r.profiles.write(profile, new_document(body="live"))
        r.profiles.propose(profile, new_document(body="proposed", updated_at=5))
        r.profiles.write(profile, new_document(body="accepted", updated_at=9))

    await store.write(write)

    found = await store.read(lambda r: r.profiles.versions(profile, "scene", "home.md"))
    assert [(d.version, d.body, until) for d, until in found] == [
        (3, "accepted", None),
        (2, "proposed", 5),
        (1, "live", 9),
    ]


async def test_a_proposal_for_a_document_that_is_not_there_makes_none(
    store: Store, scope: Scope, new_document: Build
) -> None:
    profile = scope.profile("agent")
    await store.write(lambda r: r.profiles.propose(profile, new_document(PERSONA_PATH, kind="persona", updated_at=5)))

    assert await store.read(lambda r: r.profiles.document(profile, "persona", PERSONA_PATH)) is None
    assert await store.write(lambda r: r.profiles.retire(profile, "persona", PERSONA_PATH, 9)) is False


async def test_the_state_tells_which_scene_versions_the_last_portrait_was_shown(
    store: Store, scope: Scope, new_document: Build
) -> None:
    profile = scope.profile("agent")
    first = await store.write(lambda r: r.profiles.write(profile, new_document()))
    assert (await state(store, profile)).portrayed_document == 0

    await store.write(lambda r: r.profiles.portrait_done(profile, 60, 0, first.seq))
    second = await store.write(lambda r: r.profiles.write(profile, new_document(body="changed")))

    now = await state(store, profile)
    assert (now.portrayed_document, now.last_document, now.changed_scenes) == (first.seq, second.seq, 1)
