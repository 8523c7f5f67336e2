"""Both clients over a transport that a test answers: the same calls, the same results, the same errors."""

import asyncio
import inspect
import json
import ssl
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from memstrata.client import AsyncMemoryClient, MemoryClient, MemstrataClientError, Unavailable, Unreachable

Handler = Callable[[httpx.Request], httpx.Response]

ROW = {
    "id": "m_1",
    "type": "persona",
    "content": "Lives in Lisbon",
    "version": 2,
    "created_at": "2026-01-02T03:04:05.000Z",
}
TEXT = {"path": "home.md", "content": "# Home", "version": 3}
RUN = {"id": "home.md", "version": "v3", "action": "write", "model": "m", "prompt": {"id": "mp-1", "version": "v2"}}
LAYERS = {name: {"pending": 0, "state": "idle", "next_due_at": None} for name in ("l1", "l2", "l3")}
ANSWERS: dict[str, dict[str, Any]] = {
    "/v3/conversation/add": {"accepted_ids": ["msg-1"], "accepted_versions": ["v1"], "total_count": 1},
    "/v3/conversation/query": {
        "messages": [{"id": "msg-1", "role": "user", "content": "hi", "timestamp": "2026-01-02T03:04:05.000Z"}],
        "total": 9,
    },
    "/v3/conversation/count": {"total": 9},
    "/v3/conversation/search": {
        "messages": [
            {"id": "msg-1", "role": "user", "content": "hi", "score": 0.5},
            {
                "id": "msg-2",
                "role": "user",
                "content": "hi again",
                "score": 0.4,
                "neighbours": {"before": [{"id": "msg-1", "role": "user", "content": "hi"}], "after": []},
            },
        ]
    },
    "/v3/conversation/delete": {"deleted_count": 2},
    "/v3/atomic/query": {"items": [ROW], "total": 4},
    "/v3/atomic/count": {"total": 4},
    "/v3/atomic/search": {"items": [{**ROW, "score": 0.7, "legs": {"keyword": 3}}], "degraded": ["vector: none"]},
    "/v3/atomic/update": {"id": "m_1", "version": "v3"},
    "/v3/atomic/delete": {"deleted_count": 1},
    "/v3/scenario/ls": {"entries": [{"path": "home.md", "heat": 2}], "total": 1},
    "/v3/scenario/read": TEXT,
    "/v3/scenario/write": {"path": "home.md", "version": 4},
    "/v3/core/read": {"content": None, "created_at": None, "updated_at": None},
    "/v3/core/write": {"version": 5},
    "/v3/recall": {"items": [{**ROW, "score": 0.7}], "persona": {"content": "# Maya"}, "prepend_context": "<memories>"},
    "/v3/trace": {
        "memory": ROW,
        "messages": [],
        "replaced": [],
        "scenes": [],
        "persona": {"content": "# Maya"},
        "scene": {"path": "home.md"},
        "memories": [{**ROW, "messages": [{"id": "msg-1", "role": "user", "content": "hi"}]}],
    },
    "/v3/atomic/history": {"items": [{**ROW, "version": "v2", "live": True, "superseded_by": None}], "total": 1},
    "/v3/atomic/undo": {"items": [{**ROW, "version": "v3"}], "total": 1},
    "/v3/scenario/history": {"items": [{**TEXT, "version": "v3", "live": False, "generation": [RUN]}], "total": 1},
    "/v3/scenario/restore": {"path": "home.md", "version": "v6"},
    "/v3/core/history": {"items": [], "total": 0},
    "/v3/core/restore": {"version": "v7"},
    "/v3/pipeline/status": {"layers": LAYERS, "idle": True, "distiller": "rules"},
    "/v3/pipeline/flush": {"layers": LAYERS, "idle": True, "distiller": "rules"},
    "/v3/pipeline/retry": {"retried": 3},
    "/v3/pipeline/spending": {
        "items": [
            {
                "day": "2026-01-02",
                "role": "extract",
                "calls": 2,
                "prompt_tokens": 10,
                "completion_tokens": 3,
                "cached_tokens": 4,
                "estimated": False,
            }
        ]
    },
    "/v3/forget": {
        "forgetting_id": "fgt-1",
        "counts": {"messages": 2},
        "complete": False,
        "at": "2026-01-02T03:04:05.000Z",
        "message_ids": ["msg-1", "msg-2"],
    },
    "/v3/forget/receipt": {"forgetting_id": "fgt-1", "counts": {"messages": 2}, "complete": True},
    "/v3/policy/get": {"policy": None, "in_force": {"redact_secrets": True, "l0_l1_retention_days": 0}},
    "/v3/policy/set": {
        "policy": {"team_id": "t", "agent_id": "", "user_id": "", "l0_l1_retention_days": 30},
        "in_force": {"redact_secrets": True, "l0_l1_retention_days": 30},
    },
    "/v3/policy/list": {"items": [{"team_id": "t", "redact_secrets": False}], "total": 1},
    "/v2/pipeline/status": {"l1": {"queued": 1, "running": 0, "idle": False}},
}
VERBS: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "add": (([("user", "hi")],), {}),
    "messages": ((), {"limit": 5}),
    "count_messages": ((), {}),
    "search_messages": (("hi",), {"neighbours": 2}),
    "delete_messages": ((), {"message_ids": ["msg-1"]}),
    "memories": ((), {"type": "persona"}),
    "count_memories": ((), {}),
    "search": (("home",), {}),
    "update_memory": (("m_1", "Lives in Porto"), {"scene_name": "Home"}),
    "history": (("m_1",), {}),
    "undo": (("m_1",), {}),
    "delete_memories": ((["m_1"],), {}),
    "scenes": ((), {"prefix": "ho"}),
    "read_scene": (("home.md",), {}),
    "write_scene": (("home.md", "# Home"), {"summary": "x"}),
    "create_scene": (("home.md", "# Home"), {"summary": "x"}),
    "remove_scene": (("home.md",), {}),
    "scene_history": (("home.md",), {}),
    "restore_scene": (("home.md", 3), {}),
    "persona": ((), {}),
    "persona_history": ((), {}),
    "restore_persona": ((2,), {}),
    "write_persona": (("# Maya",), {}),
    "recall": (("home",), {"include": ["memories"], "max_tokens": 900}),
    "trace": (("m_1",), {}),
    "trace_scene": (("home.md",), {}),
    "trace_persona": (("likes tea",), {}),
    "status": ((), {}),
    "flush": ((), {"wait_seconds": 1.0}),
    "retry": ((), {}),
    "spending": ((), {"days": 2}),
    "forgettable": ((), {"message_ids": ("msg-1", "msg-2")}),
    "forget": ((), {"user": True, "since": "2026-01-02T03:04:05Z", "confirm": True}),
    "forgetting_receipt": (("fgt-1",), {}),
    "policy": ((), {"team": "t"}),
    "set_policy": ((), {"team": "t", "retention_days": 30}),
    "policies": ((), {"limit": 5}),
    "load": ((), {}),
    "health": ((), {}),
}


