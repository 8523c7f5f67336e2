"""A database that an older program wrote: it opens, keeps everything, and ends up as if it had been made today.

The rows are those that a program of schema 1 left behind: a session that rules distilled and that went on, one whose
job was buried, one that nobody got to, a corrected memory, a deleted one, a scene and a portrait.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, closing
from importlib import resources
from pathlib import Path
from typing import Any

import apsw
import pytest

from memstrata.distill.rules import RulesDistiller
from memstrata.errors import Misconfigured
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.records.forgetting import Forgetting
from memstrata.settings import Settings
from memstrata.store.sqlite import migrations
from memstrata.store.sqlite.connection import open_writer, query
from memstrata.store.sqlite.migrations import newest_version
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore
from memstrata.testing import EchoDistiller

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Rows = Mapping[str, list[tuple[Any, ...]]]
COPY_NAME = f"{DATABASE_NAME}.before-schema-{newest_version()}"
SCOPE = Scope("default", "home", "assistant", "lin")
MONDAY = 1_767_603_600_000
ROWS = f"""
INSERT INTO scopes VALUES (1, 'default', 'home', 'assistant', 'lin'), (2, 'other', 'home', 'assistant', 'lin');
INSERT INTO profiles VALUES (1, 'default', 'home', 'assistant', '', {MONDAY}, {MONDAY}, 2, 1, 'moved');
INSERT INTO sessions VALUES
  (1, 1, 's1', 3, 4, 'Food and Health', {MONDAY}), (2, 1, 's2', 0, 1, '', {MONDAY}), (3, 2, 's1', 0, 1, '', {MONDAY});
INSERT INTO messages VALUES
  (1, 1, 1, 'a', 't', 'user', 'Remember that I drink green tea.', {MONDAY}, {MONDAY}),
  (2, 1, 1, 'b', 't', 'assistant', 'noted', {MONDAY + 1}, {MONDAY + 1}),
  (3, 1, 1, 'c', '', 'user', '以后都用中文回答', {MONDAY + 2}, {MONDAY + 2}),
  (4, 1, 1, 'd', '', 'user', 'I live in Lisbon', {MONDAY + 3}, {MONDAY + 3}),
  (5, 1, 2, 'e', '', 'user', 'unreadable', -5, {MONDAY + 4}),
  (6, 2, 3, 'a', '', 'user', 'secret', {MONDAY + 5}, {MONDAY + 5});
INSERT INTO message_terms (rowid, terms) VALUES
  (1, '1_rememb 1_that 1_i 1_drink 1_green 1_tea'), (2, '1_note'), (3, '1_中 1_文 1_中文 1_回 1_答 1_回答'),
  (4, '1_i 1_live 1_in 1_lisbon'), (5, '1_unread'), (6, '2_secret');
INSERT INTO receipts VALUES (1, 'k', x'00ff', '["a", "b"]', {MONDAY});
INSERT INTO memories VALUES
  (1, 1, 1, 'm_tea', 0, 'persona', 'drinks tea', x'01', 80, 'Food and Health', 'always', '', 's1', 't', 'rules',
   NULL, NULL, '{{}}', {MONDAY}, {MONDAY}, {MONDAY + 2}, 2, 1),
  (2, 1, 1, 'm_tea', 1, 'persona', 'drinks green tea', x'02', 80, 'Food and Health', 'always', '', 's1', 't', 'human',
   1, 2, '{{"replaced": "drinks tea"}}', {MONDAY}, {MONDAY + 2}, NULL, NULL, 1),
  (3, 1, 1, 'm_zh', 0, 'instruction', '以后都用中文回答', x'03', -1, '协作约定', 'always', 'reply_language', 's1', '',
   'rules', NULL, NULL, '{{"value": "中文"}}', {MONDAY}, {MONDAY + 3}, NULL, NULL, 0);
INSERT INTO memory_terms (rowid, terms) VALUES
  (2, '1_drink 1_green 1_tea'), (3, '1_中 1_文 1_中文 1_回 1_答 1_回答');
