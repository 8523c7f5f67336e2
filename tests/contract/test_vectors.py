"""Vectors follow the rows: which lack one is a query, what is gone has none, and scopes and models are kept apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memstrata.records import MemoryRecord, NewMemory, NewMessage, Scope
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import Coverage, MemoryFilter, MessageFilter, VectorKind

HALF = b"\x00\x3c\x00\x00"  # float16: 1.0, 0.0


async def model_of(store: Store, name: str = "hash/1") -> int:
    return await store.write(lambda r: r.vectors.model(name, 2))


async def add(store: Store, scope: Scope, memory: NewMemory) -> MemoryRecord:
    return await store.write(lambda r: r.memories.add(scope, scope.profile("agent"), memory))


async def missing(store: Store, model: int, kind: VectorKind = "memories", after: int = 0) -> list[str]:
    found = await store.read(lambda r: r.vectors.missing(kind, model, after, 100))
    return [one.content for one in found]


async def put(store: Store, model: int, *rows: MemoryRecord) -> frozenset[int]:
    texts = {row.seq: row.content for row in rows}
    return await store.write(lambda r: r.vectors.put("memories", model, texts, dict.fromkeys(texts, HALF)))


async def test_a_row_lacks_a_vector_until_it_has_one_of_the_model_that_is_asked_for(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    model, other = await model_of(store), await model_of(store, "hash/2")
    row = await add(store, scope, new_memory("lives in Lisbon"))

    assert await missing(store, model) == ["lives in Lisbon"]
    assert await put(store, model, row) == {row.seq}
    assert await missing(store, model) == []
    assert await missing(store, other) == ["lives in Lisbon"]

    assert await put(store, other, row) == {row.seq}
    assert await missing(store, model) == ["lives in Lisbon"]  # one vector a row: that of the last model
    assert await store.read(lambda r: r.vectors.coverage("memories", other)) == Coverage(1, 1, 0)


async def test_a_refused_text_counts_as_present_so_that_it_is_not_sent_for_ever(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    model = await model_of(store)
    row = await add(store, scope, new_memory("refused"))
    await store.write(lambda r: r.vectors.put("memories", model, {row.seq: "refused"}, {row.seq: b""}))

    assert await missing(store, model) == []
    coverage = await store.read(lambda r: r.vectors.coverage("memories", model))
    assert (coverage, coverage.missing) == (Coverage(1, 1, 1), 0)


async def test_a_model_keeps_its_number_and_another_length_is_another_model(store: Store) -> None:
    assert await model_of(store) == await model_of(store)
    assert await model_of(store) != await model_of(store, "hash/2")
    assert await model_of(store) != await store.write(lambda r: r.vectors.model("hash/1", 3))


async def test_refused_texts_can_be_asked_about_again_and_the_others_keep_their_vectors(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    model, other = await model_of(store), await model_of(store, "hash/2")
    kept, *refused = [await add(store, scope, new_memory(text)) for text in ("kept", "one", "two")]
    await put(store, model, kept)
    texts = {row.seq: row.content for row in refused}
    await store.write(lambda r: r.vectors.put("memories", model, texts, dict.fromkeys(texts, b"")))

    assert await store.write(lambda r: r.vectors.ask_again("memories", other)) == ()
    assert await store.write(lambda r: r.vectors.ask_again("memories", model)) == tuple(row.seq for row in refused)
    assert await missing(store, model) == ["one", "two"]
    assert await store.write(lambda r: r.vectors.ask_again("messages", model)) == ()


async def test_the_newest_seq_is_known_though_its_row_is_gone(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    assert await store.read(lambda r: r.vectors.newest("memories")) == 0
    row = await add(store, scope, new_memory("gone"))
    await store.write(lambda r: r.erasure.memories(scope, [row.memory_id], None))
    assert await store.read(lambda r: r.vectors.newest("memories")) == row.seq


async def test_an_agents_keys_are_those_of_all_its_users_and_of_no_other_agent(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    mine, others = (scope, replace(scope, user="max")), (replace(scope, agent="b"), replace(scope, instance="other"))
    for one in (*mine, *others):
        await add(store, one, new_memory("lives in Lisbon"))
    asset = f"chat_memory-{scope.team}-{scope.agent}"
    keys = await store.read(lambda r: r.vectors.agent_keys("memories", scope.instance, asset))
    assert set(keys) == set(await store.read(lambda r: [r.vectors.scope_key("memories", one) for one in mine]))


async def test_what_is_retired_or_deleted_loses_its_vector_and_takes_none(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    model = await model_of(store)
    retired, deleted, kept = [await add(store, scope, new_memory(text)) for text in ("old", "wrong", "kept")]
    await put(store, model, retired, deleted, kept)

    def change(r: Repositories) -> None:
        r.memories.retire(scope, retired.seq, 5, kept.seq)
        r.erasure.memories(scope, [deleted.memory_id], None)

    await store.write(change)
    assert await store.read(lambda r: r.vectors.coverage("memories", model)) == Coverage(1, 1, 0)
    assert await put(store, model, retired, deleted) == frozenset()


async def test_a_deleted_message_loses_its_vector(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    model = await model_of(store)
    await store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message("one"), new_message("two")], 0))
    texts = {one.seq: one.content for one in await store.read(lambda r: r.vectors.missing("messages", model, 0, 10))}
    await store.write(lambda r: r.vectors.put("messages", model, texts, dict.fromkeys(texts, HALF)))
    await store.write(lambda r: r.erasure.messages(scope, (), ["s1"], None))

    assert await store.read(lambda r: r.vectors.coverage("messages", model)) == Coverage(0, 0, 0)


async def test_gaps_are_read_from_a_position_on_in_order(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    model = await model_of(store)
    rows = [await add(store, scope, new_memory(f"fact {number}")) for number in range(5)]

    assert await missing(store, model, after=rows[2].seq) == ["fact 3", "fact 4"]


async def test_scopes_have_keys_of_their_own_and_kinds_too(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    other = replace(scope, user="max")
    for one in (scope, other):
        await add(store, one, new_memory("lives in Lisbon"))
    kinds: tuple[VectorKind, ...] = ("memories", "messages")

    def keys_of(r: Repositories) -> list[str | None]:
        return [r.vectors.scope_key(kind, one) for one in (scope, other) for kind in kinds]

    keys = await store.read(keys_of)
    assert len(set(keys)) == 4
    assert await store.read(lambda r: r.vectors.scope_key("memories", replace(scope, user="nobody"))) is None
    found = await store.read(lambda r: r.vectors.missing("memories", 1, 0, 10))
    assert [one.scope_key for one in found] == [keys[0], keys[2]]


async def test_chosen_rows_and_seqs_obey_scope_and_filter(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory], new_message: Callable[..., NewMessage]
) -> None:
    other = replace(scope, user="max")
    mine = [await add(store, scope, new_memory(kind, type=kind)) for kind in ("persona", "episodic")]
    foreign = await add(store, other, new_memory("theirs"))
    asked = [row.seq for row in (*mine, foreign)]
    where = MemoryFilter(type="persona")
    assert await store.read(lambda r: r.memories.chosen(scope, asked, where)) == (mine[0],)
    assert await store.read(lambda r: r.memories.seqs(scope, where)) == (mine[0].seq,)

    def say(r: Repositories) -> None:
        for session, text in (("s1", "one"), ("s2", "two")):
            r.conversations.append(scope, session, "", [new_message(text)], 0)

    await store.write(say)
    only = MessageFilter(session_id="s2")
    every = await store.read(lambda r: r.conversations.seqs(scope, MessageFilter()))
    chosen = await store.read(lambda r: r.conversations.chosen(scope, every, only))
    assert [message.content for message in chosen] == ["two"]
    assert await store.read(lambda r: r.conversations.seqs(scope, only)) == (chosen[0].seq,)
    assert await store.read(lambda r: r.conversations.chosen(other, every, MessageFilter())) == ()