def answer(request: httpx.Request) -> httpx.Response:
    if request.url.path == "/health":
        return httpx.Response(200, json={"status": "ok", "version": "0.1.0", "uptime": 12, "components": {}})
    body: dict[str, Any] = {"code": 0, "message": "ok", "request_id": "req-1"}
    if request.url.path in ANSWERS:
        body["data"] = ANSWERS[request.url.path]
    return httpx.Response(200, json=body)


def client(handler: Handler = answer) -> MemoryClient:
    memory = MemoryClient(team="t", agent="a", user="u", session="s1", transport=httpx.MockTransport(handler))
    memory._pause = lambda _: None
    return memory


def async_client(handler: Handler = answer) -> AsyncMemoryClient:
    async def pause(_: float) -> None:
        return

    memory = AsyncMemoryClient(team="t", agent="a", user="u", session="s1", transport=httpx.MockTransport(handler))
    memory._pause = pause
    return memory


def public(kind: type) -> set[str]:
    return {name for name in vars(kind) if not name.startswith("_")} - {"close", "aclose"}


def test_the_twins_have_the_same_verbs_with_the_same_arguments() -> None:
    assert public(MemoryClient) == public(AsyncMemoryClient) == {*VERBS, "with_scope"}
    for name in public(MemoryClient):
        assert inspect.signature(getattr(MemoryClient, name)) == inspect.signature(getattr(AsyncMemoryClient, name))


