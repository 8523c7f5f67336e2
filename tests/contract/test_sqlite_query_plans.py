"""Every statement that SQLite is given while all verbs are used: none may walk a growing table from end to end.

Statements are collected by tracing, so that a new query is covered by being used; the constants of the repositories are
held against them, so that one that is not used here is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import apsw
import pytest

from memstrata.memory import Memory, MessageInput
from memstrata.records import NewDocument, NewMessage, Poison, Scope, Spending, SpendKey, Usage
from memstrata.records.forgetting import Forgetting
from memstrata.store.protocol import Store
from memstrata.store.shapes import MemoryFilter, PromptFilter
from memstrata.store.sqlite import (
    conversations,
    erasure,
    erasure_reach,
    erasure_removal,
    forgettings,
    generations,
    jobs,
    memories,
    migrations,
    mirror_rows,
    policies,
    profiles,
    prompts,
    scopes,
    spending,
)
from memstrata.store.sqlite.store import DATABASE_NAME
from memstrata.testing import EchoDistiller, FakeClock


def normal(sql: str) -> str:
    return " ".join(sql.split())


MODULES = (
    conversations, erasure, erasure_reach, erasure_removal, forgettings, generations, jobs, memories, mirror_rows, policies,
    profiles, prompts, scopes, spending,
)  # fmt: skip
GROWING = {
    "messages",
    "memories",
    "jobs",
    "sessions",
    "receipts",
    "memory_sources",
    "documents",
    "document_sources",
    "runs",
    "run_outputs",
    "prompt_settings",
    "prompt_changes",
    "parked",
    "spending",
}

# Statements that may walk a table, and why that is no cost of a turn.
ALLOWED = {
    jobs._FORGOTTEN_SESSIONS: "the sweep at the start and once an hour looks at every session on purpose",
    jobs._FORGOTTEN_PROFILES: "the same sweep; it walks the partial index of unconsumed memories, not the table",
    jobs._LOAD: "numbers of a whole instance, for operators",
}

# Beginnings of statements that are about everything an owner has, and why.
WHOLE_OWNER = {
    "SELECT count(*) FROM": "a total is asked for",
    normal(profiles._STATE): "counts what waits, by partial indexes; the highest seq is one step",
    "SELECT seq FROM messages WHERE scope_id IN": "all memory of an agent is being emptied",
    normal(policies._SCOPES): "once a day; of each scope only whether it has a row at all",
    normal(erasure_reach._OLD_MEMORIES): "once a day, where rows are kept for some days only",
    normal(erasure_reach._OLD_MESSAGES): "the same: by age in the order of coming, which ends at the limit",
    normal(erasure_reach._MEMORIES_OF): "all memory of an agent or a user is being emptied",
    f"{normal(mirror_rows._MESSAGES)} WHERE c.instance": "a day's file is written anew, in the background",
    f"{normal(mirror_rows._MEMORIES)} WHERE c.instance": "a day's file is written anew, in the background",
}

# Once in the life of a database.
UPGRADES = {normal(one) for _, script in migrations._scripts() for one in migrations._statements(script)}

_TABLE = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|INTO)\s+(\w+)(?:\s+(?:AS\s+)?(?!JOIN|WHERE|SET|ON|CROSS|ORDER|LEFT|LIMIT)(\w+))?"
)
_SCAN = re.compile(r"SCAN (\w+)")
# A search by its owner alone walks all rows of a scope, a profile or a layer; so does one without any bound.
_BROAD = re.compile(r"SEARCH (\w+) (?:EXISTS )?USING [\w ]+?(?: \((?:scope_id|profile_id|kind|instance)=\?\))?$")
_SORT = "USE TEMP B-TREE FOR ORDER BY"


@pytest.fixture
async def traced(
    tmp_path: Path,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]],
    eventually: Callable[..., Awaitable[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Any]:
    """Use every verb and return the statements with the values they were given."""
    statements: dict[str, Any] = {}

    def keep(_: apsw.Cursor, sql: str, values: Any) -> bool:
        statements.setdefault(normal(sql), values)
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = keep

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, hook])
    async with open_memory() as memory:
        await use_every_verb(memory, scope, clock, distiller)
        clock.advance(2)
        await eventually(lambda: mirrored(memory))
        await delete_all(memory, scope)
    monkeypatch.undo()
    return statements


async def use_every_verb(memory: Memory, scope: Scope, clock: FakeClock, distiller: EchoDistiller) -> None:
    say = [MessageInput("user", "I drink green tea", message_id="a"), MessageInput("assistant", "noted")]
    await memory.add(scope, "s1", say, task_id="t", idempotency_key="k")
    await memory.add(scope, "s1", say, task_id="t", idempotency_key="k")
    await memory.add(scope, "s1", say[:1])
    await memory.add(scope, "s2", [MessageInput("user", "Lin lives in Lisbon")])
    await memory.flush(scope)
    narrow: dict[str, Any] = {"task_id": "t", "since": 0, "until": clock.now() + 1}
    await memory.messages(scope)
    await memory.messages(scope, session_id="s1", **narrow)
    await memory.count_messages(scope, session_id="s1")
    await memory.search_messages(scope, "tea")
    await memory.search_messages(scope, "tea", neighbours=2)
    await memory.search_messages(scope, "tea", session_id="s1", **narrow)
    await memory.memories(scope)
    page = await memory.memories(scope, type="episodic", **narrow)
    await memory.count_memories(scope)
    await memory.search(scope, "green tea", type="episodic", **narrow)
    await memory.recall(scope, "tea")
    await memory.scenes(scope)
    await memory.read_scene(scope, "notes.md")
    await memory.persona_text(scope)
    await memory.trace(scope, page.items[0].memory_id)
    await memory.update_memory(scope, page.items[0].memory_id, "drinks black tea")
    await memory.history(scope, page.items[0].memory_id)
    await memory.undo(scope, page.items[0].memory_id)
    await memory.trace_scene(scope, "notes.md")
    await memory.scene_history(scope, "notes.md")
    await memory.restore_scene(scope, "notes.md", 1)
    await memory.trace_persona(scope, "tea")
    await memory.persona_history(scope)
    await memory.restore_persona(scope, 1)
    with pytest.raises(Exception, match="not found"):
        await memory.update_memory(scope, "m_unknown", "x")
    await memory.write_scene(scope, "notes.md", "by hand")
    await memory.write_persona(scope, "by hand")
    distiller.fail("extract", Poison("unreadable"))
    await memory.add(scope, "s3", [MessageInput("user", "cannot be read")])
    await memory.flush(scope, session_id="s3")
    await memory.status(scope, session_id="s3")
    await memory.load("default")
    await memory.retry(scope)
    await memory.flush(scope)
    await use_prompts_and_generations(memory)
    await use_the_rest(memory._store, scope)


async def use_prompts_and_generations(memory: Memory) -> None:
    book, log = memory.prompts, memory.generations
    prompt_id = (await book.create("default", name="diet", layer="l1", prompt="look for food")).prompt_id
    await book.update("default", prompt_id, prompt="look for tea")
    await book.list("default", layer="l1")
    await book.apply("default", prompt_id, "l1", team="home", agents=["assistant"])
    await book.apply("default", prompt_id, "l1")
    await book.effective("default", "l1", team="home", agent="assistant")
    narrow = PromptFilter("default", kind="agent", team="home", agent="assistant", layer="l1", prompt_id=prompt_id)
    await book.settings(narrow)
    await book.settings(PromptFilter("default"))
    await book.changes(narrow)
    await book.clear("default", "l1")
    await book.delete("default", [prompt_id])
    page = await log.list("default", limit=1)
    await log.list("default", layer="l1", status="failed", cursor=page.next_cursor, since=0, until=1)
    await log.list("default", status="succeeded")
    for record in (await log.list("default")).records:
        await log.get("default", str(record.log_id))
        for output in record.outputs:
            await log.get_by_memory_id("default", output.ref.record_id, record.log_id.layer)
    await memory._store.write(lambda r: r.generations.prune(0))


async def mirrored(memory: Memory) -> bool:
    return int((await memory.health()).components["mirror"].details["lines"]) > 0


async def forget_parts(memory: Memory, scope: Scope) -> None:
    owner = (scope.team, scope.agent, scope.user)
    user, about = replace(scope, user="zora"), Forgetting("default", user="zora")
    for who in (scope, user):
        for session in ("f1", "f2", "f3"):
            await memory.add(who, session, [MessageInput("user", f"I like {session}", message_id=session, said_at=10)])
    await memory.flush(user)
    await memory.forgettable(about)
    await memory.forget(Forgetting("default", *owner, message_ids=("f1",), session_ids=("f2",)))
    await memory.forget(Forgetting("default", *owner, session_ids=("f3",), since=10, until=10))
    await memory.forget(Forgetting("default", *owner, memory_ids=("m_unknown",)))
    await memory.forget(Forgetting("default", *owner, until=10))
    receipt = await memory.forget(about)
    await memory.forgetting_receipt("default", receipt.forgetting_id)
    await memory.policies.set("default", user="lin", retention_days=30)
    await memory.policies.in_force(scope)
    await memory.policies.one("default", user="lin")
    await memory.policies.page("default")
    await memory._store.read(lambda r: r.policies.retained(0))
    await memory._store.write(lambda r: r.erasure.expire(scope, 1, 9))
    await memory.policies.set("default", user="lin")


async def delete_all(memory: Memory, scope: Scope) -> None:
    await forget_parts(memory, scope)
    page = await memory.memories(scope)
    await memory.delete_memories(scope, [page.items[0].memory_id])
    await memory.delete_messages(scope, message_ids=["a"], session_ids=["s2"])
    await memory.remove_scene(scope, "notes.md")
    await memory.clear("default", ["chat_memory-home-assistant"])
    await memory.health()


async def use_the_rest(store: Store, scope: Scope) -> None:
    """Use what no verb reaches by itself, because it needs a failure or another process."""

    def work(r: Any) -> None:
        target = r.conversations.append(scope, "s9", "", [NewMessage("z", "user", "unreadable", 0, 0, ())], 0)
        (message,) = r.conversations.undistilled(target, 1)
        r.memories.by_slot(scope, "home")
        r.jobs.arm("l1", target, 0)
        (lease,) = r.jobs.claim("w", 0, 60, 1)
        r.jobs.renew(lease, 90)
        r.jobs.hurry("l1", target)
        r.jobs.fail(lease, 10, "no answer")
        (lease,) = r.jobs.claim("w", 100, 160, 1)
        r.jobs.finish(lease, 200)
        (lease,) = r.jobs.claim("w", 200, 260, 1)
        r.jobs.defer(lease, 300, "no key")
        r.jobs.arm("l1", replace(target, key=99), 300)
        r.jobs.claim("w", 300, 360, 9)  # of which one has no session any more
        r.conversations.park(target, message.seq, "unreadable", 0)
        r.conversations.parked_reason(scope, "s9")
        r.conversations.revive(scope)
        r.conversations.unpark(target, [message.seq])
        r.conversations.distilled_by_rules(target, message.seq)
        r.conversations.start_again_from_rules()
        r.spending.add(Spending(SpendKey("default", "home", "assistant", "lin", "extract", "2026-01-05"), Usage(1)))
        r.spending.used_tokens("default", "2026-01-05")
        r.spending.lines("default", "2026-01-01", "2026-01-31")
        r.memories.retire(scope, r.memories.page(scope, MemoryFilter(), 1, 0)[0].seq, 0, None)
        r.profiles.propose(scope.profile("agent"), NewDocument("scene", "notes.md", "", "", 1, "model", 0, 0, ()))
        r.profiles.known(scope.profile("agent"), [1])
        r.profiles.request_persona(scope.profile("agent"), "why")

    await store.write(work)


def walked(connection: apsw.Connection, sql: str, values: Any) -> set[str]:
    """Return the growing tables that a statement reads from end to end."""
    tables = {alias or table: table for table, alias in _TABLE.findall(sql)}
    plan = connection.execute(f"EXPLAIN QUERY PLAN {sql}", values).fetchall()
    scans = (_SCAN.match(str(row[3])) for row in plan)
    return {tables.get(scan[1]) or scan[1] for scan in scans if scan} & GROWING


def walked_by_owner(connection: apsw.Connection, sql: str, values: Any) -> set[str]:
    """Return the tables of which a statement reads everything that one owner has, without stopping at a limit."""
    tables = {alias or table: table for table, alias in _TABLE.findall(sql)}
    plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
    if " LIMIT " in sql and _SORT not in plan:
        return set()
    broad = (_BROAD.match(step) for step in plan)
    return {tables.get(one[1]) or one[1] for one in broad if one} & {"messages", "memories", "jobs", "runs"}


def is_planned(sql: str) -> bool:
    return (
        sql.split(" ")[0] in ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
        and "sqlite_" not in sql
        and sql not in UPGRADES
    )


async def test_no_statement_walks_a_growing_table(traced: dict[str, Any], tmp_path: Path) -> None:
    allowed = {normal(sql) for sql in ALLOWED}
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))

    planned = {sql: values for sql, values in traced.items() if is_planned(sql)}
    walks = {sql: found for sql, values in planned.items() if (found := walked(connection, sql, values))}
    connection.close()

    assert len(planned) > 90
    assert {sql: tables for sql, tables in walks.items() if sql not in allowed} == {}


async def test_single_rows_are_found_without_walking_all_that_their_owner_has(
    traced: dict[str, Any], tmp_path: Path
) -> None:
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))

    planned = {sql: values for sql, values in traced.items() if is_planned(sql)}
    walks = {sql: found for sql, values in planned.items() if (found := walked_by_owner(connection, sql, values))}
    connection.close()

    assert {sql: tables for sql, tables in walks.items() if not sql.startswith(tuple(WHOLE_OWNER))} == {}


@pytest.mark.parametrize(("side", "bound"), [("_JUST_BEFORE", "seq<?"), ("_JUST_AFTER", "seq>?")])
async def test_neighbours_are_the_next_rows_of_the_index_of_their_session(
    traced: dict[str, Any], tmp_path: Path, side: str, bound: str
) -> None:
    """Not the whole session, sorted: it may be long, and up to a hundred hits have neighbours each."""
    sql = normal(getattr(conversations, side))
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))
    plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", traced[sql])]
    connection.close()

    assert "SEARCH h USING INTEGER PRIMARY KEY (rowid=?)" in plan
    assert f"SEARCH m USING INDEX messages_by_session (session_key=? AND {bound})" in plan
    assert _SORT not in plan


async def test_what_is_allowed_to_walk_really_does(traced: dict[str, Any], tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / DATABASE_NAME))

    for sql, reason in ALLOWED.items():
        assert walked(connection, normal(sql), traced[normal(sql)]), reason
    connection.close()


async def test_every_statement_of_the_repositories_was_planned(traced: dict[str, Any]) -> None:
    statements = {
        f"{module.__name__}.{name}": normal(value)
        for module in MODULES
        for name, value in vars(module).items()
        if isinstance(value, str) and is_planned(normal(value)) and "{" not in value and name not in PARTS
    }

    assert len(statements) > 60
    assert {name for name, sql in statements.items() if sql not in traced} == set()


# Constants that are the beginning of a statement, not one.
PARTS = {"_SELECT", "_LIVE", "_MESSAGES", "_MEMORIES", "_RUNS"}


def test_a_walk_is_recognised(tmp_path: Path) -> None:
    connection = apsw.Connection(str(tmp_path / "plain.db"))
    connection.execute("CREATE TABLE messages (seq INTEGER PRIMARY KEY, said_at INTEGER)").fetchall()

    assert walked(connection, "SELECT m.seq FROM messages m WHERE m.said_at = 1", ()) == {"messages"}
    assert walked(connection, "SELECT seq FROM messages WHERE said_at = 1", ()) == {"messages"}
    assert walked(connection, "SELECT m.said_at FROM messages m WHERE m.seq = 1", ()) == set()
    connection.close()
