"""The database file and its folder: who may open it, what is refused, what survives (invariants 1 and 11)."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from pathlib import Path

import apsw
import pytest

from memstrata.errors import Misconfigured, Unavailable
from memstrata.memory import Memory, MessageInput
from memstrata.records import NewMessage, Scope
from memstrata.settings import Settings
from memstrata.store.shapes import MessageFilter
from memstrata.store.sqlite import connection as connections
from memstrata.store.sqlite import store as stores
from memstrata.store.sqlite.migrations import migrate, newest_version
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore, lock_owner

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Build = Callable[..., NewMessage]
ALL = MessageFilter()

OPEN = """
import asyncio, sys
from pathlib import Path
from memstrata.errors import Misconfigured
from memstrata.store.sqlite.store import SqliteStore
try:
    asyncio.run(SqliteStore.open(Path(sys.argv[1])))
except Misconfigured as error:
    sys.exit(str(error))
"""
# A superuser may write anywhere, so the folder is opened as nobody; the modules are read before that.
OPEN_WITHOUT_RIGHTS = f"""
import os
import memstrata.store.sqlite.store
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
{OPEN}"""


def opened_elsewhere(script: str, folder: Path | str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", script, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=cwd, check=False)


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


async def refusal(folder: Path) -> str:
    """Return why a folder cannot be opened, with everything that was opened on the way closed again."""
    try:
        await SqliteStore.open(folder)
    except Misconfigured as error:
        reason = str(error)
    else:
        raise AssertionError("it was opened")
    gc.collect()
    return reason


async def add(store: SqliteStore, scope: Scope, message: NewMessage) -> None:
    await store.write(lambda r: r.conversations.append(scope, "s1", "", [message], 0))


async def count(store: SqliteStore, scope: Scope) -> int:
    return await store.read(lambda r: r.conversations.count(scope, ALL))


@contextmanager
def damaged(file: Path, offset: int, length: int) -> Iterator[str]:
    """Flip the bytes of a stretch; yield the damaged file's digest and check that it is left as it is."""
    with file.open("r+b") as raw:
        raw.seek(offset)
        old = raw.read(length)
        raw.seek(offset)
        raw.write(bytes(255 - byte for byte in old))
    before = digest(file)
    yield before
    assert digest(file) == before


async def test_a_second_process_is_refused_and_told_who_has_it(store: SqliteStore, tmp_path: Path) -> None:
    store.announce("http://127.0.0.1:8420")

    second = await asyncio.to_thread(opened_elsewhere, OPEN, tmp_path)

    assert second.returncode == 1
    assert f"is in use by process {os.getpid()}, serving http://127.0.0.1:8420" in second.stderr
    assert lock_owner(tmp_path) == {"pid": os.getpid(), "url": "http://127.0.0.1:8420"}


async def test_a_folder_is_free_again_after_it_was_closed(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.close()

    assert lock_owner(tmp_path) is None
    assert (await asyncio.to_thread(opened_elsewhere, OPEN, tmp_path)).returncode == 0


async def test_a_folder_is_free_again_after_it_could_not_be_opened(tmp_path: Path) -> None:
    (tmp_path / DATABASE_NAME).write_bytes(b"this is no database" * 100)
    with pytest.raises(Misconfigured):
        await SqliteStore.open(tmp_path)

    assert lock_owner(tmp_path) is None


async def test_a_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    try:
        # A relative path, because the folders above need not be open to everybody.
        result = await asyncio.to_thread(opened_elsewhere, OPEN_WITHOUT_RIGHTS, ".", tmp_path)
    finally:
        tmp_path.chmod(0o755)

    assert result.returncode == 1
    assert "cannot be used" in result.stderr
    assert list(tmp_path.iterdir()) == []


async def test_a_new_folder_is_for_its_owner_alone_and_one_that_was_there_stays_as_it_is(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir(0o750)
    for folder in (tmp_path / "new", there):
        await (await SqliteStore.open(folder)).close()

    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "there")] == [0o700, 0o750]


async def test_a_file_where_the_folder_should_be_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    with pytest.raises(Misconfigured, match="cannot be used"):
        await SqliteStore.open(file / "folder")
    assert file.read_text() == "in the way"


async def test_a_database_of_a_newer_program_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    await (await SqliteStore.open(tmp_path)).close()
    file = tmp_path / DATABASE_NAME
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute(f"PRAGMA user_version = {newest_version() + 1}").fetchall()
    before = digest(file)

    with pytest.raises(Misconfigured, match=f"newer Memstrata .schema {newest_version() + 1}"):
        await SqliteStore.open(tmp_path)
    assert digest(file) == before


