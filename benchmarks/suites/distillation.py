"""Distilling with a model: what a hundred turns cost, how soon a turn is remembered, and whether all of them are.

The model is the stand-in, which answers at once. For the cost it runs in this process, where every request can be
counted; for the times it is a process of its own, as the reference's was.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.bench import SHORT_WAITS, Bench
from benchmarks.conversation import NAME, Turn, find_conversation, read_turns
from benchmarks.driver import Body, Call, Client
from benchmarks.figures import lost_and_doubled, percentile
from benchmarks.machine import cpu_seconds
from benchmarks.remembered import POLL_SECONDS, add, code, ids, memories, until_remembered, visible
from benchmarks.stand_in import scripted
from memstrata.llm import MODEL_ROLES
from memstrata.testing.llm import ScriptedLLM

__all__ = ["measure", "soon"]

_SAMPLES = 40
_SESSIONS = 50
_TURNS = 20
_SETTLE_SECONDS = 120.0
_SOON = timedelta(seconds=60)
_ROOT = Path(__file__).parents[2]


async def measure(bench: Bench) -> None:
    """Count a hundred turns, time single turns, then 50 sessions of 20 turns, in turn and all at once."""
    conversation = find_conversation()
    if conversation is None:
        said = f"distillation.cost: left out, MEMSTRATA_BENCH_SHARED names no folder with {NAME}"
        print(said, file=sys.stderr)
    else:
        await _cost(bench, read_turns(conversation))
    async with _stand_in() as url:
        async with bench.serve(bench.new_folder(), _named(url)) as server, Client(server) as client:
            await _single_turns(bench, client)
        for mode in ("seq", "burst"):
            for end in ("flush", "idle"):
                await _sessions(bench, url, mode, end)


def soon(jobs: Sequence[Mapping[str, Any]], now: datetime) -> bool:
    """Return whether any of the jobs runs or will within a minute; those that wait for quiet or an interval do not."""
    return any(
        job["state"] == "running" or (job["state"] == "waiting" and datetime.fromisoformat(job["due_at"]) < now + _SOON)
        for job in jobs
    )


async def _cost(bench: Bench, turns: Sequence[Turn]) -> None:
    """Add the turns one by one, with the timers as they are shipped, and count what the model was given to read."""
    scope, session = ids("team-cost"), "a-long-talk"
    async with ScriptedLLM() as model:
        settings = _named(scripted(model).base_url)
        async with bench.serve(bench.new_folder(), settings) as server, Client(server) as client:
            for turn in turns:
                await client.ask(add(scope, session, turn.user, turn.assistant))
                await _until_quiet(client, scope, {"l1"})
            await _until_quiet(client, scope, {"l1", "l2", "l3"})
            _count(bench, model, "cost")
            pending = (await client.ask(Call("/v3/pipeline/status", scope)))["layers"]["l1"]["pending"] // 2
            due = turns[: len(turns) - pending]
            told = _told(due, await memories(client, scope))
            bench.record.figure("distillation.cost.memories", told, due=len(due))
            bench.record.figure("distillation.cost.told_share", told / len(due))
            await client.ask(Call("/v3/pipeline/flush", {**scope, "wait_seconds": 60}))
            _count(bench, model, "cost_with_flush")
            told = _told(turns, await memories(client, scope))
            bench.record.figure("distillation.cost_with_flush.memories", told)
            bench.record.figure("distillation.cost_with_flush.told_share", told / len(turns))


def _count(bench: Bench, model: ScriptedLLM, name: str) -> None:
    prompt, cached = model.tokens()
    roles = {role: _role(model, role) for role in MODEL_ROLES}
    bench.record.figure(f"distillation.{name}.calls", len(model.requests), **roles)
    bench.record.figure(f"distillation.{name}.prompt_tokens", prompt)
    bench.record.figure(f"distillation.{name}.cached_share", cached / prompt)
    for role, counted in roles.items():
        for quantity in ("calls", "prompt_tokens"):
            bench.record.figure(f"distillation.{name}.{role}.{quantity}", counted[quantity])
    # A schema in `response_format` is counted apart: endpoints that hold a model to it do not have it read the schema.
    schemas = sum(request.schema_tokens for request in model.requests)
    bench.record.figure(f"distillation.{name}.schema_tokens", schemas)


def _role(model: ScriptedLLM, role: str) -> Mapping[str, int]:
    prompt, cached = model.tokens(role)
    return {"calls": len(model.requests_of(role)), "prompt_tokens": prompt, "cached_tokens": cached}


def _told(turns: Sequence[Turn], texts: Sequence[str]) -> int:
    return sum(any(turn.user in text for text in texts) for turn in turns)


async def _until_quiet(client: Client, scope: Body, kinds: set[str]) -> None:
    """Wait until nothing of these layers runs or is due soon."""
    async with asyncio.timeout(_SETTLE_SECONDS):
        while soon(
            [one for one in (await client.ask(Call("/v3/pipeline/status", scope)))["jobs"] if one["kind"] in kinds],
            datetime.now(UTC),
        ):
            await asyncio.sleep(POLL_SECONDS)


async def _single_turns(bench: Bench, client: Client) -> None:
    """Time from the add to the first search that finds the memory, each turn in a session of its own."""
    scope = ids("team-visible")
    found = await visible(
        client, scope, _SAMPLES, lambda _, own: add(scope, f"visible-{own}", f"用户的幸运代码是 {own}", "好的")
    )
    bench.record.figure("distillation.visible.missing", found.missing)
    if waits := found.milliseconds:
        bench.record.figure("distillation.visible.p50_ms", percentile(waits, 50))
        bench.record.figure("distillation.visible.p95_ms", percentile(waits, 95), max=max(waits))


async def _sessions(bench: Bench, url: str, mode: str, end: str) -> None:
    """Add 50 sessions of 20 turns on a new folder: in turn within each session, or all requests at once.

    `flush`: a flush is asked for when all have ended. `idle`: each waits for five seconds of quiet.
    """
    scope = ids("team-sessions")
    codes = {(session, turn): code() for session in range(_SESSIONS) for turn in range(_TURNS)}
    async with bench.serve(bench.new_folder(), {**SHORT_WAITS, **_named(url)}) as server, Client(server) as client:
        cpu, started = cpu_seconds(server.pid), time.perf_counter()

        async def turn(session: int, number: int) -> None:
            said = f"用户事实 S{session}T{number} 标识 {codes[session, number]}"
            await client.ask(add(scope, f"session-{session}", said, f"已记录第{number}条"))

        async def whole(session: int) -> None:
            if mode == "burst":
                await asyncio.gather(*(turn(session, number) for number in range(_TURNS)))
            else:
                for number in range(_TURNS):
                    await turn(session, number)

        await asyncio.gather(*(whole(session) for session in range(_SESSIONS)))
        added = time.perf_counter() - started
        async with asyncio.TaskGroup() as tasks:
            if end == "flush":
                tasks.create_task(client.ask(Call("/v3/pipeline/flush", {**scope, "wait_seconds": 60})))
            remembered = await until_remembered(client, scope, len(codes), started)
        lost, doubled = lost_and_doubled(codes.values(), await memories(client, scope))
        used = cpu_seconds(server.pid) - cpu
    name = f"distillation.sessions.{mode}_{end}"
    for quantity, value in (
        ("added_seconds", added),
        ("remembered_seconds", remembered),
        ("lost", lost),
        ("doubled", doubled),
        ("server_cpu_seconds", used),
    ):
        bench.record.figure(f"{name}.{quantity}", value)


def _named(url: str) -> Mapping[str, str]:
    return {"MEMSTRATA_LLM_BASE_URL": url, "MEMSTRATA_LLM_MODEL": "stand-in"}


@asynccontextmanager
async def _stand_in() -> AsyncIterator[str]:
    """Run the stand-in as a process of its own for a block, and yield its address."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.stand_in", stdin=PIPE, stdout=PIPE, cwd=_ROOT
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(await process.stdout.readline())["url"]
    finally:
        process.stdin.close()
        await process.wait()
