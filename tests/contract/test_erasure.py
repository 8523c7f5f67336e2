"""The one delete path (invariant 10): every copy goes, and the answer counts what really went."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from memstrata.clock import day_of
from memstrata.records import (
    PERSONA_PATH,
    Deletion,
    Job,
    MemoryRecord,
    Message,
    NewDocument,
    NewMemory,
    NewMessage,
    RunOutput,
    RunRecord,
    Scope,
    SessionTarget,
)
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MemoryFilter, MessageFilter, StaleFile

WORDS = ["plum", "mango", "kiwi", "corn", "drink"]  # words that are their own stems


@dataclass(frozen=True)
class Filled:
    """Two sessions, three messages, two memories, a scene on each, a persona on both."""

    one: SessionTarget
    two: SessionTarget
    messages: dict[str, Message]
    memories: dict[str, MemoryRecord]


@pytest.fixture
async def filled(
    store: Store,
    scope: Scope,
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> Filled:
    profile = scope.profile("agent")

    def work(r: Repositories) -> Filled:
        one = r.conversations.append(
            scope, "s1", "t1", [new_message("plum", message_id="a"), new_message("mango", message_id="b")], 0
        )
        two = r.conversations.append(scope, "s2", "t2", [new_message("kiwi", message_id="c")], 0)
        r.conversations.keep_receipt(one, "key", b"payload", ["a", "b"], 0)
        messages = {m.message_id: m for m in r.conversations.page(scope, MessageFilter(), 9, 0)}
        memories = {
            "plum": new_memory("plum", memory_id="m_plum", task_id="t1", source_seqs=(messages["a"].seq,)),
            "both": new_memory("corn", memory_id="m_both", source_seqs=(messages["b"].seq, messages["c"].seq)),
        }
        stored = {name: r.memories.add(scope, profile, memory) for name, memory in memories.items()}
        seqs = {name: memory.seq for name, memory in stored.items()}
        r.profiles.write(profile, new_document("plum.md", memory_seqs=(seqs["plum"], seqs["both"])))
        r.profiles.write(profile, new_document("both.md", memory_seqs=(seqs["both"],)))
        r.profiles.write(profile, new_document(PERSONA_PATH, kind="persona", memory_seqs=tuple(seqs.values())))
        r.profiles.mark_consumed(profile, seqs.values())
        r.jobs.arm("l1", one, 100)
        for stale in r.mirror.stale(99):
            r.mirror.clear_stale(stale)
        return Filled(one, two, messages, stored)

    return await store.write(work)


async def found(store: Store, scope: Scope) -> set[str]:
    """Return which of the words are found by any search."""

    def look(r: Repositories) -> set[str]:
        said = r.conversations.match(scope, WORDS, MessageFilter(), 99)
        kept = r.memories.match(scope, WORDS, MemoryFilter(), 99)
        terms = {*r.conversations.frequencies(scope, WORDS), *r.memories.frequencies(scope, WORDS)}
        assert terms == {m.content for m, _ in said} | {m.content for m, _ in kept}
        return terms

    return await store.read(look)


async def documents(store: Store, scope: Scope) -> list[str]:
    profile = scope.profile("agent")
    return await store.read(
        lambda r: [d.path for kind in ("scene", "persona") for d in r.profiles.documents(profile, kind)]
    )


async def left(store: Store, who: Scope) -> tuple[int, tuple[Job, ...]]:
    """Return how many messages and which jobs a scope still has."""
    return await store.read(
        lambda r: (r.conversations.count(who, MessageFilter()), r.jobs.of(who, who.profile("agent")))
    )


async def test_a_message_takes_along_what_rests_on_nothing_else(store: Store, scope: Scope, filled: Filled) -> None:
    gone = await store.write(lambda r: r.erasure.messages(scope, ["a"], [], None))

    assert gone == Deletion(messages=1, memories=1, documents=2)
    assert await found(store, scope) == {"mango", "kiwi", "corn"}
    assert await store.read(lambda r: r.memories.live(scope, "m_plum")) is None
    assert await documents(store, scope) == ["both.md"]


async def test_a_memory_with_other_support_stays_and_loses_only_the_source(
    store: Store, scope: Scope, filled: Filled
) -> None:
    gone = await store.write(lambda r: r.erasure.messages(scope, ["b"], [], None))

    assert gone == Deletion(messages=1)
    sources = await store.read(lambda r: r.memories.sources(scope, filled.memories["both"].seq))
    assert [m.message_id for m in sources] == ["c"]
    assert len(await documents(store, scope)) == 3


async def test_what_remains_of_a_lost_scene_waits_to_be_written_again(
    store: Store, scope: Scope, filled: Filled
) -> None:
    profile = scope.profile("agent")
    await store.write(lambda r: r.erasure.messages(scope, ["a"], [], None))

    waiting = await store.read(lambda r: r.profiles.unconsumed(profile, 9))
    assert [m.memory_id for m in waiting] == ["m_both"]


async def test_a_lost_persona_makes_no_memory_wait(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Callable[..., NewDocument]
) -> None:
    profile = scope.profile("agent")

    def work(r: Repositories) -> None:
        one = r.memories.add(scope, profile, new_memory("one", memory_id="m_one"))
        two = r.memories.add(scope, profile, new_memory("two"))
        r.profiles.write(profile, new_document(PERSONA_PATH, kind="persona", memory_seqs=(one.seq, two.seq)))
        r.profiles.mark_consumed(profile, [one.seq, two.seq])

    await store.write(work)
    assert await store.write(lambda r: r.erasure.memories(scope, ["m_one"], None)) == Deletion(memories=1, documents=1)

    assert await store.read(lambda r: r.profiles.unconsumed(profile, 9)) == ()


async def test_every_version_of_a_document_goes_with_what_any_version_was_built_from(
    store: Store, scope: Scope, filled: Filled, new_document: Callable[..., NewDocument]
) -> None:
    profile = scope.profile("agent")
    await store.write(lambda r: r.profiles.write(profile, new_document("plum.md", "no plum any more")))

    await store.write(lambda r: r.erasure.memories(scope, ["m_plum"], None))

    assert await documents(store, scope) == ["both.md"]
    again = await store.write(lambda r: r.profiles.write(profile, new_document("plum.md")))
    assert again.version == 1  # no version was left


async def test_a_whole_session_goes_with_its_receipts_and_jobs_and_its_name_is_free_again(
    store: Store, scope: Scope, filled: Filled, new_message: Callable[..., NewMessage]
) -> None:
    gone = await store.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))

    assert gone == Deletion(messages=2, memories=1, documents=2)
    assert await store.read(lambda r: r.conversations.target(scope, "s1")) is None
    assert await store.read(lambda r: r.jobs.of(scope, scope.profile("agent"))) == ()

    def again(r: Repositories) -> None:
        target = r.conversations.append(scope, "s1", "", [new_message("mango", message_id="a")], 0)
        r.conversations.keep_receipt(target, "key", b"other", ["a"], 0)

    await store.write(again)
    progress = await store.read(
        lambda r: r.conversations.progress(r.conversations.target(scope, "s1"), 9)  # type: ignore[arg-type]
    )
    assert (progress.pending_messages, progress.warmup) == (1, 1)


async def test_a_session_that_keeps_a_message_keeps_its_receipts_and_jobs(
    store: Store, scope: Scope, filled: Filled
) -> None:
    await store.write(lambda r: r.erasure.messages(scope, ["a"], [], None))

    assert await store.read(lambda r: r.conversations.receipt(scope, "s1", "key")) is not None
    assert [job.kind for job in await store.read(lambda r: r.jobs.of(scope, scope.profile("agent")))] == ["l1"]


async def test_a_task_narrows_what_is_deleted(store: Store, scope: Scope, filled: Filled) -> None:
    assert await store.write(lambda r: r.erasure.messages(scope, ["a", "c"], ["s1"], "t2")) == Deletion(messages=1)
    assert await store.write(lambda r: r.erasure.memories(scope, ["m_plum"], "t2")) == Deletion()
    assert await store.write(lambda r: r.erasure.memories(scope, ["m_plum"], "t1")) == Deletion(memories=1, documents=2)


async def test_only_rows_that_were_there_are_counted(store: Store, scope: Scope, filled: Filled) -> None:
    unknown = lambda r: r.erasure.messages(scope, ["unknown"], ["nowhere"], None)  # noqa: E731
    assert await store.write(unknown) == Deletion()
    assert await store.write(lambda r: r.erasure.messages(scope, ["a"], ["s1"], None)) == Deletion(2, 1, 2)
    assert await store.write(lambda r: r.erasure.messages(scope, ["a"], ["s1"], None)) == Deletion()
    assert await store.write(lambda r: r.erasure.memories(scope, ["m_plum", "unknown"], None)) == Deletion()


async def test_a_memory_goes_in_all_its_versions_and_is_counted_once(
    store: Store, scope: Scope, filled: Filled, new_memory: Callable[..., NewMemory]
) -> None:
    old = filled.memories["plum"]

    def correct(r: Repositories) -> MemoryRecord:
        new = r.memories.add(scope, scope.profile("agent"), new_memory("drink", memory_id="m_plum", version=1))
        r.memories.retire(scope, old.seq, 99, new.seq)
        return new

    new = await store.write(correct)
    gone = await store.write(lambda r: r.erasure.memories(scope, ["m_plum"], None))

    assert gone.memories == 1
    known = await store.read(lambda r: r.profiles.known(scope.profile("agent"), [old.seq, new.seq]))
    assert known == frozenset()
    assert await found(store, scope) == {"plum", "mango", "kiwi", "corn"}  # "plum" as it was said
    last = filled.messages["c"].seq
    assert (
        await store.read(lambda r: [r.memories.buried(scope, text, last) for text in ("plum", "drink")]) == [True] * 2
    )


async def test_an_heir_forgets_the_text_of_what_was_deleted_and_so_does_what_was_built_from_it(
    store: Store,
    scope: Scope,
    filled: Filled,
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> None:
    old, profile = filled.memories["plum"], scope.profile("agent")

    def supersede(r: Repositories) -> MemoryRecord:
        heir = new_memory("drink", metadata={"replaced": "plum", "kept": 1}, source_seqs=(filled.messages["b"].seq,))
        new = r.memories.add(scope, profile, heir)
        r.memories.retire(scope, old.seq, 99, new.seq)
        r.profiles.write(profile, new_document("heir.md", "was an plum", memory_seqs=(new.seq,)))
        return new

    new = await store.write(supersede)
    await store.write(lambda r: r.erasure.messages(scope, ["a"], [], None))

    (heir,) = await store.read(lambda r: r.memories.live_by_seq(scope, [new.seq]))
    assert heir.metadata == {"kept": 1}
    assert await store.read(lambda r: r.memories.replaced(scope, new.seq)) == ()
    assert "heir.md" not in await documents(store, scope)


async def test_deletions_mark_the_mirror_files_that_held_the_rows(store: Store, scope: Scope, filled: Filled) -> None:
    await store.write(lambda r: r.erasure.messages(scope, ["a"], [], None))

    said = day_of(filled.messages["a"].recorded_at)
    kept = day_of(filled.memories["plum"].updated_at)
    stale = await store.read(lambda r: r.mirror.stale(9))
    assert StaleFile("conversations", "default", said) in stale
    assert StaleFile("records", "default", kept) in stale
    assert [one.kind for one in stale].count("profile") == 1


async def test_clearing_an_agent_empties_all_its_layers_for_all_its_users(
    store: Store, scope: Scope, filled: Filled, new_message: Callable[..., NewMessage]
) -> None:
    user = replace(scope, user="max")
    neighbours = [
        replace(scope, agent="other"),
        replace(scope, team="other"),
        replace(scope, instance="other"),
    ]

    def say(r: Repositories) -> None:
        for who in (user, *neighbours):
            r.conversations.append(who, "s1", "", [new_message("plum")], 0)
        r.jobs.arm("l2", r.profiles.ensure(scope.profile("agent")), 100)
        r.profiles.scenes_done(scope.profile("agent"), 5)

    await store.write(say)

    gone = await store.write(lambda r: r.erasure.agent("default", "home", "assistant"))

    assert gone == Deletion(messages=4, memories=2, documents=3)
    for who in (scope, user):
        assert await found(store, who) == set()
        assert await left(store, who) == (0, ())
    assert await documents(store, scope) == []
    state = await store.read(lambda r: r.profiles.state(scope.profile("agent")))
    assert state is not None
    assert (state.scenes_at, state.portrayed_at, state.last_document) == (0, 0, 0)
    for who in neighbours:
        assert await found(store, who) == {"plum"}


async def test_an_id_of_an_agents_memory_names_everyone_it_may_mean(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    def say(r: Repositories) -> None:
        for team, agent in (("a-b", "c"), ("a", "b-c")):
            r.conversations.append(replace(scope, team=team, agent=agent), "s1", "", [new_message("plum")], 0)

    await store.write(say)

    async def named(memory_id: str, instance: str = "default") -> set[tuple[str, str]]:
        return set(await store.read(lambda r: r.erasure.agents_named(instance, memory_id)))

    assert await named("chat_memory-a-b-c") == {("a-b", "c"), ("a", "b-c")}
    assert await named("chat_memory-a-b-c", "other") == await named("chat_memory-no-one") == set()
    assert await store.write(lambda r: r.erasure.agent("default", "no", "one")) == Deletion()


async def test_old_receipts_expire_and_newer_ones_stay(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    def keep(r: Repositories) -> None:
        target = r.conversations.append(scope, "s1", "", [new_message()], 0)
        for key, at in (("old", 10), ("new", 20)):
            r.conversations.keep_receipt(target, key, b"", [], at)

    await store.write(keep)

    assert await store.write(lambda r: r.erasure.old_receipts(20)) == 1
    assert await store.read(lambda r: r.conversations.receipt(scope, "s1", "old")) is None
    assert await store.read(lambda r: r.conversations.receipt(scope, "s1", "new")) is not None


async def test_a_proposal_goes_with_what_it_was_built_from_and_leaves_what_was_written_by_hand(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Callable[..., NewDocument]
) -> None:
    """The live portrait never came from the proposal, so the deleted memory is not in it."""
    profile = scope.profile("agent")
    by_hand = new_document(PERSONA_PATH, "by hand", kind="persona", origin="human")

    def work(r: Repositories) -> None:
        memory = r.memories.add(scope, profile, new_memory("plum", memory_id="m"))
        r.profiles.write(profile, by_hand)
        cites = (memory.seq,)
        r.profiles.propose(profile, new_document(PERSONA_PATH, "plum", kind="persona", memory_seqs=cites))

    await store.write(work)

    assert await store.write(lambda r: r.erasure.memories(scope, ["m"], None)) == Deletion(memories=1)

    left = await store.read(lambda r: r.profiles.versions(profile, "persona", PERSONA_PATH))
    assert [(document.body, until) for document, until in left] == [("by hand", None)]


async def test_what_was_written_after_a_proposal_goes_with_it(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Callable[..., NewDocument]
) -> None:
    """It may be the proposal, accepted."""
    profile = scope.profile("agent")

    def work(r: Repositories) -> None:
        memory = r.memories.add(scope, profile, new_memory("plum", memory_id="m"))
        r.profiles.write(profile, new_document(PERSONA_PATH, "by hand", kind="persona"))
        r.profiles.propose(profile, new_document(PERSONA_PATH, "plum", kind="persona", memory_seqs=(memory.seq,)))
        r.profiles.write(profile, new_document(PERSONA_PATH, "plum, accepted", kind="persona"))

    await store.write(work)

    gone = await store.write(lambda r: r.erasure.memories(scope, ["m"], None))

    assert gone == Deletion(memories=1, documents=1)
    assert await store.read(lambda r: r.profiles.versions(profile, "persona", PERSONA_PATH)) == ()


async def test_parked_messages_go_with_their_session_and_the_others_stay_parked(
    store: Store, scope: Scope, filled: Filled
) -> None:
    def park(r: Repositories) -> None:
        for target, name in ((filled.one, "a"), (filled.one, "b"), (filled.two, "c")):
            r.conversations.park(target, filled.messages[name].seq, "unreadable", 0)

    await store.write(park)
    await store.write(lambda r: r.erasure.messages(scope, ["a"], [], None))
    assert await store.read(lambda r: r.conversations.parked_count(scope, "s1")) == 1

    await store.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))

    assert await store.read(lambda r: r.conversations.parked_count(scope, None)) == 1
    assert await store.write(lambda r: r.conversations.revive(scope)) == (filled.two,)


async def test_what_a_run_wrote_is_told_no_more_once_its_session_is_gone(
    store: Store, scope: Scope, filled: Filled
) -> None:
    memory = filled.memories["both"]  # it rests on both sessions, so it stays
    outputs = (RunOutput("l1", memory.seq, "store", (filled.messages["b"].seq, filled.messages["c"].seq)),)
    run = RunRecord("l1", "items", 1, 2, 1, 0, "model", 1, 2, outputs=outputs)
    await store.write(lambda r: r.jobs.record(filled.one, run))

    await store.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))

    assert await store.read(lambda r: r.memories.live(scope, memory.memory_id)) is not None
    assert await store.read(lambda r: r.generations.of_output("default", "l1", memory.seq)) == ()
    assert await store.read(lambda r: r.jobs.last_run("l1", scope, scope.profile("agent"))) is None
