"""Somebody with the database file in hand: whatever is done to the trail is found, at its place."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import apsw
import pytest

from memstrata.audit import AuditReport
from memstrata.audit.head import HEAD_NAME
from memstrata.errors import Misconfigured
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.records.audit import GENESIS, AuditEntry, chained
from memstrata.store.sqlite.store import DATABASE_NAME

Open = Callable[..., AbstractAsyncContextManager[Memory]]
ROWS = 6


@pytest.fixture
async def folder(open_memory: Open, scope: Scope, tmp_path: Path) -> Path:
    """A data folder with a trail of six rows, closed."""
    async with open_memory(enabled=False) as memory:
        for number in range(ROWS):
            await memory.add(scope, "s", [MessageInput("user", f"message {number}")])
    return tmp_path


def tamper(folder: Path, *statements: str) -> None:
    connection = apsw.Connection(str(folder / DATABASE_NAME))
    for statement in statements:
        connection.execute(statement)
    connection.close()


async def verified(open_memory: Open) -> AuditReport:
    async with open_memory(enabled=False) as memory:
        return await memory.audit.verify()


async def test_a_trail_that_nobody_touched_is_whole(open_memory: Open, folder: Path) -> None:
    assert await verified(open_memory) == AuditReport(ROWS, ROWS, "same")


@pytest.mark.parametrize("column", ["at = at + 1", *(f"{one} = {one} || ' '" for one in (
    "instance", "actor", "action", "owner", "subject"
)), "hash = zeroblob(32)"])  # fmt: skip
async def test_a_changed_row_is_found(open_memory: Open, folder: Path, column: str) -> None:
    tamper(folder, f"UPDATE audit SET {column} WHERE seq = 3")
    report = await verified(open_memory)
    assert (report.is_intact, report.broken_seq) == (False, 3)


async def test_a_changed_last_row_is_found(open_memory: Open, folder: Path) -> None:
    tamper(folder, f"UPDATE audit SET actor = 'gateway' WHERE seq = {ROWS}")
    assert (await verified(open_memory)).broken_seq == ROWS


@pytest.mark.parametrize("seq", [1, 3, ROWS - 1])
async def test_a_deleted_row_is_found(open_memory: Open, folder: Path, seq: int) -> None:
    tamper(folder, f"DELETE FROM audit WHERE seq = {seq}")
    assert (await verified(open_memory)).broken_seq == seq


async def test_a_row_that_was_put_in_is_found(open_memory: Open, folder: Path) -> None:
    tamper(
        folder,
        "UPDATE audit SET seq = -seq WHERE seq > 3",
        "UPDATE audit SET seq = 1 - seq WHERE seq < 0",
        "INSERT INTO audit SELECT 4, at, instance, 'gateway', action, owner, subject, hash FROM audit WHERE seq = 3",
    )
    assert (await verified(open_memory)).broken_seq == 4


async def test_rows_in_another_order_are_found(open_memory: Open, folder: Path) -> None:
    tamper(
        folder,
        "UPDATE audit SET seq = 100 WHERE seq = 2",
        "UPDATE audit SET seq = 2 WHERE seq = 3",
        "UPDATE audit SET seq = 3 WHERE seq = 100",
    )
    assert (await verified(open_memory)).broken_seq == 2


async def test_rows_cut_off_the_end_are_found_although_the_rest_is_a_chain_and_ever_after(
    open_memory: Open, folder: Path, scope: Scope
) -> None:
    tamper(folder, f"DELETE FROM audit WHERE seq > {ROWS - 2}")
    for _ in range(2):
        async with open_memory(enabled=False) as memory:
            await memory.add(scope, "s", [MessageInput("user", "later")])
        report = await verified(open_memory)
        assert report.broken_seq == ROWS - 1
        assert "cut off" in report.reason


async def test_an_empty_trail_where_there_was_one_is_found(open_memory: Open, folder: Path) -> None:
    tamper(folder, "DELETE FROM audit")
    assert not (await verified(open_memory)).is_intact


async def test_a_trail_written_anew_with_right_hashes_does_not_end_as_noted(open_memory: Open, folder: Path) -> None:
    connection = apsw.Connection(str(folder / DATABASE_NAME))
    before = GENESIS
    for seq, at, instance, _, action, owner, subject, _ in list(connection.execute("SELECT * FROM audit ORDER BY seq")):
        entry = AuditEntry(at, instance, "user:000000000000", action, owner, subject)
        before = chained(before, seq, entry)
        connection.execute("UPDATE audit SET actor = ?, hash = ? WHERE seq = ?", (entry.actor, before, seq))
    connection.close()
    assert not (await verified(open_memory)).is_intact


async def test_a_missing_note_of_the_end_is_told_ever_after(open_memory: Open, folder: Path) -> None:
    (folder / HEAD_NAME).unlink()
    for _ in range(2):
        report = await verified(open_memory)
        assert (report.is_intact, report.head) == (True, "same")
        assert f"row {ROWS + 1} notes" in report.warnings[0]


async def test_rows_cut_off_while_the_trail_grows_are_found(open_memory: Open, folder: Path, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        tamper(folder, f"DELETE FROM audit WHERE seq > {ROWS - 2}")
        report = await memory.audit.verify()
        assert (report.is_intact, report.broken_seq) == (False, ROWS - 1)
        assert f"row {ROWS}" in (await memory.health()).components["audit"].reason
        for _ in range(4):
            await memory.add(scope, "s", [MessageInput("user", "later")])
        assert not (await memory.audit.verify()).is_intact
    assert not (await verified(open_memory)).is_intact


async def test_a_note_that_cannot_be_read_stops_the_start(open_memory: Open, folder: Path) -> None:
    (folder / HEAD_NAME).write_text("{}", encoding="utf-8")
    with pytest.raises(Misconfigured, match=HEAD_NAME):
        await verified(open_memory)
    assert (folder / HEAD_NAME).read_text(encoding="utf-8") == "{}"


async def test_only_the_rows_of_the_asking_instance_are_counted(open_memory: Open, folder: Path) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.policies.set("other", retention_days=3)
        assert (await memory.audit.verify("other")).rows == 1
        assert (await memory.audit.verify("default")).rows == ROWS
