"""`/memory-generation-log/*` as its clients see it, over rows that a pipeline would have left."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest

from memstrata.client import (
    AsyncMemoryClient,
    AsyncMemoryGenerationLogClient,
    InvalidRequest,
    MemoryGenerationLogClient,
    NotFound,
)
from memstrata.clock import SystemClock
from memstrata.records import (
    Generation,
    NewDocument,
    NewMemory,
    NewMessage,
    PromptRef,
    Provenance,
    RunOutput,
    RunRecord,
    Scope,
    Usage,
)
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import GenerationFilter
from memstrata.store.sqlite.store import SqliteStore

HEADERS = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
MINUTE = 60_000
MADE = Provenance("gpt", "work", PromptRef("mp-1", 3, "team", "ab12"), Usage(10, 5, 2, 1), ("m9 was never shown",))
SCENE_ID = "profile:v1:" + hashlib.sha256(b"default\0home\0assistant\0\0scene\0home.md").hexdigest()


@dataclass(frozen=True)
class Left:
    """What a pipeline left, an hour before the test."""

    url: str
    at: int
    first: int  # numbers of runs
    messages: tuple[str, str]


@pytest.fixture
async def left(
    tmp_path: Path,
    scope: Scope,
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
    start: Callable[..., AbstractAsyncContextManager[str]],
) -> AsyncIterator[Left]:
    """A run that made two memories of two messages, one that failed, one that wrote a scene, one that found nothing."""
    at = SystemClock().now() - 60 * MINUTE
    profile = scope.profile("agent")

    def work(r: Repositories) -> tuple[str, str]:
        session = r.conversations.append(scope, "s1", "", [new_message(), new_message()], at)
        a, b = r.conversations.undistilled(session, 9)
        tea = r.memories.add(scope, profile, new_memory("tea", memory_id="m_tea", source_seqs=(a.seq,))).seq
        old = r.memories.add(scope, profile, new_memory("old", memory_id="m_old", source_seqs=(a.seq,))).seq
        cake = r.memories.add(
            scope, profile, new_memory("cake", memory_id="m_cake", version=4, source_seqs=(a.seq, b.seq))
        ).seq
        r.memories.retire(scope, old, at, cake)
        scene = r.profiles.write(profile, new_document(memory_seqs=(tea, cake))).seq
        run = RunRecord("l1", "items", a.seq, b.seq, 2, 0, "model", at, at + 1_500, "", MADE)
        made = (
            RunOutput("l1", tea, "store", (a.seq,)),
            RunOutput("l1", cake, "merge", (a.seq, b.seq), (old,), "both are about 甜点"),
        )
        r.jobs.record(session, replace(run, outputs=made))
        r.jobs.record(
            session, replace(run, outcome="retry", error="truncated: cut off at 4096 tokens", finished_at=at + MINUTE)
        )
        target = r.profiles.ensure(profile)
        touched = (RunOutput("l2", scene, "write", (tea, cake)),)
        r.jobs.record(target, replace(run, kind="l2", outputs=touched, finished_at=at + 2 * MINUTE))
        r.jobs.record(target, replace(run, kind="l3", outcome="nothing", finished_at=at + 3 * MINUTE))
        # Nothing is left to do, so that the server makes no runs of its own.
        r.conversations.advance(session, b.seq, 1, "")
        r.profiles.mark_consumed(profile, (tea, cake))
        return a.message_id, b.message_id

    store = await SqliteStore.open(tmp_path)
    messages = await store.write(work)
    (first,) = [one.run_id for one in await store.read(_runs) if one.run.finished_at == at + 1_500]
    await store.close()
    async with start() as url:
        yield Left(url, at, first, messages)


def _runs(r: Repositories) -> tuple[Generation, ...]:
    return r.generations.page("default", GenerationFilter(), None, 9)


@pytest.fixture
async def api(left: Left) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"{left.url}/v3/memory-generation-log/", headers=HEADERS) as client:
        yield client


@pytest.fixture
async def log(left: Left) -> AsyncIterator[AsyncMemoryGenerationLogClient]:
    async with AsyncMemoryGenerationLogClient(left.url) as client:
        yield client


async def data(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()["data"]


async def test_a_line_of_the_log_has_the_contracts_form(api: httpx.AsyncClient, left: Left) -> None:
    listed = await data(await api.get("list"))
    record = (await api.get("get", params={"log_id": listed["items"][-1]["log_id"]})).content

    assert "next_cursor" not in listed
    finished = left.at + 1_500
    log_id = f"mgl_l1_succeeded_{finished}_m_tea_{left.first:016x}"
    time = datetime.fromtimestamp(finished / 1000, UTC)
    assert listed["items"][-1] == {
        "log_id": log_id,
        "layer": "l1",
        "status": "succeeded",
        "anchor_memory_id": "m_tea",
        "finished_at_ms": finished,
        "size": len(record[record.index(b'"data":') + len(b'"data":') : -1]),
        "key": (
            f"memory-generation-logs/v1/layer=l1/date={time:%Y-%m-%d}/hour={time:%H}/"
            f"{9_999_999_999_999 - finished:013d}__mid=m_tea__lid={log_id}.json"
        ),
    }


async def test_failures_and_runs_that_found_nothing_are_listed_too(api: httpx.AsyncClient) -> None:
    items = (await data(await api.post("list", json={})))["items"]

    assert [(item["layer"], item["status"]) for item in items] == [
        ("l3", "succeeded"),
        ("l2", "succeeded"),
        ("l1", "failed"),
        ("l1", "succeeded"),
    ]
    assert "anchor_memory_id" not in items[0]
    assert re.fullmatch(r"mgl_l2_succeeded_\d+_h_[0-9a-f]{24}_[0-9a-f]{16}", items[1]["log_id"])
    assert items[1]["anchor_memory_id"] == SCENE_ID


async def test_a_record_tells_how_a_run_went_and_what_each_output_rests_on(api: httpx.AsyncClient, left: Left) -> None:
    log_id = f"mgl_l1_succeeded_{left.at + 1_500}_m_tea_{left.first:016x}"
    record = await data(await api.get("get", params={"log_id": log_id}))

    one, two = ({"layer": "l0", "record_id": message} for message in left.messages)
    assert re.fullmatch(r"mg_[0-9a-f]{32}", record.pop("generation_id"))
    assert record == {
        "schema_version": 1,
        "log_id": log_id,
        "instance_id": "default",
        "layer": "l1",
        "status": "succeeded",
        "team_id": "home",
        "agent_id": "assistant",
        "user_id": "lin",
        "session_id": "s1",
        "prompt": {"memory_prompt_id": "mp-1", "version": 3, "source": "team", "prompt_sha256": "ab12"},
        "anchor_memory_id": "m_tea",
        "input_refs": [one, two],
        "output_refs": [{"layer": "l1", "record_id": "m_tea"}, {"layer": "l1", "record_id": "m_cake"}],
        "model": "gpt",
        "prompt_mode": "work",
        "started_at_ms": left.at,
        "finished_at_ms": left.at + 1_500,
        "latency_ms": 1_500,
        "outputs": [
            {
                "record_id": "m_tea",
                "version": 0,
                "action": "store",
                "input_refs": [one],
                "replaced_refs": [],
                "note": "",
            },
            {
                "record_id": "m_cake",
                "version": 4,
                "action": "merge",
                "input_refs": [one, two],
                "replaced_refs": [{"layer": "l1", "record_id": "m_old"}],
                "note": "both are about 甜点",
            },
        ],
        "usage": {"calls": 1, "prompt_tokens": 10, "completion_tokens": 5, "cached_tokens": 2},
        "notes": ["m9 was never shown"],
    }


async def test_a_memory_is_told_with_its_own_references_alone(api: httpx.AsyncClient, left: Left) -> None:
    record = await data(await api.get("get", params={"memory_id": "m_tea", "layer": "l1"}))

    assert record["log_id"] == f"mgl_l1_succeeded_{left.at + 1_500}_m_tea_{left.first:016x}"
    assert record["input_refs"] == [{"layer": "l0", "record_id": left.messages[0]}]
    assert record["output_refs"] == [{"layer": "l1", "record_id": "m_tea"}]
    assert len(record["outputs"]) == 1


async def test_a_scene_is_told_by_the_id_that_the_log_gave_it(api: httpx.AsyncClient) -> None:
    record = await data(await api.post("get", json={"memory_id": SCENE_ID, "layer": "l2"}))

    assert record["input_refs"] == [{"layer": "l1", "record_id": one} for one in ("m_tea", "m_cake")]
    assert record["output_refs"] == [{"layer": "l2", "record_id": SCENE_ID}]
    assert "user_id" not in record
    assert "session_id" not in record


async def test_a_failure_is_told_by_code_and_message(api: httpx.AsyncClient) -> None:
    (item,) = (await data(await api.get("list", params={"status": "failed"})))["items"]
    record = await data(await api.get("get", params={"log_id": item["log_id"]}))

    assert (record["status"], record["error_code"], record["error_message"]) == (
        "failed",
        "truncated",
        "cut off at 4096 tokens",
    )
    assert (record["input_refs"], record["output_refs"], record["outputs"]) == ([], [], [])


async def test_a_log_id_still_leads_to_its_run_after_its_anchor_was_deleted(api: httpx.AsyncClient, left: Left) -> None:
    log_id = f"mgl_l1_succeeded_{left.at + 1_500}_m_tea_{left.first:016x}"
    before = await data(await api.get("get", params={"log_id": log_id}))
    async with AsyncMemoryClient(left.url, team="home", agent="assistant", user="lin") as lin:
        assert await lin.delete_memories(["m_tea"]) == 1

    after = await data(await api.get("get", params={"log_id": log_id}))

    assert after["generation_id"] == before["generation_id"]
    assert after["output_refs"] == [{"layer": "l1", "record_id": "m_cake"}]
    assert after["anchor_memory_id"] == "m_cake"
    assert "m_tea" not in json.dumps(after)
    assert (await api.get("get", params={"memory_id": "m_tea", "layer": "l1"})).status_code == 404


async def test_the_log_is_paged_by_its_cursor(api: httpx.AsyncClient) -> None:
    whole = [item["log_id"] for item in (await data(await api.get("list")))["items"]]

    seen: list[str] = []
    cursor: dict[str, str] = {}
    for _ in range(9):
        page = await data(await api.get("list", params={"limit": "1", **cursor}))
        seen += [item["log_id"] for item in page["items"]]
        if "next_cursor" not in page:
            break
        cursor = {"cursor": page["next_cursor"]}

    assert seen == whole


async def test_a_listing_that_cannot_be_meant_is_400_and_named(api: httpx.AsyncClient) -> None:
    mistakes = [
        ({"cursor": "nonsense"}, "INVALID_GENERATION_LOG_CURSOR"),
        ({"cursor": "x" * 513}, "cursor: "),
        ({"layer": "l0"}, "layer: expected one of l1, l2, l3"),
        ({"status": "lost"}, "status: expected one of succeeded, failed"),
        ({"limit": "0"}, "limit: "),
        ({"offset": "1"}, 'request: unrecognized key: "offset"'),
        ({"start_time": "2026-01-01T00:00:00Z"}, "end_time: "),
        ({"start_time": "2026-01-01T00:00:00", "end_time": "2026-01-02T00:00:00Z"}, "start_time: has no time zone"),
    ]
    for query, message in mistakes:
        response = await api.get("list", params=query)
        assert (response.status_code, response.json()["code"]) == (400, 400), query
        assert response.json()["message"].startswith(message)


async def test_a_record_is_asked_for_in_exactly_one_way(api: httpx.AsyncClient) -> None:
    mistakes: list[dict[str, str]] = [
        {},
        {"memory_id": "m_tea"},
        {"layer": "l1"},
        {"log_id": "mgl_x", "memory_id": "m_tea", "layer": "l1"},
        {"log_id": "mgl_x", "layer": "l1"},
    ]
    for query in mistakes:
        assert (await api.get("get", params=query)).status_code == 400, query
        assert (await api.post("get", json=query)).status_code == 400, query


async def test_what_is_not_there_or_another_instances_is_404(api: httpx.AsyncClient, left: Left) -> None:
    log_id = f"mgl_l1_succeeded_{left.at + 1_500}_m_tea_{left.first:016x}"
    other = {"x-tdai-service-id": "other"}
    asked: list[tuple[dict[str, str], dict[str, str]]] = [
        ({"log_id": "mgl_x"}, {}),
        ({"log_id": log_id.replace("succeeded", "failed")}, {}),
        ({"log_id": log_id.replace("_l1_", "_l2_")}, {}),
        ({"memory_id": "m_unknown", "layer": "l1"}, {}),
        ({"memory_id": "m_tea", "layer": "l2"}, {}),
        ({"log_id": log_id}, other),
        ({"memory_id": "m_tea", "layer": "l1"}, other),
        ({"memory_id": SCENE_ID, "layer": "l2"}, other),
    ]

    for query, headers in asked:
        response = await api.get("get", params=query, headers=headers)
        assert (response.status_code, response.json()["message"].split(":")[0]) == (
            404,
            "MEMORY_GENERATION_LOG_NOT_FOUND",
        )
    assert (await data(await api.get("list", headers=other)))["items"] == []


async def test_times_with_an_offset_narrow_the_listing(api: httpx.AsyncClient, left: Left) -> None:
    shanghai = datetime.fromtimestamp(left.at / 1000, timezone(timedelta(hours=8))) + timedelta(minutes=1)
    window = {"start_time": shanghai.isoformat(), "end_time": (shanghai + timedelta(minutes=1)).isoformat()}

    items = (await data(await api.get("list", params=window)))["items"]

    assert [(item["layer"], item["status"]) for item in items] == [("l2", "succeeded"), ("l1", "failed")]


async def test_the_client_speaks_all_of_it(log: AsyncMemoryGenerationLogClient, left: Left) -> None:
    first = await log.list(limit=3)
    rest = await log.list(cursor=first.next_cursor)
    (failed,) = (await log.list(layer="l1", status="failed")).items

    assert [one.layer for one in (*first.items, *rest.items)] == ["l3", "l2", "l1", "l1"]
    assert rest.next_cursor is None
    assert (await log.get(failed.log_id)).error_code == "truncated"
    record = await log.get_by_memory_id("m_cake", "l1")
    assert [(one.layer, one.id) for one in record.inputs] == [("l0", one) for one in left.messages]
    assert record.outputs[0].replaced[0].id == "m_old"
    assert (record.model, record.prompt_id, record.usage["calls"]) == ("gpt", "mp-1", 1)
    now = datetime.now(UTC)
    assert (await log.list(since=now - timedelta(minutes=1), until=now)).items == ()
    with pytest.raises(InvalidRequest, match="INVALID_GENERATION_LOG_CURSOR"):
        await log.list(cursor="nonsense")
    with pytest.raises(NotFound):
        await log.get("mgl_x")


def test_the_blocking_client_has_the_same_verbs() -> None:
    def verbs(kind: type) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert verbs(MemoryGenerationLogClient) == verbs(AsyncMemoryGenerationLogClient)
