from __future__ import annotations

import random
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from benchmarks.bench import L1_OFF, SCOPE
from benchmarks.dataset import distractor, gold
from benchmarks.driver import Call, Client
from benchmarks.meanings import MadeUpEmbedder
from benchmarks.server import running
from benchmarks.vector_leg import INSERTED, vector_leg
from benchmarks.vectorised import fill

from memstrata.memory import Memory
from memstrata.settings import MirrorSettings, Settings
from memstrata.vectors.protocol import Kind, Vectors

ROOT = Path(__file__).parents[3]
ROWS = 240


@pytest.fixture
async def folder(tmp_path: Path) -> Path:
    filled = tmp_path / "filled"
    await fill(filled, [SCOPE], ROWS)
    return filled


class CountingEmbedder(MadeUpEmbedder):
    """Counts the texts to store that it is asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.passages = 0

    async def embed(self, texts: Sequence[str], *, kind: Kind) -> Vectors:
        self.passages += len(texts) * (kind == "passage")
        return await super().embed(texts, kind=kind)


async def test_a_filled_folder_leaves_nothing_to_embed_or_to_distill(folder: Path) -> None:
    embedder = CountingEmbedder()
    settings = Settings(data_dir=folder, mirror=MirrorSettings(enabled=False))
    async with Memory.open(settings=settings, embedder=embedder) as memory:
        await memory.vectors_settled()
        assert await memory.count_memories(SCOPE) == ROWS
        assert (await memory.vector_coverage())["memories"].missing == 0
        status = await memory.status(SCOPE)
        found = await memory.search(SCOPE, gold()[0].question)
    assert embedder.passages == 0
    assert (status.layers["l1"].pending, status.layers["l2"].pending) == (0, 0)
    assert status.jobs == ()
    assert found.degraded == ()
    assert set(found.hits[0].legs) == {"keyword", "vector"}


async def test_the_leg_of_a_small_scope_is_exact_and_finds_what_is_inserted(folder: Path) -> None:
    chance = random.Random(0)
    async with vector_leg(folder, SCOPE) as leg:
        await leg.complete()
        assert (await leg.nearest()).recall == 1.0
        await leg.insert([distractor(number, chance) for number in range(INSERTED)])
        assert (await leg.nearest()).recall == 1.0


async def test_too_few_texts_to_insert_are_refused(folder: Path) -> None:
    async with vector_leg(folder, SCOPE) as leg:
        with pytest.raises(ValueError, match="expected"):
            await leg.insert(["one"])


async def test_the_server_with_made_up_vectors_searches_by_words_and_meaning(
    folder: Path, eventually: Callable[..., Awaitable[None]]
) -> None:
    command = (sys.executable, "-m", "benchmarks.vector_server")
    asked = {"team_id": SCOPE.team, "agent_id": SCOPE.agent, "user_id": SCOPE.user, "query": gold()[0].question}
    async with running(command, folder, {**L1_OFF, "PYTHONPATH": str(ROOT)}) as server, Client(server) as client:

        async def both_look() -> bool:
            # The server answers by words until its embedder has answered for the first time.
            answer = await client.ask(Call("/v3/atomic/search", asked))
            assert answer["items"]
            return not answer.get("degraded")

        await eventually(both_look)
        counted = await client.ask(Call("/v3/atomic/count", asked))
    assert counted["total"] == ROWS
