"""Invariant 4: no row of one scope is returned, counted, changed or deleted by a call of another.

Each repository method is one entry in a table: called by a neighbour that uses the very same session, message, memory and
scene ids, it must find nothing and change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from memstrata.records import (
    PERSONA_PATH,
    Deletion,
    LayerLoad,
    Neighbours,
    NewDocument,
    NewMemory,
    NewMessage,
    RunRecord,
    Scope,
    SessionTarget,
)
from memstrata.store.protocol import Repositories, Store
from memstrata.store.shapes import MemoryFilter, MessageFilter

MESSAGES = MessageFilter()
MEMORIES = MemoryFilter()
OWNER = Scope("a|b", "c", "d|e", "f")
NEIGHBOURS = {
    "another user": replace(OWNER, user="g"),
    "another agent": replace(OWNER, agent="g"),
    "another team": replace(OWNER, team="g"),
    "another instance": replace(OWNER, instance="g"),
    "ids that look alike when joined": Scope("a", "b|c", "d", "e|f"),
    "ids that differ in case": replace(OWNER, user="F"),
    "ids that differ in blanks": replace(OWNER, user="f "),
    "ids that look alike when normalised": replace(OWNER, user="ｆ"),
}


@dataclass(frozen=True)
class Rows:
    """Builders of rows with the same ids for everybody."""

    message: Callable[..., NewMessage]
    memory: Callable[..., NewMemory]
    document: Callable[..., NewDocument]

    def fill(self, r: Repositories, who: Scope, text: str, memory_id: str) -> tuple[int, int]:
        """Write one of everything; return the seqs of the message and the memory."""
        profile = who.profile("agent_user")
        target = r.conversations.append(who, "s1", "task", [self.message(text, message_id="same")], 0)
        r.conversations.keep_receipt(target, "key", b"payload", ["same"], 0)
        (message,) = r.conversations.undistilled(target, 9)
        r.conversations.park(target, message.seq, "unreadable", 0)
        r.jobs.arm("l1", target, 100)
        r.jobs.record(target, RunRecord("l1", "items", 1, 1, 1, 0, "model", 1, 2))
        memory = r.memories.add(
            who, profile, self.memory(text, memory_id=memory_id, slot="home", source_seqs=(message.seq,))
        )
        r.profiles.write(profile, self.document("home.md", text, memory_seqs=(memory.seq,)))
        r.profiles.write(profile, self.document(PERSONA_PATH, text, kind="persona", memory_seqs=(memory.seq,)))
        r.jobs.arm("l2", r.profiles.ensure(profile), 100)
        return message.seq, memory.seq


@pytest.fixture
def rows(
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> Rows:
    return Rows(new_message, new_memory, new_document)


def view(r: Repositories, who: Scope) -> Mapping[str, Any]:
    """Return all that the store tells a scope about itself."""
    profile = who.profile("agent_user")
    conversations, memories, profiles = r.conversations, r.memories, r.profiles
    target = conversations.target(who, "s1")
    live = memories.page(who, MEMORIES, 99, 0)
    return {
        "messages": conversations.page(who, MESSAGES, 99, 0),
        "messages found": [m for m, _ in conversations.match(who, ["secret"], MESSAGES, 99)],
        "progress": conversations.progress(target, 9) if target else None,
        "parked": conversations.parked_count(who, None),
        "why parked": conversations.parked_reason(who, None),
        "pending": conversations.pending_count(who, None),
        "receipt": conversations.receipt(who, "s1", "key"),
        "memories": live,
        "memories found": [m for m, _ in memories.match(who, ["secret"], MEMORIES, 99)],
        "sources": [memories.sources(who, memory.seq) for memory in live],
        "versions": [memories.versions(who, memory.memory_id) for memory in live],
        "state": profiles.state(profile),
        "scenes": profiles.documents(profile, "scene"),
        "scene versions": profiles.versions(profile, "scene", "home.md"),
        "scene sources": [profiles.sources(profile, d.seq) for d in profiles.documents(profile, "scene")],
        "persona": profiles.document(profile, "persona", PERSONA_PATH),
        "jobs": r.jobs.of(who, profile),
        "last run": r.jobs.last_run("l1", who, profile),
    }


Read = Callable[[Repositories, Scope, int, int], Any]
READS: Mapping[str, tuple[Read, Any]] = {
    "receipt": (lambda r, who, _, __: r.conversations.receipt(who, "s1", "key"), None),
    "messages by id": (lambda r, who, _, __: dict(r.conversations.by_id(who, "s1", ["same"])), {}),
    "session": (lambda r, who, _, __: r.conversations.target(who, "s1"), None),
    "pending sessions": (lambda r, who, _, __: r.conversations.pending_sessions(who, None), ()),
    "pending count": (lambda r, who, _, __: r.conversations.pending_count(who, "s1"), 0),
    "parked messages": (lambda r, who, _, __: r.conversations.parked_count(who, None), 0),
    "parked messages of a session": (lambda r, who, _, __: r.conversations.parked_count(who, "s1"), 0),
    "why a message is parked": (lambda r, who, _, __: r.conversations.parked_reason(who, "s1"), ""),
    "page of messages": (lambda r, who, _, __: r.conversations.page(who, MESSAGES, 9, 0), ()),
    "page of a session": (lambda r, who, _, __: r.conversations.page(who, MessageFilter("s1"), 9, 0), ()),
    "page of a task": (lambda r, who, _, __: r.conversations.page(who, MessageFilter(task_id="task"), 9, 0), ()),
    "count of messages": (lambda r, who, _, __: r.conversations.count(who, MESSAGES), 0),
    "messages by seq": (lambda r, who, message, _: r.conversations.by_seq(who, [message]), ()),
    "messages chosen": (lambda r, who, message, _: r.conversations.chosen(who, [message], MESSAGES), ()),
    "seqs of messages": (lambda r, who, _, __: r.conversations.seqs(who, MESSAGES), ()),
    "size of messages": (lambda r, who, _, __: r.conversations.size(who), 0),
    "message terms": (lambda r, who, _, __: dict(r.conversations.frequencies(who, ["secret"])), {}),
    "messages found": (lambda r, who, _, __: r.conversations.match(who, ["secret"], MESSAGES, 9), ()),
    "live memory": (lambda r, who, _, __: r.memories.live(who, "m_owner"), None),
    "memories by seq": (lambda r, who, _, memory: r.memories.live_by_seq(who, [memory]), ()),
    "memory by content": (lambda r, who, _, __: r.memories.by_content(who, "secret"), None),
    "memories by slot": (lambda r, who, _, __: r.memories.by_slot(who, "home"), ()),
    "memories on a message": (lambda r, who, message, _: r.memories.citing(who, [message]), ()),
    "versions of a memory": (lambda r, who, _, __: r.memories.versions(who, "m_owner"), ()),
    "memories chosen": (lambda r, who, _, memory: r.memories.chosen(who, [memory], MEMORIES), ()),
    "seqs of memories": (lambda r, who, _, __: r.memories.seqs(who, MEMORIES), ()),
    "page of memories": (lambda r, who, _, __: r.memories.page(who, MEMORIES, 9, 0), ()),
    "count of memories": (lambda r, who, _, __: r.memories.count(who, MEMORIES), 0),
    "sources of a memory": (lambda r, who, _, memory: r.memories.sources(who, memory), ()),
    "what a memory replaced": (lambda r, who, _, memory: r.memories.replaced(who, memory), ()),
    "size of memories": (lambda r, who, _, __: r.memories.size(who), 0),
    "memory terms": (lambda r, who, _, __: dict(r.memories.frequencies(who, ["secret"])), {}),
    "memories found": (lambda r, who, _, __: r.memories.match(who, ["secret"], MEMORIES, 9), ()),
    "buried": (lambda r, who, message, _: r.memories.buried(who, "deleted", message), False),
    "spent": (lambda r, who, message, _: r.memories.spent(who, [message]), frozenset()),
    "profile": (lambda r, who, _, __: r.profiles.target(who.profile("agent_user")), None),
    "state of a profile": (lambda r, who, _, __: r.profiles.state(who.profile("agent_user")), None),
    "unconsumed": (lambda r, who, _, __: r.profiles.unconsumed(who.profile("agent_user"), 9), ()),
    "known": (lambda r, who, _, memory: r.profiles.known(who.profile("agent_user"), [memory]), frozenset()),
    "documents": (lambda r, who, _, __: r.profiles.documents(who.profile("agent_user"), "scene"), ()),
    "document": (lambda r, who, _, __: r.profiles.document(who.profile("agent_user"), "scene", "home.md"), None),
    "sources of documents": (
        lambda r, who, _, __: [r.profiles.sources(who.profile("agent_user"), seq) for seq in range(9)],
        [()] * 9,
    ),
    "versions of a document": (
        lambda r, who, _, __: r.profiles.versions(who.profile("agent_user"), "scene", "home.md"),
        (),
    ),
    "built from a memory": (
        lambda r, who, _, memory: r.profiles.built_from(who.profile("agent_user"), "scene", memory),
        (),
    ),
    "jobs": (lambda r, who, _, __: r.jobs.of(who, who.profile("agent_user")), ()),
    "last run": (lambda r, who, _, __: r.jobs.last_run("l1", who, who.profile("agent_user")), None),
}


async def told(store: Store, read: Read, who: Scope, message: int, memory: int) -> Any:
    return await store.read(lambda r: read(r, who, message, memory))


@pytest.mark.parametrize("neighbour", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
async def test_nothing_of_a_scope_is_told_to_its_neighbour(store: Store, rows: Rows, neighbour: Scope) -> None:
    def fill(r: Repositories) -> tuple[int, int]:
        seqs = rows.fill(r, OWNER, "secret", "m_owner")
        r.memories.add(
            OWNER, OWNER.profile("agent_user"), rows.memory("deleted", memory_id="m_deleted", source_seqs=seqs[:1])
        )
        r.erasure.memories(OWNER, ["m_deleted"], None)
        return seqs

    seqs = await store.write(fill)

    for name, (read, nothing) in READS.items():
        assert await told(store, read, neighbour, *seqs) == nothing, name
    for name in ("buried", "spent"):
        read, nothing = READS[name]
        assert await told(store, read, OWNER, *seqs) != nothing, name


@pytest.mark.parametrize("neighbour", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
async def test_nothing_of_a_scope_is_told_to_a_neighbour_that_is_known_and_has_nothing(
    store: Store, rows: Rows, neighbour: Scope
) -> None:
    """Whom the store has never seen has no number, and finds nothing whatever a statement says."""

    def fill(r: Repositories) -> tuple[int, int]:
        r.conversations.append(neighbour, "another session", "", [], 0)
        r.profiles.ensure(neighbour.profile("agent_user"))
        return rows.fill(r, OWNER, "secret", "m_owner")

    seqs = await store.write(fill)

    for name, (read, nothing) in READS.items():
        if name not in {"profile", "state of a profile"}:
            assert await told(store, read, neighbour, *seqs) == nothing, name


@pytest.mark.parametrize("neighbour", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
async def test_the_same_reads_tell_the_owner(store: Store, rows: Rows, neighbour: Scope) -> None:
    """The table above would prove nothing if its calls found nothing anyway."""
    seqs = await store.write(lambda r: rows.fill(r, OWNER, "secret", "m_owner"))
    exceptions = {"what a memory replaced", "buried", "spent", "sources of documents"}

    for name, (read, nothing) in READS.items():
        if name not in exceptions:
            assert await told(store, read, OWNER, *seqs) != nothing, name


@pytest.mark.parametrize("neighbour", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
async def test_around_a_message_stands_nothing_that_was_said_to_others(
    store: Store, rows: Rows, neighbour: Scope
) -> None:
    """In the same session by its id, written in turns."""

    names = {OWNER: "owner", neighbour: "stranger"}

    def fill(r: Repositories) -> None:
        for turn in range(3):
            for who, name in names.items():
                r.conversations.append(who, "s1", "", [rows.message(f"{name} {turn}")], 0)

    def look(r: Repositories) -> None:
        middle = {who: r.conversations.page(who, MESSAGES, 9, 0)[1].seq for who in names}
        for who, other in ((OWNER, neighbour), (neighbour, OWNER)):
            around = r.conversations.around(who, middle[who], 9, 9)
            assert [m.content for m in (*around.before, *around.after)] == [f"{names[who]} 0", f"{names[who]} 2"]
            assert r.conversations.around(who, middle[other], 9, 9) == Neighbours()

    await store.write(fill)
    await store.read(look)


def own_session(r: Repositories, who: Scope) -> SessionTarget:
    """Return the session of the same name that a neighbour has itself."""
    return r.conversations.append(who, "s1", "", [], 0)


WRITES: Mapping[str, Read] = {
    "append": lambda r, who, _, __: r.conversations.append(who, "s1", "", [], 9_999_999),
    "park a foreign message": lambda r, who, message, _: r.conversations.park(own_session(r, who), message, "why", 5),
    "take a foreign message out": lambda r, who, message, _: r.conversations.unpark(own_session(r, who), [message]),
    "bring parked messages back": lambda r, who, _, __: r.conversations.revive(who),
    "retire a memory": lambda r, who, _, memory: r.memories.retire(who, memory, 5, None),
    "cite a foreign message": lambda r, who, message, memory: r.memories.add_sources(who, memory, [message]),
    "consume": lambda r, who, _, memory: r.profiles.mark_consumed(who.profile("agent_user"), [memory]),
    "propose a scene": lambda r, who, _, memory: r.profiles.propose(
        who.profile("agent_user"),
        NewDocument("scene", "home.md", "theirs", "", 1, "model", 0, 0, memory_seqs=(memory,)),
    ),
    "retire a scene": lambda r, who, _, __: r.profiles.retire(who.profile("agent_user"), "scene", "home.md", 5),
    "ask for a persona": lambda r, who, _, __: r.profiles.request_persona(who.profile("agent_user"), "why"),
    "end L2": lambda r, who, _, __: r.profiles.scenes_done(who.profile("agent_user"), 5),
    "end L3": lambda r, who, _, __: r.profiles.portrait_done(who.profile("agent_user"), 5, 99, 99),
    "revive": lambda r, who, _, __: r.jobs.revive(who, who.profile("agent_user"), 5),
    "delete messages": lambda r, who, _, __: r.erasure.messages(who, ["same"], ["s1"], None),
    "delete memories": lambda r, who, _, __: r.erasure.memories(who, ["m_owner"], None),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("neighbour", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
async def test_nothing_of_a_scope_is_changed_by_its_neighbour(
    store: Store, rows: Rows, neighbour: Scope, name: str
) -> None:
    def fill(r: Repositories) -> tuple[int, int]:
        seqs = rows.fill(r, OWNER, "secret", "m_owner")
        for lease in r.jobs.claim("w", 100, 160, 9):
            r.jobs.bury(lease, "broken")
        return seqs

    message, memory = await store.write(fill)
    before = await store.read(lambda r: view(r, OWNER))

    result = await store.write(lambda r: WRITES[name](r, neighbour, message, memory))

    assert await store.read(lambda r: view(r, OWNER)) == before
    if isinstance(result, Deletion):
        assert result == Deletion()


@pytest.mark.parametrize("neighbour", NEIGHBOURS.values(), ids=NEIGHBOURS.keys())
async def test_two_scopes_with_the_same_ids_live_side_by_side(store: Store, rows: Rows, neighbour: Scope) -> None:
    await store.write(lambda r: rows.fill(r, OWNER, "secret", "m_owner"))
    alone = await store.read(lambda r: view(r, OWNER))

    await store.write(lambda r: rows.fill(r, neighbour, "secret of another", "m_neighbour"))
    assert await store.read(lambda r: view(r, OWNER)) == alone
    theirs = await store.read(lambda r: view(r, neighbour))
    assert [m.content for m in theirs["messages"]] == ["secret of another"]
    assert [m.content for m in theirs["memories"]] == ["secret of another"]

    await store.write(lambda r: r.erasure.messages(neighbour, [], ["s1"], None))
    assert await store.read(lambda r: view(r, OWNER)) == alone


async def test_an_instance_sees_its_own_load_only(store: Store, rows: Rows) -> None:
    await store.write(lambda r: rows.fill(r, OWNER, "secret", "m_owner"))

    load = await store.read(lambda r: r.jobs.load("another"))
    assert set(load.values()) == {LayerLoad(0, 0, 0)}


async def test_clearing_an_agent_stays_inside_its_instance(store: Store, rows: Rows) -> None:
    await store.write(lambda r: rows.fill(r, OWNER, "secret", "m_owner"))
    before = await store.read(lambda r: view(r, OWNER))

    assert await store.read(lambda r: r.erasure.agents_named("another", "chat_memory-c-d|e")) == frozenset()
    assert await store.write(lambda r: r.erasure.agent("another", OWNER.team, OWNER.agent)) == Deletion()

    assert await store.read(lambda r: view(r, OWNER)) == before


async def test_memories_that_a_foreign_one_took_the_place_of_are_told_to_nobody_else(store: Store, rows: Rows) -> None:
    """The chain of versions is followed by row numbers; it must not lead out of the scope."""
    neighbour = replace(OWNER, user="g")
    _, mine = await store.write(lambda r: rows.fill(r, OWNER, "secret", "m_owner"))
    _, theirs = await store.write(lambda r: rows.fill(r, neighbour, "theirs", "m_neighbour"))
    await store.write(lambda r: r.memories.retire(OWNER, mine, 5, theirs))

    found = await store.read(lambda r: r.memories.versions(neighbour, "m_neighbour"))
    assert [memory.content for memory in found] == ["theirs"]


async def test_the_last_portrait_of_one_profile_is_not_anothers(store: Store, rows: Rows) -> None:
    neighbour = replace(OWNER, user="g")
    await store.write(lambda r: rows.fill(r, OWNER, "secret", "m_owner"))
    await store.write(lambda r: rows.fill(r, neighbour, "secret", "m_neighbour"))
    await store.write(lambda r: r.profiles.portrait_done(neighbour.profile("agent_user"), 5, 99, 99))

    state = await store.read(lambda r: r.profiles.state(OWNER.profile("agent_user")))
    assert state is not None
    assert (state.portrayed_at, state.portrayed_document) == (0, 0)