INSERT INTO memory_sources VALUES (1, 1), (2, 1), (3, 3);
INSERT INTO tombstones VALUES (1, x'04', 3);
INSERT INTO documents VALUES
  (1, 1, 'scene', 'food.md', 1, '# Food', 'tea', 1, 'rules', {MONDAY}, {MONDAY}, NULL),
  (2, 1, 'persona', 'persona.md', 1, 'Lin drinks tea.', '', 1, 'human', {MONDAY}, {MONDAY}, NULL);
INSERT INTO document_sources VALUES (1, 2), (2, 2);
INSERT INTO jobs VALUES
  (7, 'l1', 1, 'session 1', {MONDAY + 5_000}, 0, 2, 'no answer', 4, 0, ''),
  (8, 'l1', 2, 'session 2', {MONDAY}, 1, 5, 'cannot be read', 9, 0, ''),
  (9, 'l2', 1, 'profile 1', {MONDAY}, 0, 1, '', 1, {MONDAY + 600_000}, 'gone');
INSERT INTO runs VALUES
  (1, 'l1', 1, 'retry', 0, 0, 0, 0, 'rules', {MONDAY}, {MONDAY}, 'no answer'),
  (2, 'l1', 1, 'items', 2, 3, 1, 0, 'rules', {MONDAY}, {MONDAY + 1}, ''),
  (3, 'l1', 1, 'items', 3, 3, 1, 0, 'rules', {MONDAY}, {MONDAY + 2}, ''),
  (4, 'l2', 1, 'items', 1, 2, 1, 0, 'rules', {MONDAY}, {MONDAY + 3}, ''),
  (5, 'l1', 2, 'poison', 0, 0, 0, 0, 'rules', {MONDAY}, {MONDAY + 4}, 'cannot be read');
INSERT INTO mirror_positions VALUES ('messages', 6);
INSERT INTO mirror_files VALUES ('conversations/2026-01-05.jsonl', 810);
INSERT INTO mirror_stale VALUES ('profile', 'default', '1', 2);
"""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return a folder with a database of schema 1."""
    file = tmp_path / DATABASE_NAME
    with closing(open_writer(file)) as connection:
        initial = resources.files(migrations).joinpath("0001_initial.sql").read_text(encoding="utf-8")
        for script in (initial, ROWS, "PRAGMA user_version = 1"):
            connection.execute(script).fetchall()
    return tmp_path


def columns(connection: apsw.Connection) -> dict[str, list[str]]:
    """Return the columns of each table that holds rows of ours; the keyword indexes are asked by what they find."""
    tables = query(connection, "SELECT name FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return {
        str(name): [str(column[0]) for column in query(connection, "SELECT name FROM pragma_table_info(?)", (name,))]
        for (name,) in tables
    }


def contents(file: Path, of: Mapping[str, list[str]] | None = None) -> Rows:
    """Return all rows; `of` says of which tables and columns alone."""
    with closing(apsw.Connection(str(file))) as connection:
        return {
            table: sorted(query(connection, f"SELECT {', '.join(names)} FROM {table}"), key=repr)
            for table, names in (of or columns(connection)).items()
        }


