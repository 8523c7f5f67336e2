"""The clients for operators: twins with the same verbs, reads by GET, writes that say who makes them."""

import inspect
import json
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from memstrata.client import (
    AsyncMemoryGenerationLogClient,
    AsyncMemoryPromptClient,
    MemoryGenerationLogClient,
    MemoryPromptClient,
    Unavailable,
)

TWINS = [
    (MemoryPromptClient, AsyncMemoryPromptClient),
    (MemoryGenerationLogClient, AsyncMemoryGenerationLogClient),
]
PROMPT = {"name": "diet", "layer": "l1", "prompt": "food", "created_at_ms": 0, "updated_at_ms": 1_500}
ANSWER: dict[str, Any] = {
    **PROMPT,
    "memory_prompt_id": "mp-1",
    "source": "team",
    "version": 2,
    "affected": 1,
    "items": [],
    "deleted_prompt_ids": ["mp-1"],
}
RECORD = {"log_id": "mgl_1", "layer": "l1", "status": "succeeded", "started_at_ms": 0, "finished_at_ms": 1_500}


def recorder(sent: list[httpx.Request], status: int = 200, data: dict[str, Any] = ANSWER) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(status, json={"code": 0 if status == 200 else status, "data": data})

    return httpx.MockTransport(answer)


@pytest.mark.parametrize(("blocking", "coroutines"), TWINS)
def test_the_twins_have_the_same_verbs_with_the_same_arguments(blocking: type, coroutines: type) -> None:
    def verbs(kind: type) -> dict[str, inspect.Signature]:
        return {name: inspect.signature(value) for name, value in vars(kind).items() if not name.startswith("_")}

    assert verbs(blocking) == verbs(coroutines)


def test_reads_are_get_and_leave_out_what_is_not_given() -> None:
    sent: list[httpx.Request] = []
    with MemoryPromptClient(transport=recorder(sent)) as prompts:
        prompts.get("mp 1&layer=l2")
        prompts.list()
        prompts.get_effective(layer="l1", team="家")
        prompts.list_settings(target_type="agent", limit=5)
        since = datetime(2026, 1, 2, tzinfo=UTC)
        prompts.list_setting_logs(team="home", since=since, until="2026-01-03T00:00:00Z")

    assert [(one.method, one.url.path, dict(one.url.params)) for one in sent] == [
        ("GET", "/v3/memory-prompt/get", {"memory_prompt_id": "mp 1&layer=l2"}),
        ("GET", "/v3/memory-prompt/get", {}),
        ("GET", "/v3/memory-prompt/get", {"layer": "l1", "team_id": "家"}),
        ("GET", "/v3/memory-prompt/setting/list", {"target_type": "agent", "limit": "5"}),
        (
            "GET",
            "/v3/memory-prompt/log",
            {
                "team_id": "home",
                "start_time": "2026-01-02T00:00:00.000+00:00",
                "end_time": "2026-01-03T00:00:00Z",
            },
        ),
    ]


def test_writes_say_who_makes_them() -> None:
    sent: list[httpx.Request] = []
    with MemoryPromptClient(operator="林", transport=recorder(sent)) as prompts:
        assert prompts.create(name="diet", layer="l1", prompt="food") == "mp-1"
        assert prompts.update("mp-1", prompt="tea") == 2
        assert prompts.apply("mp-1", layer="l1", team="home", agents=["a"]) == 1
        assert prompts.clear(layer="l1") == 1
        assert prompts.delete(["mp-1"]).prompt_ids == ("mp-1",)

    assert {dict(one.headers.raw)[b"x-tdai-user-id"] for one in sent} == {"林".encode()}
    assert [(one.url.path.rsplit("/", 1)[1], json.loads(one.content)) for one in sent] == [
        ("create", {"name": "diet", "layer": "l1", "prompt": "food"}),
        ("update", {"memory_prompt_id": "mp-1", "prompt": "tea"}),
        (
            "set",
            {"action": "apply", "layer": "l1", "team_id": "home", "memory_prompt_id": "mp-1", "agent_ids": ["a"]},
        ),
        ("set", {"action": "clear", "layer": "l1"}),
        ("delete", {"memory_prompt_ids": ["mp-1"]}),
    ]


def test_times_are_read_as_aware_datetimes() -> None:
    with MemoryPromptClient(transport=recorder([])) as prompts:
        assert prompts.get("mp-1").updated_at == datetime(1970, 1, 1, 0, 0, 1, 500_000, UTC)


async def test_a_record_from_an_older_server_is_read_with_neutral_values() -> None:
    async with AsyncMemoryGenerationLogClient(transport=recorder([], data=RECORD)) as log:
        record = await log.get_by_memory_id("m_1", "l1")

    assert (record.log_id, record.model, record.inputs, record.outputs, record.usage) == ("mgl_1", "", (), (), {})


def test_what_may_have_been_done_is_sent_again_only_after_the_server_said_that_nothing_was() -> None:
    sent: list[httpx.Request] = []
    with MemoryPromptClient(transport=recorder(sent, 503)) as prompts:
        prompts._pause = lambda _: None
        with pytest.raises(Unavailable):
            prompts.create(name="diet", layer="l1", prompt="food")
    assert len(sent) == 4

    def lose(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        raise httpx.ReadError("reset")

    sent.clear()
    with MemoryPromptClient(transport=httpx.MockTransport(lose)) as prompts, pytest.raises(Unavailable):
        prompts.create(name="diet", layer="l1", prompt="food")
    assert len(sent) == 1