async def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / DATABASE_NAME
    file.write_bytes(b"this is no database" * 1000)
    before = digest(file)

    assert "damaged" in await refusal(tmp_path)
    assert digest(file) == before


async def test_a_damaged_page_is_noticed_at_the_start_and_left_as_it_is(
    tmp_path: Path, scope: Scope, new_message: Build
) -> None:
    store = await SqliteStore.open(tmp_path)
    for number in range(200):
        await add(store, scope, new_message(f"message number {number} with some length to it"))
    await store.close()
    file = tmp_path / DATABASE_NAME
    page = root_page(file, "messages")

    with damaged(file, (page - 1) * 4096, 100):
        assert "restore a backup" in await refusal(tmp_path)


async def test_a_damaged_database_beside_an_unfinished_log_is_left_as_it_is(
    tmp_path: Path, scope: Scope, new_message: Build
) -> None:
    """Not even what the log holds is written into a file that is to be examined."""
    running, copy = tmp_path / "running", tmp_path / "copy"
    store = await SqliteStore.open(running)
    for number in range(200):
        await add(store, scope, new_message(f"message number {number} with some length to it"))
    await store.close()
    store = await SqliteStore.open(running)
    await add(store, scope, new_message("in the log only"))
    shutil.copytree(running, copy)
    await store.close()
    file, log = copy / DATABASE_NAME, copy / f"{DATABASE_NAME}-wal"
    log_before = digest(log)

    with damaged(file, (root_page(running / DATABASE_NAME, "memory_terms_data") - 1) * 4096, 100):
        result = await asyncio.to_thread(opened_elsewhere, OPEN, copy)  # whose end closes all that it opened
    assert "damaged" in result.stderr
    assert digest(log) == log_before


def root_page(file: Path, table: str) -> int:
    with closing(apsw.Connection(str(file))) as connection:
        rows = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchall()
    return int(str(rows[0][0]))


async def test_a_large_file_is_looked_at_beside_the_work_and_writing_ends_if_it_is_damaged(
    tmp_path: Path,
    scope: Scope,
    new_message: Build,
    monkeypatch: pytest.MonkeyPatch,
    eventually: Callable[..., Awaitable[None]],
) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.close()
    file = tmp_path / DATABASE_NAME
    monkeypatch.setattr(stores, "LARGE_BYTES", 0)
    with file.open("r+b") as raw:
        raw.seek((root_page(file, "tombstones") - 1) * 4096)
        raw.write(b"\xff" * 100)

    store = await SqliteStore.open(tmp_path)
    await eventually(lambda: store.health().state == "failed")
    assert "damaged" in store.health().reason
    with pytest.raises(Misconfigured, match="restore a backup"):
        await add(store, scope, new_message())
    assert await count(store, scope) == 0
    await store.close()


