"""A power cut that tears the write-ahead log: what is left is whole, and the readable mirror goes back to it.

A disk that loses what it said was written cannot be asked for the lost part. It can be asked that batches are whole, that
nothing is damaged, and that the mirror, which was ahead, says no more than the database does.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from pathlib import Path

import pytest

from memstrata.client import AsyncMemoryClient
from memstrata.memory import Memory, MessageInput, Scope
from memstrata.settings import Settings
from memstrata.store.sqlite.store import DATABASE_NAME
from memstrata.testing import EchoDistiller

from .evidence import database_problems, mirrored_messages
from .process import running

pytestmark = pytest.mark.slow

CUTS = 12
BATCHES = 20
SCOPE = Scope("default", "team", "agent", "user")


async def test_a_torn_log_leaves_whole_batches_and_a_mirror_that_agrees(tmp_path: Path) -> None:
    original = tmp_path / "data"
    async with running(original) as server:
        async with AsyncMemoryClient(server.url, team="team", agent="agent", user="user") as client:
            for number in range(BATCHES):
                texts = [("user", f"{number}: question {number * 7919}"), ("assistant", f"{number}: answer {number}")]
                await client.add(texts, session=f"s{number % 3}")
            assert (await client.flush()).idle
        await server.kill()
    size = (original / f"{DATABASE_NAME}-wal").stat().st_size
    choices = random.Random(7)
    kept = set()
    for cut in range(CUTS):
        folder = tmp_path / f"cut-{cut}"
        shutil.copytree(original, folder)
        with (folder / f"{DATABASE_NAME}-wal").open("r+b") as log:
            log.truncate(choices.randrange(size))

        async with Memory.open(settings=Settings(data_dir=folder), distiller=EchoDistiller()) as memory:
            page = await memory.messages(SCOPE, limit=1_000)
            batches = Counter(message.content.split(":")[0] for message in page.items)
            assert set(batches.values()) <= {2}
            await memory.add(SCOPE, "s0", [MessageInput("user", "after the cut")])
            assert (await memory.flush(SCOPE)).idle
            contents = [item.content for item in (await memory.memories(SCOPE, limit=1_000)).items]
            assert len(contents) == len(set(contents)) == len(batches) + 1
            present = await memory.messages(SCOPE, limit=1_000)
        assert mirrored_messages(folder) == Counter((one.message_id, one.content) for one in present.items)
        assert database_problems(folder) == []
        kept.add(len(batches))
    assert len(kept) > 1, "every cut fell behind the last commit, or before the first"
