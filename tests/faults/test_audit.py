"""A server is killed while it writes: the chain is whole, and every write that it acknowledged has its one row."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from memstrata.audit.chain import ChainCheck
from memstrata.audit.head import read_head
from memstrata.records.audit import AuditRow, mark
from memstrata.store.sqlite.audit import opened_audit
from memstrata.store.sqlite.store import DATABASE_NAME

from .process import ServerProcess
from .writers import Writers

pytestmark = pytest.mark.slow

WRITERS, KILLS = 4, 3


def trail(folder: Path) -> list[AuditRow]:
    """Return the rows of a whole trail; fails for one that is not."""
    check = ChainCheck(read_head(folder))
    with opened_audit(folder / DATABASE_NAME) as audit:
        rows = list(audit.after(0, 1_000_000))
    check.check(rows)
    report = check.report()
    assert report.is_intact, report
    assert report.head in ("same", "behind", "missing")
    return rows


async def test_the_chain_survives_kills_and_no_acknowledged_write_lacks_its_row(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    writers = Writers(seed=7)
    async with asyncio.TaskGroup() as group:
        for number in range(WRITERS):
            group.create_task(writers.write(number), name=f"writer {number}")
        for _ in range(KILLS):
            server = await ServerProcess.spawn(folder, "--l2-seconds", "0.3")
            try:
                writers.server_is_at((await server.ready()).url)
                await writers.acknowledgements(25)
            finally:
                writers.server_is_gone()
                await server.kill()
            trail(folder)
        writers.stop()

    rows = trail(folder)
    sessions: Counter[str] = Counter()
    for row in rows:
        if row.entry.action == "message.add":
            sessions.update(json.loads(row.entry.subject)["session"])
    acknowledged = Counter(mark("default", batch.session) for batch, _ in writers.acknowledged.values())
    assert acknowledged.total() >= KILLS * 25
    assert {session: n for session, n in acknowledged.items() if sessions[session] < n} == {}
    assert sessions.total() <= acknowledged.total() + len(writers.abandoned)