def shape(file: Path) -> dict[str, Any]:
    """Return all that makes up a schema: statements, columns, indexes, foreign keys and the version."""
    with closing(apsw.Connection(str(file))) as connection:
        tables = columns(connection)
        return {
            "version": query(connection, "PRAGMA user_version"),
            "statements": query(connection, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"),
            "columns": {table: query(connection, f"PRAGMA table_xinfo({table})") for table in tables},
            "indexes": {table: query(connection, f"PRAGMA index_list({table})") for table in tables},
            "references": {table: query(connection, f"PRAGMA foreign_key_list({table})") for table in tables},
        }


async def upgrade(folder: Path) -> None:
    store = await SqliteStore.open(folder)
    await store.close()


async def test_every_row_of_an_old_database_is_there_after_the_upgrade(old: Path) -> None:
    with closing(apsw.Connection(str(old / DATABASE_NAME))) as connection:
        known = columns(connection)
    before = contents(old / DATABASE_NAME)
    assert all(before.values())  # a table without rows would prove nothing

    await upgrade(old)

    after = contents(old / DATABASE_NAME, known)
    leases = [(*row[:6], 0, *row[7:9], 0, "") for row in before["jobs"] if row[0] == 9]  # whoever held it is gone
    expected = {**before, "jobs": sorted([row for row in before["jobs"] if row[0] != 9] + leases, key=repr)}
    assert after == expected


async def test_an_upgraded_schema_equals_a_fresh_one(old: Path, tmp_path: Path) -> None:
    await upgrade(old)
    await upgrade(tmp_path / "fresh")

    upgraded, fresh = shape(old / DATABASE_NAME), shape(tmp_path / "fresh" / DATABASE_NAME)

    for part, value in fresh.items():
        assert upgraded[part] == value, part
    with closing(apsw.Connection(str(old / DATABASE_NAME))) as connection:
        assert query(connection, "PRAGMA integrity_check") == [("ok",)]
        assert query(connection, "PRAGMA foreign_key_check") == []


async def test_a_copy_of_what_was_there_is_kept_beside_it_and_left_alone_afterwards(old: Path) -> None:
    before, copy = contents(old / DATABASE_NAME), old / COPY_NAME
    await upgrade(old)

    assert contents(copy) == before
    with closing(apsw.Connection(str(copy))) as connection:
        assert query(connection, "PRAGMA user_version") == [(1,)]
        assert query(connection, "PRAGMA integrity_check") == [("ok",)]
    digest = hashlib.sha256(copy.read_bytes()).digest()

    await upgrade(old)

    assert hashlib.sha256(copy.read_bytes()).digest() == digest


async def test_what_an_older_program_deleted_is_in_no_file_once_something_is_forgotten(
    open_memory: Open, old: Path
) -> None:
    """It did not write over what it deleted, so the bytes are still there when the database is opened."""
    trace = b"my locker is 8825130"
    with closing(apsw.Connection(str(old / DATABASE_NAME))) as connection:
        query(connection, "PRAGMA secure_delete = OFF")
        query(
            connection,
            f"INSERT INTO messages VALUES (9, 1, 1, 'z', '', 'user', '{trace.decode()}', {MONDAY}, {MONDAY})",
        )
        query(connection, "DELETE FROM messages WHERE seq = 9")
        query(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    assert trace in (old / DATABASE_NAME).read_bytes()

    async with open_memory(settings=Settings(data_dir=old)) as memory:
        receipt = await memory.forget(Forgetting(SCOPE.instance, user=SCOPE.user))
        assert await memory._forgetter.completed(SCOPE.instance, receipt.forgetting_id, 10.0)
        assert [one.name for one in old.rglob("*") if one.is_file() and trace in one.read_bytes()] == []


async def test_a_fresh_database_has_no_copy_beside_it(tmp_path: Path) -> None:
    await upgrade(tmp_path)

    assert not (tmp_path / COPY_NAME).exists()


async def test_the_copy_opens_as_the_database_it_was(old: Path, tmp_path: Path) -> None:
    """Going back to the older program is possible: the copy is whole by itself."""
    await upgrade(old)
    restored = tmp_path / "restored"
    restored.mkdir()
    (old / COPY_NAME).rename(restored / DATABASE_NAME)

    await upgrade(restored)

    assert shape(restored / DATABASE_NAME) == shape(old / DATABASE_NAME)


async def test_without_room_for_a_copy_nothing_is_changed(old: Path) -> None:
    before = contents(old / DATABASE_NAME)
    (old / COPY_NAME).mkdir()

    with pytest.raises(Misconfigured):
        await SqliteStore.open(old)

    assert contents(old / DATABASE_NAME) == before
    (old / COPY_NAME).rmdir()
    await upgrade(old)


async def test_an_upgrade_that_breaks_off_changes_nothing_and_can_be_made_again(old: Path) -> None:
    with closing(open_writer(old / DATABASE_NAME)) as connection:
        query(connection, "CREATE TABLE prompt_changes (in_the_way)")  # the last table that the script makes
    before = shape(old / DATABASE_NAME)

    with pytest.raises(apsw.SQLError, match="already exists"):
        await SqliteStore.open(old)

    assert shape(old / DATABASE_NAME) == before
    with closing(open_writer(old / DATABASE_NAME)) as connection:
        query(connection, "DROP TABLE prompt_changes")
    await upgrade(old)
    assert contents(old / DATABASE_NAME)["messages"] == contents(old / COPY_NAME)["messages"]


async def test_jobs_go_on_where_they_were(old: Path) -> None:
    store = await SqliteStore.open(old)
    jobs = await store.read(lambda r: r.jobs.of(SCOPE, SCOPE.profile("agent")))
    leases = await store.write(lambda r: r.jobs.claim("w", MONDAY + 5_000, MONDAY + 9_000, 9))
    await store.close()

    assert [(job.state, job.attempts) for job in jobs if job.last_error == "cannot be read"] == [("dead", 5)]
    tries = {lease.kind: (lease.attempt, lease.deferrals) for lease in leases}
    assert tries == {"l1": (3, 0), "l2": (1, 0)}


async def test_old_memories_are_found_and_traced_as_before(open_memory: Open, old: Path) -> None:
    async with open_memory(distiller=RulesDistiller(), enabled=False) as memory:
        assert [hit.item.content for hit in (await memory.search(SCOPE, "green tea")).hits] == ["drinks green tea"]
        assert [hit.item.content for hit in (await memory.search(SCOPE, "中文")).hits] == ["以后都用中文回答"]
        versions = await memory.history(SCOPE, "m_tea")
        assert [one.memory.content for one in versions] == ["drinks green tea", "drinks tea"]
        assert [m.content for m in (await memory.trace(SCOPE, "m_tea")).messages] == [
            "Remember that I drink green tea."
        ]
        assert await memory.persona_text(SCOPE) is not None
        assert [one.document.version for one in await memory.scene_history(SCOPE, "food.md")] == [1]
        status = await memory.status(SCOPE)
        assert (status.layers["l1"].pending, status.layers["l1"].parked) == (2, 0)
        assert await memory.spending(SCOPE) == ()


async def test_old_runs_are_told_without_a_model_and_without_a_prompt(open_memory: Open, old: Path) -> None:
    store = await SqliteStore.open(old)
    run = await store.read(lambda r: r.jobs.last_run("l2", SCOPE, SCOPE.profile("agent")))
    await store.close()

    assert run is not None
    assert (run.outcome, run.provenance.model, run.provenance.mode, run.provenance.prompt) == (
        "items",
        "",
        "chat",
        None,
    )


async def test_a_message_that_an_old_database_has_is_not_doubled(open_memory: Open, old: Path) -> None:
    """Invariant 1."""
    async with open_memory(enabled=False) as memory:
        await memory.add(SCOPE, "s1", [MessageInput("user", "I live in Lisbon", message_id="d")])

        assert await memory.count_messages(SCOPE) == 5


async def test_what_waited_in_an_old_database_is_distilled(open_memory: Open, old: Path) -> None:
    async with open_memory(distiller=RulesDistiller()) as memory:
        await memory.retry(SCOPE)
        await memory.flush(SCOPE)

        assert (await memory.status(SCOPE)).layers["l1"].pending == 0


async def test_a_model_begins_where_rules_had_begun_in_an_old_database(
    open_memory: Open, old: Path, distiller: EchoDistiller
) -> None:
    """In schema 1 rules distilled everything; the runs tell from which message on."""
    async with open_memory() as memory:
        await memory.retry(SCOPE)
        await memory.flush(SCOPE, session_id="s1")

        said = ["noted", "以后都用中文回答", "I live in Lisbon"]
        assert [content for content in distiller.seen if content in said] == said
        assert "Remember that I drink green tea." not in distiller.seen  # before the first run of rules