@pytest.mark.parametrize("verb", VERBS)
async def test_the_twins_send_and_read_the_same(verb: str) -> None:
    sent: list[tuple[str, str, dict[str, Any]]] = []

    def record(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content or b"{}")
        body.pop("idempotency_key", None)
        sent.append((request.method, request.url.path, body))
        return answer(request)

    args, named = VERBS[verb]
    with client(record) as memory:
        first = getattr(memory, verb)(*args, **named)
    async with async_client(record) as twin:
        second = await getattr(twin, verb)(*args, **named)

    assert first == second
    assert sent[0] == sent[1]


def test_answers_are_typed() -> None:
    with client() as memory:
        assert memory.add([("user", "hi")]).message_ids == ("msg-1",)
        page = memory.messages()
        assert (page.total, page.items[0].said_at) == (9, datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
        found = memory.search("home")
        assert (found.items[0].content, found.hits[0].score, found.degraded) == (
            "Lives in Lisbon",
            0.7,
            ("vector: none",),
        )
        alone, beside = memory.search_messages("hi").hits
        assert (alone.item.id, alone.neighbours) == ("msg-1", None)
        assert beside.neighbours is not None
        assert ([message.id for message in beside.neighbours.before], beside.neighbours.after) == (["msg-1"], ())
        assert memory.update_memory("m_1", "x") == 3
        assert (memory.delete_messages(message_ids=["msg-1"]), memory.delete_memories(["m_1"])) == (2, 1)
        assert memory.scenes()[0].heat == 2
        scene = memory.read_scene("home.md")
        assert scene is not None
        assert scene.content == "# Home"
        assert (memory.write_scene("home.md", "x"), memory.write_persona("x")) == (4, 5)
        assert memory.persona() is None
        recalled = memory.recall("home")
        assert recalled.persona is not None
        assert (recalled.prepend_context, recalled.persona.content, recalled.scenes) == ("<memories>", "# Maya", ())
        assert memory.trace("m_1").memory.id == "m_1"
        assert memory.trace_scene("home.md").supports[0].messages[0].id == "msg-1"
        assert memory.trace_persona().persona.content == "# Maya"
        assert memory.history("m_1")[0].live
        assert (memory.undo("m_1")[0].version, memory.restore_scene("home.md", 3), memory.restore_persona(2)) == (
            3,
            6,
            7,
        )
        (run,) = memory.scene_history("home.md")[0].derivations
        assert (run.version, run.prompt_id, run.prompt_version, memory.persona_history()) == (3, "mp-1", 2, ())
        assert memory.status().layers["l1"].state == "idle"
        (line,) = memory.spending(days=2)
        assert (line.role, line.calls, line.cached_tokens) == ("extract", 2, 4)
        receipt = memory.forget(message_ids=["msg-1", "msg-2"])
        assert (receipt.id, receipt.counts, receipt.complete) == ("fgt-1", {"messages": 2}, False)
        assert memory.forgettable(user=True).message_ids == ("msg-1", "msg-2")
        assert memory.forgetting_receipt("fgt-1").complete
        assert (memory.policy().policy, memory.policy().redact_secrets) == (None, True)
        policy = memory.set_policy(team="t", retention_days=30).policy
        assert policy is not None
        assert (policy.team, policy.redact_secrets, policy.retention_days) == ("t", None, 30)
        assert memory.policies().items[0].redact_secrets is False
        assert (memory.retry(), memory.load()["l1"].queued, memory.health().status) == (3, 1, "ok")


def test_an_empty_list_of_what_to_forget_is_sent_as_one() -> None:
    """Left out, it would make the request wider: the time alone."""
    sent: list[dict[str, Any]] = []

    def record(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return answer(request)

    with client(record) as memory:
        memory.forget(session_ids=[], since="2026-01-02T03:04:05Z")

    assert sent[0]["session_ids"] == []
    assert "message_ids" not in sent[0]


def test_every_request_says_who_asks() -> None:
    seen: list[httpx.Request] = []

    def record(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return answer(request)

    with MemoryClient(
        "http://memory.example:1/",
        api_key="key",
        instance="lab",
        team="t",
        agent="a",
        user="u",
        transport=httpx.MockTransport(record),
    ) as memory:
        memory.persona()

    assert str(seen[0].url) == "http://memory.example:1/v3/core/read"
    assert seen[0].headers["authorization"] == "Bearer key"
    assert seen[0].headers["x-tdai-service-id"] == "lab"
    assert json.loads(seen[0].content) == {"team_id": "t", "agent_id": "a", "user_id": "u"}


async def test_a_write_is_repeated_under_the_same_key_until_it_is_answered() -> None:
    keys: list[str] = []

    def flaky(request: httpx.Request) -> httpx.Response:
        keys.append(json.loads(request.content)["idempotency_key"])
        if len(keys) in (1, 5):
            raise httpx.ReadError("reset", request=request)
        if len(keys) in (2, 6):
            return httpx.Response(503, json={"code": 503, "message": "busy"})
        return answer(request)

    client(flaky).add([("user", "hi")])
    assert len(keys) == 3
    assert len(set(keys)) == 1

    keys[:] = ["earlier"] * 4
    await async_client(flaky).add([("user", "hi")])
    assert len(keys) == 7
    assert len(set(keys[4:])) == 1


async def test_it_gives_up_after_three_retries_with_the_servers_own_error() -> None:
    tries = 0

    def busy(_: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        return httpx.Response(503, json={"code": 503, "message": "busy", "request_id": "req-9"})

    with pytest.raises(Unavailable, match="busy"):
        client(busy).persona()
    assert tries == 4
    with pytest.raises(Unavailable, match="busy"):
        await async_client(busy).persona()
    assert tries == 8


async def test_failures_of_the_network_are_errors_of_the_tree() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with pytest.raises(MemstrataClientError) as caught:
        client(refuse).persona()
    assert isinstance(caught.value, Unreachable)
    assert isinstance(caught.value.__cause__, httpx.ConnectError)
    with pytest.raises(Unreachable):
        await async_client(refuse).persona()


def test_another_scope_shares_the_connection() -> None:
    bodies: list[dict[str, Any]] = []

    def record(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return answer(request)

    with client(record) as memory:
        other = memory.with_scope(user="v", session=None)
        other.messages()
        memory.messages()

    assert other._http is memory._http
    assert bodies == [
        {"team_id": "t", "agent_id": "a", "user_id": "v"},
        {"team_id": "t", "agent_id": "a", "user_id": "u", "session_id": "s1"},
    ]


def test_a_calls_own_deadline_takes_the_place_of_the_clients_timeout() -> None:
    seen: list[float] = []

    def record(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"]["read"])
        return answer(request)

    with client(record) as memory:
        memory.persona()
        memory.persona(timeout=2.5)
        memory.flush(wait_seconds=60.0, timeout=90.0)
        for wrong in (0, -1.0, float("nan")):
            with pytest.raises(ValueError, match="timeout"):
                memory.persona(timeout=wrong)

    assert seen[0] == 30.0
    assert 2.0 < seen[1] <= 2.5
    assert 80.0 < seen[2] <= 90.0


async def test_a_deadline_ends_a_call_whose_answer_never_comes() -> None:
    async def silent(_: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    memory = AsyncMemoryClient(team="t", agent="a", user="u", transport=httpx.MockTransport(silent))
    with pytest.raises(Unreachable) as caught:
        await memory.persona(timeout=0.01)
    assert caught.value.timed_out


def test_a_retry_that_would_outlast_the_deadline_is_not_waited_for() -> None:
    tries = 0

    def busy(_: httpx.Request) -> httpx.Response:
        nonlocal tries
        tries += 1
        return httpx.Response(503, json={"code": 503, "message": "busy"}, headers={"retry-after": "4"})

    with pytest.raises(Unavailable, match="busy"):
        client(busy).persona(timeout=3.0)
    assert tries == 1


def test_a_key_of_a_person_goes_with_every_request() -> None:
    seen: list[str | None] = []

    def record(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("x-tdai-user-key"))
        return answer(request)

    transport = httpx.MockTransport(record)
    MemoryClient(team="t", agent="a", user="u", user_key="usk-1", transport=transport).persona()
    MemoryClient(team="t", agent="a", user="u", transport=transport).persona()

    assert seen == ["usk-1", None]
    with pytest.raises(ValueError, match="user_key"):
        MemoryClient(team="t", agent="a", user="u", user_key=" ")


def test_no_context_that_trusts_anybody_is_taken() -> None:
    blind = ssl.create_default_context()
    blind.check_hostname = False
    with pytest.raises(ValueError, match="must verify"):
        MemoryClient("https://h", team="t", agent="a", user="u", tls=blind)
    blind.verify_mode = ssl.CERT_NONE
    with pytest.raises(ValueError, match="must verify"):
        AsyncMemoryClient("https://h", team="t", agent="a", user="u", tls=blind)
