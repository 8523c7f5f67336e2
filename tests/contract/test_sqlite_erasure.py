"""Invariant 10, looked at from inside SQLite: after a deletion no table holds a number of what is gone.

Row numbers are never given twice and reads leave out what is gone, so that only the tables themselves can tell.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw
import pytest

from memstrata.records import NewDocument, NewMemory, NewMessage, RunOutput, RunRecord, Scope, Spending, SpendKey, Usage
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore

# What stays when everything that was said and remembered is deleted, and why.
KEPT = {
    "scopes": "who there is",
    "profiles": "who there is",
    "runs": "of L2 and L3: that they ran, without what they wrote",
    "spending": "what it cost",
    "mirror_stale": "files to be written anew",
    "sqlite_sequence": "numbers are never given twice",
}


@dataclass(frozen=True)
class Seqs:
    """One row of each layer."""

    message: int
    memory: int
    scene: int
    persona: int


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def seqs(
    store: SqliteStore,
    scope: Scope,
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> Seqs:
    """One of everything that distillation with a model writes."""
    profile = scope.profile("agent")

    def work(r: Repositories) -> Seqs:
        sent = [new_message("plum", message_id="a"), new_message("mango", message_id="b")]
        session = r.conversations.append(scope, "s1", "", sent, 0)
        message, second = r.conversations.undistilled(session, 9)
        r.conversations.keep_receipt(session, "key", b"", ["a"], 0)
        for one in (message, second):
            r.conversations.park(session, one.seq, "unreadable", 0)
        memory = r.memories.add(scope, profile, new_memory("plum", memory_id="m", source_seqs=(message.seq,))).seq
        scene = r.profiles.write(profile, new_document(memory_seqs=(memory,))).seq
        persona = r.profiles.write(profile, new_document("persona.md", kind="persona", memory_seqs=(memory,))).seq
        r.profiles.propose(profile, new_document("persona.md", kind="persona", memory_seqs=(memory,)))
        target = r.profiles.ensure(profile)
        for kind, owner, output in (
            ("l1", session, RunOutput("l1", memory, "store", (message.seq,))),
            ("l2", target, RunOutput("l2", scene, "write", (memory,))),
            ("l3", target, RunOutput("l3", persona, "write", (scene,))),
        ):
            r.jobs.record(owner, RunRecord(kind, "items", 1, 1, 1, 0, "model", 1, 2, outputs=(output,)))  # type: ignore[arg-type]
            r.jobs.arm(kind, owner, 100)  # type: ignore[arg-type]
        r.spending.add(
            Spending(SpendKey(scope.instance, "home", "assistant", "lin", "extract", "2026-01-05"), Usage(9))
        )
        return Seqs(message.seq, memory, scene, persona)

    return await store.write(work)


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(apsw.Connection(str(folder / DATABASE_NAME))) as connection:
        return query(connection, sql)


def outputs(folder: Path) -> set[tuple[object, ...]]:
    return set(rows(folder, "SELECT layer, seq FROM run_outputs"))


async def test_what_is_named_by_a_run_is_named_until_it_is_deleted(
    store: SqliteStore, scope: Scope, seqs: Seqs, tmp_path: Path
) -> None:
    assert outputs(tmp_path) == {("l1", seqs.memory), ("l2", seqs.scene), ("l3", seqs.persona)}

    await store.write(lambda r: r.erasure.memories(scope, ["m"], None))

    assert outputs(tmp_path) == set()


async def test_a_session_goes_with_its_runs_even_if_what_they_wrote_stays(
    store: SqliteStore, scope: Scope, seqs: Seqs, tmp_path: Path, new_message: Callable[..., NewMessage]
) -> None:
    def say_it_again(r: Repositories) -> None:
        session = r.conversations.append(scope, "s2", "", [new_message("plum")], 0)
        r.memories.add_sources(scope, seqs.memory, [r.conversations.undistilled(session, 1)[0].seq])

    await store.write(say_it_again)

    gone = await store.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))

    assert (gone.messages, gone.memories, gone.documents) == (2, 0, 0)
    assert outputs(tmp_path) == {("l2", seqs.scene), ("l3", seqs.persona)}
    assert rows(tmp_path, "SELECT kind FROM runs ORDER BY kind") == [("l2",), ("l3",)]
    assert rows(tmp_path, "SELECT * FROM parked") == []


async def test_a_parked_message_is_forgotten_alone(
    store: SqliteStore, scope: Scope, seqs: Seqs, tmp_path: Path
) -> None:
    await store.write(lambda r: r.erasure.messages(scope, ["b"], [], None))

    assert rows(tmp_path, "SELECT message_seq FROM parked") == [(seqs.message,)]


async def test_clearing_an_agent_leaves_rows_in_no_table_but_those_that_are_known_to_stay(
    store: SqliteStore, seqs: Seqs, tmp_path: Path
) -> None:
    """A new table must be emptied here, or be named above with its reason."""
    await store.write(lambda r: r.erasure.agent("default", "home", "assistant"))

    names = "SELECT name FROM pragma_table_list WHERE type = 'table' AND schema = 'main' AND name <> 'sqlite_schema'"
    tables = {str(name) for (name,) in rows(tmp_path, names)}
    assert {"messages", "parked", "run_outputs"} <= tables
    assert {table for table in tables if rows(tmp_path, f"SELECT 1 FROM {table} LIMIT 1")} == KEPT.keys()
