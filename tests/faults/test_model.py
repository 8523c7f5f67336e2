"""Process, model or network dies in the middle of a call, at each stage: everything is distilled in the end, and once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from pathlib import Path

import pytest

from memstrata.client import AsyncMemoryClient
from memstrata.llm import ToolCall
from memstrata.memory import Memory, MessageInput
from memstrata.records import ModelRole, Scope
from memstrata.settings import LlmSettings, MirrorSettings, PipelineSettings, Settings
from memstrata.testing import FakeClock
from memstrata.testing.llm import RecordedRequest, Reply, Reset, ScriptedLLM

from .evidence import database_problems
from .process import ServerProcess

pytestmark = pytest.mark.slow

SPOKEN = ("I drink green tea in the morning", "I drink green tea in the evening", "My sister is called Ida")
STAGES: tuple[ModelRole, ...] = ("extract", "resolve", "consolidate", "portray")


def scripted(port: int = 0) -> ScriptedLLM:
    model = ScriptedLLM(port)
    model.always("extract", every_user_message)
    model.always(
        "resolve", Reply('{"decisions": [{"item": "n1", "action": "store"}, {"item": "n2", "action": "store"}]}')
    )
    model.always("consolidate", written("notes.md", "## Notes\nThe tea of the morning and of the evening, and Ida."))
    model.always("portray", written("persona.md", "# Portrait\nDrinks green tea; has a sister, Ida."))
    return model


def every_user_message(request: RecordedRequest) -> Reply:
    shown = request.last_user_text
    mark = shown.split("\n", 1)[0].removeprefix("mark: ")
    items = []
    for part in shown.split(f"#{mark} new\n", 1)[1].split(f"#{mark} ")[1:-1]:
        head, _, text = part.partition("\n")
        alias, speaker, *_ = head.split()
        if speaker == "user":
            items.append({"content": text.rstrip(), "type": "persona", "priority": 80, "sources": [alias]})
    return Reply(json.dumps({"memories": items}))


def written(path: str, content: str) -> Reply:
    arguments = {"path": path, "content": content, "summary": "what was said"}
    return Reply("FINISHED", (ToolCall("call_1", "write", json.dumps(arguments)),))


async def check(memory: AsyncMemoryClient) -> None:
    state = await memory.status()
    assert state.idle
    assert (state.layers["l1"].pending, state.layers["l2"].pending) == (0, 0)
    memories = await memory.memories(limit=100)
    assert sorted(item.content for item in memories.items) == sorted(SPOKEN)
    assert [scene.path for scene in await memory.scenes()] == ["notes.md"]
    persona = await memory.persona()
    assert persona is not None
    assert persona.content.startswith("# Portrait")
    for item in memories.items:
        evidence = await memory.trace(item.id)
        assert [message.content for message in evidence.messages] == [item.content]


@pytest.mark.parametrize("stage", STAGES)
async def test_a_process_that_dies_while_a_model_answers_does_the_stage_again(tmp_path: Path, stage: ModelRole) -> None:
    folder = tmp_path / "data"
    async with scripted() as model, AsyncExitStack() as lives:
        variables = {
            "MEMSTRATA_LLM_BASE_URL": model.base_url,
            "MEMSTRATA_LLM_MODEL": "scripted",
            "MEMSTRATA_PIPELINE_L2_DELAY_SECONDS": "0",
            "MEMSTRATA_PIPELINE_L2_MIN_INTERVAL_SECONDS": "0",
            "MEMSTRATA_PIPELINE_LEASE_SECONDS": "2",
        }

        async def life() -> tuple[ServerProcess, AsyncMemoryClient]:
            server = await ServerProcess.spawn_command(folder, "--json", **variables)
            lives.push_async_callback(server.kill)
            await server.ready()
            client = AsyncMemoryClient(server.url, team="team", agent="agent", user="user", session="s")
            return server, await lives.enter_async_context(client)

        server, memory = await life()
        with model.paused(stage):
            await memory.add([message for text in SPOKEN for message in (("user", text), ("assistant", "noted"))])
            await memory.flush(wait_seconds=0)
            if stage in ("consolidate", "portray"):
                await memory.flush(wait_seconds=5)
            await model.received(1, stage)
            await server.kill()
        _, memory = await life()
        await memory.flush(wait_seconds=20)
        await check(memory)
    assert database_problems(folder) == []


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("death", ["model", "network"])
async def test_a_model_that_dies_or_is_cut_off_while_it_answers_is_asked_again(
    open_memory: Callable[..., AbstractAsyncContextManager[Memory]],
    eventually: Callable[..., Awaitable[None]],
    tmp_path: Path,
    scope: Scope,
    clock: FakeClock,
    stage: ModelRole,
    death: str,
) -> None:
    async with AsyncExitStack() as models:
        model = await models.enter_async_context(scripted())
        settings = Settings(
            data_dir=tmp_path,
            pipeline=PipelineSettings(l2_delay_seconds=0, l2_min_interval_seconds=0),
            mirror=MirrorSettings(enabled=False),
            llm=LlmSettings(base_url=model.base_url, model="scripted", timeout_seconds=20.0),
        )
        async with open_memory(settings=settings, distiller=None) as memory:
            if death == "network":
                model.script(stage, Reset(), Reset())
                await memory.add(scope, "s", [MessageInput("user", text) for text in SPOKEN])
            else:
                with model.paused(stage):
                    await memory.add(scope, "s", [MessageInput("user", text) for text in SPOKEN])
                    await eventually(lambda: bool(model.requests_of(stage)))
                    await models.aclose()
                await models.enter_async_context(scripted(model.port))

            async def settled() -> bool:
                status = await memory.status(scope)
                if any(job.state == "waiting" and job.due_at > clock.now() for job in status.jobs):
                    clock.advance(300)  # past the back-off and the breaker's pause
                return status.idle and await memory.persona(scope) is not None

            await eventually(settled)
            status = await memory.status(scope)
            rows = (await memory.memories(scope)).items
            assert sorted(row.content for row in rows) == sorted(SPOKEN)
            assert (status.layers["l1"].pending, status.layers["l2"].pending) == (0, 0)
            assert [scene.path for scene in await memory.scenes(scope)] == ["notes.md"]
            if death == "network":
                assert len(model.requests_of(stage)) >= 3  # both resets were met
    assert database_problems(tmp_path) == []