async def test_a_large_file_may_be_closed_while_it_is_looked_at(
    tmp_path: Path, scope: Scope, new_message: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await SqliteStore.open(tmp_path)
    messages = [new_message(f"message number {number} " + "word " * 50) for number in range(3_000)]
    await store.write(lambda r: r.conversations.append(scope, "s1", "", messages, 0))
    await store.close()
    monkeypatch.setattr(stores, "LARGE_BYTES", 0)

    for _ in range(5):
        store = await SqliteStore.open(tmp_path)
        await store.close()
        assert lock_owner(tmp_path) is None


async def test_committed_rows_are_in_the_log_of_a_process_that_died(
    tmp_path: Path, scope: Scope, new_message: Build
) -> None:
    running, copy = tmp_path / "running", tmp_path / "copy"
    store = await SqliteStore.open(running)
    await add(store, scope, new_message("acknowledged"))
    shutil.copytree(running, copy)  # what a power cut leaves: no clean end
    await store.close()

    again = await SqliteStore.open(copy)
    assert await count(again, scope) == 1
    await again.close()


async def test_a_log_that_was_cut_off_gives_what_is_whole_and_the_store_goes_on(
    tmp_path: Path, scope: Scope, new_message: Build
) -> None:
    running, copy = tmp_path / "running", tmp_path / "copy"
    store = await SqliteStore.open(running)
    await add(store, scope, new_message("first"))
    whole = (running / f"{DATABASE_NAME}-wal").stat().st_size
    await add(store, scope, new_message("second"))
    shutil.copytree(running, copy)
    await store.close()
    with (copy / f"{DATABASE_NAME}-wal").open("r+b") as log:
        log.truncate(whole + 100)

    again = await SqliteStore.open(copy)
    page = await again.read(lambda r: r.conversations.page(scope, ALL, 9, 0))
    assert [m.content for m in page] == ["first"]
    await add(again, scope, new_message("third"))
    assert await count(again, scope) == 2
    await again.close()


async def test_leases_of_a_process_that_died_are_free_at_the_next_start_and_cost_no_try(
    tmp_path: Path, scope: Scope, new_message: Build
) -> None:
    running, copy = tmp_path / "running", tmp_path / "copy"
    store = await SqliteStore.open(running)
    await store.write(lambda r: r.jobs.arm("l1", r.conversations.append(scope, "s1", "", [new_message()], 0), 100))
    await store.write(lambda r: r.jobs.claim("w", 100, 10**15, 9))
    shutil.copytree(running, copy)
    await store.close()

    again = await SqliteStore.open(copy)
    (lease,) = await again.write(lambda r: r.jobs.claim("w", 100, 200, 9))
    assert lease.attempt == 1
    await again.close()


async def test_a_full_disk_stores_nothing_says_so_and_recovers(
    open_memory: Open, scope: Scope, eventually: Callable[..., Awaitable[None]]
) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", [MessageInput("user", "before")])
        await memory._store.write(lambda r: limit_pages(r, grow=0))
        big = [MessageInput("user", "x" * 8_000, message_id=f"m{n}") for n in range(50)]
        with pytest.raises(Unavailable, match="disk is full") as refused:
            await memory.add(scope, "s1", big, idempotency_key="k")

        assert refused.value.retry_after > 0
        health = await memory.health()
        assert health.status == "degraded"
        assert "disk is full" in health.components["store"].reason
        assert await memory.count_messages(scope) == 1

        await memory._store.write(lambda r: limit_pages(r, grow=100_000))
        receipt = await memory.add(scope, "s1", big, idempotency_key="k")
        assert not receipt.replayed
        assert await memory.count_messages(scope) == 51
        assert (await memory.health()).status == "ok"


def limit_pages(r: object, *, grow: int) -> None:
    """Let the database grow by so many pages and no more, as a disk would."""
    writer = r.conversations._db  # type: ignore[attr-defined]
    pages = connections.query(writer, "PRAGMA page_count")[0][0]
    connections.query(writer, f"PRAGMA max_page_count = {pages + grow}")


async def test_a_database_that_another_program_locks_is_unavailable_until_it_lets_go(
    tmp_path: Path, scope: Scope, new_message: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_BUSY_MILLISECONDS", 20)
    store = await SqliteStore.open(tmp_path)
    with closing(apsw.Connection(str(tmp_path / DATABASE_NAME))) as other:
        other.execute("BEGIN EXCLUSIVE").fetchall()
        with pytest.raises(Unavailable, match="locked by another program"):
            await add(store, scope, new_message())
        assert store.health().state == "failed"
        assert await count(store, scope) == 0
        other.execute("ROLLBACK").fetchall()

    await add(store, scope, new_message())
    assert await count(store, scope) == 1
    assert store.health().state == "ok"
    await store.close()


def schema(connection: apsw.Connection) -> list[tuple[object, ...]]:
    return connection.execute("SELECT type, name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


def test_migrating_makes_the_newest_schema_and_does_nothing_the_second_time(tmp_path: Path) -> None:
    file = tmp_path / DATABASE_NAME
    with closing(connections.open_writer(file)) as connection:
        migrate(connection, file)
        fresh = schema(connection)
        assert connections.query(connection, "PRAGMA user_version") == [(newest_version(),)]

        migrate(connection, file)
        assert schema(connection) == fresh
        assert connections.query(connection, "PRAGMA integrity_check") == [("ok",)]
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE_NAME]


def test_an_opened_database_is_set_up_to_survive_a_power_cut(tmp_path: Path) -> None:
    with closing(connections.open_writer(tmp_path / DATABASE_NAME)) as connection:
        settings = [connections.query(connection, f"PRAGMA {name}")[0][0] for name in ("journal_mode", "synchronous")]
        assert settings == ["wal", 2]
        assert connections.query(connection, "PRAGMA foreign_keys") == [(1,)]


async def test_a_time_zone_that_does_not_exist_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="Asia/Atlantis"):
        async with Memory.open(settings=Settings(data_dir=tmp_path, time_zone="Asia/Atlantis")):
            pass
