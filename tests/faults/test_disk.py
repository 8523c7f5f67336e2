"""A disk that is full and a file that is damaged: said plainly, nothing half stored, and well again afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from memstrata.client import AsyncMemoryClient
from memstrata.store.sqlite.store import DATABASE_NAME

from .disks import Disk, limited, mounted
from .evidence import database_problems, mirrored_messages
from .process import ServerProcess, running

pytestmark = pytest.mark.slow

SCOPE = {"team_id": "team", "agent_id": "agent", "user_id": "user", "session_id": "s"}
HEADERS = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
ADD = "/v3/conversation/add"


@pytest.fixture(params=[mounted, limited])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Disk]:
    make: Callable[[Path], AbstractContextManager[Disk]] = request.param
    with make(tmp_path) as made:
        yield made


def body(number: int, padding: int = 0) -> dict[str, Any]:
    words = " ".join(f"{number:03x}{place:04x}" for place in range(padding))
    messages = [{"role": "user", "content": f"fact number {number} {words}"}, {"role": "assistant", "content": "noted"}]
    return {**SCOPE, "idempotency_key": f"key-{number}", "messages": messages}


async def filled(api: httpx.AsyncClient) -> httpx.Response:
    """Write until the disk is full; return the answer that says so. What was just written may still have had room."""
    for number in range(100, 1_000):
        response = await api.post(ADD, json=body(number, padding=100))
        if response.status_code != 200:
            return response
    raise AssertionError("the disk never became full")


async def test_a_full_disk_is_503_and_nothing_is_half_stored(disk: Disk) -> None:
    async with (
        running(disk.folder) as server,
        httpx.AsyncClient(base_url=server.url, headers=HEADERS) as api,
        AsyncMemoryClient(server.url, team="team", agent="agent", user="user") as memory,
    ):
        assert (await api.post(ADD, json=body(1))).status_code == 200
        assert (await memory.flush()).idle
        disk.fill(server.pid)

        refused = await filled(api)

        assert refused.status_code == 503
        assert refused.json()["retryable"] is True
        assert int(refused.headers["retry-after"]) >= 1
        stored = await memory.count_messages()
        for _ in range(3):
            assert (await api.post(ADD, json=body(2, padding=100))).status_code == 503
        assert await memory.count_messages() == stored
        assert stored % 2 == 0
        health = await memory.health()
        assert health.status == "degraded"
        assert health.components["store"]["state"] == "failed"
        assert [hit.item.content for hit in (await memory.search("fact number 1")).hits] != []

        disk.free(server.pid)

        answers = [await api.post(ADD, json=body(2, padding=100)) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert [answer.json()["data"].get("replayed", False) for answer in answers] == [False, True]
        assert await memory.count_messages() == stored + 2
        assert (await memory.flush(wait_seconds=60)).idle
        assert (await memory.health()).status == "ok"
        assert await memory.count_memories() == stored // 2 + 1
        assert await server.stop() == 0
        assert database_problems(disk.folder) == []
        assert sum(mirrored_messages(disk.folder).values()) == stored + 2
        assert max(mirrored_messages(disk.folder).values()) == 1


async def test_a_server_that_starts_on_a_full_disk_still_answers_questions(tmp_path: Path) -> None:
    with mounted(tmp_path) as disk:
        async with (
            running(disk.folder) as server,
            AsyncMemoryClient(server.url, team="team", agent="agent", user="user", session="s") as memory,
        ):
            await memory.add([("user", "I live in Lisbon")])
            assert (await memory.flush()).idle
            await server.kill()
        disk.fill(os.getpid())
        try:
            async with (
                running(disk.folder) as server,
                AsyncMemoryClient(server.url, team="team", agent="agent", user="user", session="s") as memory,
            ):
                assert [hit.item.content for hit in (await memory.search("Lisbon")).hits] == ["I live in Lisbon"]
                await server.stop()
        finally:
            disk.free(os.getpid())
        assert database_problems(disk.folder) == []


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda data: b"this is not a database" + data[22:], id="header"),
        pytest.param(lambda data: data[:4_096] + bytes(range(256)) * ((len(data) - 4_096) // 256), id="pages"),
        pytest.param(lambda data: data[: len(data) // 2], id="cut short"),
    ],
)
async def test_a_damaged_database_ends_the_start_with_one_line_and_is_left_as_it_is(
    tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    folder = tmp_path / "data"
    async with (
        running(folder) as server,
        AsyncMemoryClient(server.url, team="team", agent="agent", user="user", session="s") as memory,
    ):
        await memory.add([("user", "I live in Lisbon")])
        assert (await memory.flush()).idle
        assert await server.stop() == 0
    database = folder / DATABASE_NAME
    damaged = damage(database.read_bytes())
    database.write_bytes(damaged)

    before = server.log
    refused = await ServerProcess.spawn_command(folder)
    try:
        exit_code = await refused.ended(30)
    finally:
        await refused.kill()

    assert exit_code == 3
    lines = refused.log.removeprefix(before).splitlines()
    assert len(lines) == 1, lines
    assert str(database) in lines[0]
    assert database.read_bytes() == damaged
