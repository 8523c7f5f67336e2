"""What the readable mirror copies, in order, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memstrata.records import NewDocument, NewMemory, NewMessage, RunRecord, Scope
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MirroredProgress, StaleFile

DAY = 86_400_000


async def keep(store: Store, value: int) -> None:
    await store.write(lambda r: r.mirror.keep_position("messages", value))
    await store.write(lambda r: r.mirror.keep_file("a.jsonl", value))


async def test_positions_and_file_sizes_are_kept(store: Store) -> None:
    assert await store.read(lambda r: (r.mirror.position("messages"), r.mirror.file_bytes("a.jsonl"))) == (0, 0)
    for value in (5, 9):
        await keep(store, value)

    assert await store.read(lambda r: (r.mirror.position("messages"), r.mirror.file_bytes("a.jsonl"))) == (9, 9)


async def test_stale_files_are_listed_once_until_they_are_cleared(store: Store) -> None:
    stale = StaleFile("records", "default", "2026-01-05")
    for _ in range(2):
        await store.write(lambda r: r.mirror.mark_stale(stale))

    listed = await store.read(lambda r: r.mirror.stale(9))
    assert listed == (stale,)
    assert await store.read(lambda r: r.mirror.stale(0)) == ()
    await store.write(lambda r: r.mirror.clear_stale(listed[0]))
    assert await store.read(lambda r: r.mirror.stale(9)) == ()


async def test_a_file_that_is_marked_again_while_it_is_written_stays_stale(store: Store) -> None:
    await store.write(lambda r: r.mirror.mark_stale(StaleFile("records", "default", "2026-01-05")))
    (listed,) = await store.read(lambda r: r.mirror.stale(9))

    await store.write(lambda r: r.mirror.mark_stale(listed))
    await store.write(lambda r: r.mirror.clear_stale(listed))

    assert await store.read(lambda r: r.mirror.stale(9)) == (listed,)


async def test_messages_of_all_scopes_follow_in_the_order_of_their_commits(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    other = replace(scope, instance="other")

    def say(r: Repositories) -> None:
        for who, text in ((scope, "one"), (other, "two"), (scope, "three")):
            r.conversations.append(who, "s1", "", [new_message(text)], 0)

    await store.write(say)

    rows = await store.read(lambda r: r.mirror.messages_after(0, 9))
    assert [(who, m.content) for who, m in rows] == [(scope, "one"), (other, "two"), (scope, "three")]
    assert len(await store.read(lambda r: r.mirror.messages_after(0, 2))) == 2
    assert await store.read(lambda r: r.mirror.messages_after(rows[0][1].seq, 9)) == rows[1:]


async def test_a_day_of_messages_is_that_of_its_instance_up_to_what_was_copied(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    times = {"before": DAY - 1, "first": DAY, "last": 2 * DAY - 1, "after": 2 * DAY, "not copied": DAY}

    def say(r: Repositories) -> None:
        for text, at in times.items():
            r.conversations.append(scope, "s1", "", [new_message(text, recorded_at=at)], 0)
        r.conversations.append(replace(scope, instance="other"), "s1", "", [new_message(recorded_at=DAY)], 0)

    await store.write(say)
    seqs = {m.content: m.seq for _, m in await store.read(lambda r: r.mirror.messages_after(0, 9))}

    rows = await store.read(lambda r: r.mirror.messages_of_day("default", DAY, seqs["after"]))
    assert [m.content for _, m in rows] == ["first", "last"]


async def test_memories_are_copied_with_what_they_cite_and_replaced(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage], new_memory: Callable[..., NewMemory]
) -> None:
    profile = scope.profile("agent")

    def work(r: Repositories) -> None:
        target = r.conversations.append(scope, "s1", "", [new_message(message_id="a")], 0)
        (message,) = r.conversations.undistilled(target, 9)
        old = r.memories.add(scope, profile, new_memory("old", memory_id="m", updated_at=DAY))
        cited = new_memory("new", memory_id="m", version=1, updated_at=2 * DAY, source_seqs=(message.seq,))
        new = r.memories.add(scope, profile, cited)
        r.memories.retire(scope, old.seq, 5, new.seq)

    await store.write(work)

    old, new = await store.read(lambda r: r.mirror.memories_after(0, 9))
    assert (old.scope, old.memory.content, old.sources, old.supersedes) == (scope, "old", (), ())
    ((seq, message_id),) = new.sources
    assert (new.memory.content, message_id, new.supersedes) == ("new", "a", (("m", 0),))
    assert await store.read(lambda r: r.conversations.by_seq(scope, [seq])) != ()
    day = await store.read(lambda r: r.mirror.memories_of_day("default", 2 * DAY, new.memory.seq))
    assert day == (new,)
    assert await store.read(lambda r: r.mirror.memories_of_day("default", 2 * DAY, old.memory.seq)) == ()
    assert await store.read(lambda r: r.mirror.memories_of_day("other", 2 * DAY, new.memory.seq)) == ()


async def test_progress_follows_the_runs_that_moved_a_cursor(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    def work(r: Repositories) -> None:
        target = r.conversations.append(scope, "s1", "", [new_message()], 0)
        (message,) = r.conversations.undistilled(target, 9)
        r.jobs.record(target, RunRecord("l1", "retry", 0, 0, 0, 0, "model", 1, 2, "no answer"))
        r.conversations.advance(target, message.seq, 2, "kitchen")
        r.jobs.record(target, RunRecord("l1", "items", 1, 1, 1, 0, "model", 1, 2))

    await store.write(work)

    (progress,) = await store.read(lambda r: r.mirror.progress_after(0, 9))
    assert progress == MirroredProgress(progress.run, scope, "s1", progress.cursor, 2, "kitchen")
    assert progress.cursor > 0
    assert await store.read(lambda r: r.mirror.progress_after(progress.run, 9)) == ()


async def test_a_changed_profile_is_stale_and_is_copied_with_its_live_documents(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_document: Callable[..., NewDocument]
) -> None:
    profile = scope.profile("agent_user")

    def work(r: Repositories) -> None:
        memory = r.memories.add(scope, profile, new_memory(memory_id="m"))
        r.profiles.write(profile, new_document("home.md", "old"))
        r.profiles.write(profile, new_document("home.md", "new", memory_seqs=(memory.seq,)))
        r.profiles.write(profile, new_document("gone.md"))
        r.profiles.retire(profile, "scene", "gone.md", 9)

    await store.write(work)

    (stale,) = await store.read(lambda r: r.mirror.stale(9))
    assert (stale.kind, stale.instance) == ("profile", "default")
    mirrored = await store.read(lambda r: r.mirror.profile(stale.name))
    assert mirrored is not None
    assert mirrored.profile == profile
    assert [(d.body, ids) for d, ids in mirrored.documents] == [("new", ("m",))]
    assert await store.read(lambda r: r.mirror.profile("999999")) is None
