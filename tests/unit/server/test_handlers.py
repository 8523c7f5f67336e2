"""What a handler asks of `Memory`, and how the answer looks on the wire."""

from dataclasses import replace
from typing import Any

import httpx
import pytest

from memstrata.capture import MessageInput
from memstrata.records import (
    BudgetState,
    Deletion,
    Found,
    Job,
    LayerStatus,
    Neighbours,
    PipelineStatus,
    Profile,
    ProfileTarget,
    Receipt,
    Scope,
    SessionTarget,
    Spending,
    SpendKey,
    Usage,
)
from memstrata.records.proxy import ProxyTokens, ProxyUsage

SCOPE = Scope("default", "t", "a", "u")
LISBON = 1_767_323_045_000  # 2026-01-02T03:04:05Z


async def data(api: httpx.AsyncClient, route: str, /, **body: Any) -> Any:
    response = await api.post(route, json=body)
    assert response.status_code == 200, response.text
    return response.json().get("data")


async def test_add_hands_over_messages_with_their_times_and_ids(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(
        api,
        "/v3/conversation/add",
        session_id="s1",
        task_id="k",
        idempotency_key="once",
        messages=[
            {"role": "user", "content": "hi", "timestamp": "2026-01-02T03:04:05Z", "id": "mine"},
            {"role": "assistant", "content": "hello", "recorded_at": "2026-01-02T03:04:05.001Z"},
        ],
    )

    assert memory.last == (
        "add",
        (
            SCOPE,
            "s1",
            [MessageInput("user", "hi", LISBON, None, "mine"), MessageInput("assistant", "hello", None, LISBON + 1)],
        ),
        {"task_id": "k", "idempotency_key": "once"},
    )
    assert answer == {"accepted_ids": ["msg-1", "msg-2"], "accepted_versions": ["v1", "v1"], "total_count": 2}


async def test_an_idempotency_key_may_come_by_header_and_the_bodys_own_wins(
    api: httpx.AsyncClient, memory: Any
) -> None:
    memory.answers["add"] = Receipt(("msg-1",), replayed=True)
    body: dict[str, Any] = {"session_id": "s1", "messages": [{"role": "user", "content": "hi"}]}
    headers = {"idempotency-key": "header"}

    answer = (await api.post("/v3/conversation/add", json=body, headers=headers)).json()["data"]
    assert memory.last[2]["idempotency_key"] == "header"
    assert answer["replayed"] is True

    await api.post("/v3/conversation/add", json={**body, "idempotency_key": "body"}, headers=headers)
    assert memory.last[2]["idempotency_key"] == "body"


@pytest.mark.parametrize("session", [{}, {"session_id": ""}, {"session_id": "  "}, {"session_id": None}])
async def test_add_without_a_session_is_422(api: httpx.AsyncClient, memory: Any, session: dict[str, Any]) -> None:
    response = await api.post("/v3/conversation/add", json={**session, "messages": [{"role": "user", "content": "hi"}]})

    assert response.status_code == 422
    assert "session_id" in response.json()["message"]
    assert memory.calls == []


async def test_a_message_time_that_is_none_is_400_and_names_the_message(api: httpx.AsyncClient) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "user", "content": "x", "timestamp": "2026-01-02 03:04"}]

    response = await api.post("/v3/conversation/add", json={"session_id": "s", "messages": messages})

    assert response.status_code == 400
    assert response.json()["message"].startswith("messages.1.timestamp: ")


async def test_query_filters_pages_and_shows_the_event_time(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(
        api,
        "/v3/conversation/query",
        session_id="s1",
        task_id="k",
        time_start="2026-01-02T03:04:05Z",
        limit=3,
        offset=6,
    )

    assert memory.last == (
        "messages",
        (SCOPE,),
        {"session_id": "s1", "task_id": "k", "since": LISBON, "until": None, "limit": 3, "offset": 6},
    )
    assert answer["total"] == 7
    assert answer["messages"] == [
        {
            "id": "msg-1",
            "session_id": "s1",
            "team_id": "t",
            "user_id": "u",
            "agent_id": "a",
            "task_id": "",
            "role": "user",
            "content": "I moved to Lisbon",
            "timestamp": "2026-01-02T03:04:05.000Z",
            "recorded_at": "2026-01-02T03:04:06.000Z",
        }
    ]


async def test_l0_reads_take_the_session_of_the_header(api: httpx.AsyncClient, memory: Any) -> None:
    for path, body in {
        "/v3/conversation/query": {},
        "/v3/conversation/search": {"query": "x"},
        "/v3/conversation/count": {},
        "/v3/pipeline/status": {},
        "/v3/pipeline/flush": {},
    }.items():
        await api.post(path, json=body, headers={"x-tdai-session-id": "s9"})
        assert memory.last[2]["session_id"] == "s9", path


@pytest.mark.parametrize("path", ["query", "search", "count"])
async def test_a_blank_session_does_not_widen_an_l0_read_to_all_sessions(api: httpx.AsyncClient, path: str) -> None:
    response = await api.post(f"/v3/conversation/{path}", json={"query": "x", "session_id": ""})

    assert response.status_code == 400
    assert response.json()["message"].startswith("session_id: ")


async def test_found_messages_carry_their_scope_score_and_legs(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(api, "/v3/conversation/search", query="Lisbon", time_end="2026-01-02T03:04:05Z")

    assert memory.last[1:] == (
        (SCOPE, "Lisbon"),
        {"limit": 5, "session_id": None, "task_id": None, "since": None, "until": LISBON, "neighbours": 0},
    )
    (found,) = answer["messages"]
    assert (found["session_id"], found["team_id"], found["score"], found["legs"]) == ("s1", "t", 0.9, {"keyword": 4.2})
    assert "degraded" not in answer
    assert "neighbours" not in found


async def test_found_messages_carry_their_neighbours_where_they_are_asked_for(
    api: httpx.AsyncClient, memory: Any
) -> None:
    (hit,) = memory.answers["search_messages"].hits
    earlier = replace(hit.item, message_id="msg-0", content="where do you live?")
    memory.answers["search_messages"] = Found((replace(hit, neighbours=Neighbours((earlier,), ())),))

    (found,) = (await data(api, "/v3/conversation/search", query="Lisbon", neighbours=2))["messages"]

    assert memory.last[2]["neighbours"] == 2
    assert found["neighbours"]["after"] == []
    (before,) = found["neighbours"]["before"]
    assert (before["id"], before["content"], before["user_id"]) == ("msg-0", "where do you live?", "u")
    assert before.keys() == found.keys() - {"neighbours", "score", "legs"}


async def test_a_search_with_less_than_all_legs_says_so(api: httpx.AsyncClient, memory: Any) -> None:
    memory.answers["search_messages"] = memory.answers["search"] = Found((), ("vector: timed out",))

    assert await data(api, "/v3/conversation/search", query="x") == {"messages": [], "degraded": ["vector: timed out"]}
    assert await data(api, "/v3/atomic/search", query="x") == {"items": [], "degraded": ["vector: timed out"]}


async def test_delete_merges_the_older_spelling_and_drops_blanks_and_repeats(
    api: httpx.AsyncClient, memory: Any
) -> None:
    answer = await data(
        api, "/v3/conversation/delete", message_ids=[" m1 ", "", "m1", "m2"], session_ids=["s1"], session_id="s2"
    )

    assert memory.last[2] == {"message_ids": ("m1", "m2"), "session_ids": ("s1", "s2"), "task_id": None}
    assert answer == {"deleted_count": 3}


@pytest.mark.parametrize(
    "body", [{}, {"message_ids": []}, {"message_ids": [" "]}, {"session_ids": [""]}, {"session_id": ""}]
)
async def test_a_delete_that_names_nothing_is_400(api: httpx.AsyncClient, memory: Any, body: dict[str, Any]) -> None:
    response = await api.post("/v3/conversation/delete", json=body, headers={"x-tdai-session-id": "s1"})

    assert response.status_code == 400
    assert memory.calls == []


@pytest.mark.parametrize("path", ["/v3/conversation/count", "/v3/atomic/count", "/v3/atomic/query"])
async def test_a_time_that_is_none_is_400(api: httpx.AsyncClient, path: str) -> None:
    response = await api.post(path, json={"time_end": "garbage"})

    assert response.status_code == 400
    assert response.json()["message"].startswith("time_end: ")


async def test_memories_show_what_the_contract_has_and_more(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(api, "/v3/atomic/query", type="persona", session_id="ignored")

    assert memory.last[2] == {
        "type": "persona",
        "task_id": None,
        "since": None,
        "until": None,
        "limit": 20,
        "offset": 0,
    }
    assert answer == {
        "items": [
            {
                "id": "m_1767323045000_0a0b0c0d",
                "type": "persona",
                "content": "Lives in Lisbon",
                "background": "Home",
                "version": 2,
                "team_id": "t",
                "user_id": "u",
                "agent_id": "a",
                "task_id": "",
                "created_at": "2026-01-02T03:04:05.000Z",
                "updated_at": "2026-01-02T03:04:06.000Z",
                "priority": 70,
                "applies_to": "always",
                "origin": "rules",
                "activity_start": "2026-01-02T03:04:05.000Z",
            }
        ],
        "total": 5,
    }


async def test_update_answers_with_the_version_as_text(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(api, "/v3/atomic/update", id="m_1", content="", background="Home")

    assert memory.last == ("update_memory", (SCOPE, "m_1", ""), {"scene_name": "Home"})
    assert answer == {"id": "m_1767323045000_0a0b0c0d", "version": "v2", "updated_at": "2026-01-02T03:04:06.000Z"}


async def test_deleting_memories_counts_what_went(api: httpx.AsyncClient, memory: Any) -> None:
    memory.answers["delete_memories"] = Deletion(memories=1)

    assert await data(api, "/v3/atomic/delete", ids=["m1", "m1 ", "nope"]) == {"deleted_count": 1}
    assert memory.last == ("delete_memories", (SCOPE, ("m1", "nope")), {"task_id": None})


async def test_counts_are_totals(api: httpx.AsyncClient, memory: Any) -> None:
    assert await data(api, "/v3/conversation/count") == {"total": 7}
    assert await data(api, "/v3/atomic/count", type="episodic") == {"total": 5}
    assert await data(api, "/v3/scenario/count") == {"total": 1}
    assert await data(api, "/v3/core/count") == {"total": 1}
    memory.answers["persona"] = None
    assert await data(api, "/v3/core/count") == {"total": 0}


async def test_scenes_are_listed_by_the_beginning_of_their_path(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(api, "/v3/scenario/ls", path_prefix="ho")

    assert memory.last == ("scenes", (SCOPE,), {"prefix": "ho"})
    assert answer == {
        "entries": [
            {
                "path": "home.md",
                "heat": 2,
                "version": 3,
                "team_id": "t",
                "agent_id": "a",
                "created_at": "2026-01-02T03:04:05.000Z",
                "updated_at": "2026-01-02T03:04:06.000Z",
                "summary": "Where Maya lives",
                "size": 8,
            }
        ],
        "total": 1,
    }


@pytest.mark.parametrize("path", ["../x.md", "/etc/passwd", "a\\b", "a\x00b", "", "a/../b"])
@pytest.mark.parametrize("route", ["read", "write", "rm"])
async def test_an_unsafe_path_is_400_everywhere(api: httpx.AsyncClient, memory: Any, route: str, path: str) -> None:
    response = await api.post(f"/v3/scenario/{route}", json={"path": path, "content": "x"})

    assert response.status_code == 400
    assert response.json()["message"].startswith("path: ")
    assert memory.calls == []


async def test_an_unsafe_prefix_is_400(api: httpx.AsyncClient) -> None:
    for route in ("ls", "count"):
        assert (await api.post(f"/v3/scenario/{route}", json={"path_prefix": "../"})).status_code == 400


async def test_a_scene_is_read_with_its_meta_block(api: httpx.AsyncClient) -> None:
    answer = await data(api, "/v3/scenario/read", path="home.md")

    assert answer["path"] == "home.md"
    assert answer["exists"] is True
    assert answer["content"].startswith("-----META-START-----\ncreated: 2026-01-02T03:04:05")
    assert answer["content"].endswith("## Home\n")


async def test_documents_that_are_not_there_read_as_null(api: httpx.AsyncClient, memory: Any) -> None:
    memory.answers["read_scene"] = memory.answers["persona"] = None
    nothing = {"content": None, "exists": False, "created_at": None, "updated_at": None}

    assert await data(api, "/v3/scenario/read", path="no.md") == {"path": "no.md", **nothing}
    assert await data(api, "/v3/core/read") == nothing


async def test_removing_a_scene_answers_without_data(api: httpx.AsyncClient, memory: Any) -> None:
    response = await api.post("/v3/scenario/rm", json={"path": "old/"})

    assert response.json().keys() == {"code", "message", "request_id"}
    assert memory.last == ("remove_scene", (SCOPE, "old/"), {})


async def test_writes_of_documents_answer_with_version_and_scope(api: httpx.AsyncClient, memory: Any) -> None:
    dated = {"updated_at": "2026-01-02T03:04:06.000Z", "team_id": "t", "agent_id": "a"}

    scene = await data(api, "/v3/scenario/write", path="home.md", content="# x", summary="y")
    assert scene == {"path": "home.md", "version": 3, **dated}
    assert memory.last == ("write_scene", (SCOPE, "home.md", "# x"), {"summary": "y"})

    memory.answers["create_scene"] = memory.answers["write_scene"]
    await data(api, "/v3/scenario/write", path="new.md", content="# x", create=True)
    assert memory.last == ("create_scene", (SCOPE, "new.md", "# x"), {"summary": None})
    assert await data(api, "/v3/core/write", content="# x") == {"version": 1, **dated}
    assert memory.last == ("write_persona", (SCOPE, "# x"), {})


async def test_the_persona_is_read_with_its_navigation(api: httpx.AsyncClient) -> None:
    assert (await data(api, "/v3/core/read"))["content"] == "# Maya\n\n---\nnavigation"


async def test_recall_answers_with_parts_and_blocks(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(api, "/v3/recall", query="home?", limit=3, budget_ms=200, max_tokens=900, task_id="k")

    assert memory.last == (
        "recall",
        (SCOPE, "home?"),
        {
            "limit": 3,
            "budget_ms": 200,
            "max_tokens": 900,
            "task_id": "k",
            "include": {"memories", "persona", "scenes"},
        },
    )
    assert answer["items"][0]["content"] == "Lives in Lisbon"
    assert answer["persona"]["content"] == "# Maya"
    assert answer["scenes"][0]["path"] == "home.md"
    assert (answer["prepend_context"], answer["append_system_context"]) == ("<memories>", "<persona>")
    assert (answer["degraded"], answer["elapsed_ms"]) == (["vector: none"], 1.5)


@pytest.mark.parametrize(
    ("include", "keys"),
    [
        (["memories"], {"items"}),
        (["persona"], {"persona"}),
        (["persona", "scenes"], {"persona", "scenes"}),
        ([], set()),
    ],
)
async def test_recall_leaves_out_what_was_not_asked_for(
    api: httpx.AsyncClient, memory: Any, include: list[str], keys: set[str]
) -> None:
    answer = await data(api, "/v3/recall", query="x", include=include)

    assert memory.last[2]["include"] == set(include)
    assert answer.keys() == keys | {"prepend_context", "append_system_context", "degraded", "elapsed_ms"}


async def test_trace_answers_with_the_chain_of_evidence(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(api, "/v3/trace", id="m_1")

    assert memory.last == ("trace", (SCOPE, "m_1"), {})
    assert answer["memory"]["content"] == "Lives in Lisbon"
    assert [item["id"] for item in answer["messages"]] == ["msg-1"]
    assert (answer["replaced"], answer["scenes"][0]["path"], answer["persona"]["version"]) == ([], "home.md", 1)


async def test_clear_needs_no_scope_and_counts_what_went(api: httpx.AsyncClient, memory: Any) -> None:
    response = await api.post("/v3/chat-memory/clear", json={"memory_ids": ["chat_memory-t-a", " chat_memory-t-a"]})

    assert memory.last == ("clear", ("default", ("chat_memory-t-a",)), {})
    assert response.json()["data"] == {
        "items": [
            {"memory_id": "chat_memory-t-a", "cleared": True, "l0_deleted": 4, "l1_deleted": 3, "profile_deleted": 2}
        ],
        "all_cleared": True,
    }


async def test_status_shows_layers_and_jobs(api: httpx.AsyncClient, memory: Any) -> None:
    layer = LayerStatus(2, "waiting", LISBON, None, "retry", "model timed out")
    jobs = (
        Job("l1", SessionTarget(1, SCOPE, "s1"), "waiting", LISBON, 1, "model timed out"),
        Job("l2", ProfileTarget(2, Profile("default", "t", "a")), "dead", LISBON, 5, "no"),
    )
    budget = BudgetState(12, 10, LISBON)
    memory.answers["status"] = PipelineStatus({"l1": layer}, jobs, False, "rules", budget)

    answer = await data(api, "/v3/pipeline/status")

    assert answer["layers"]["l1"] == {
        "pending": 2,
        "state": "waiting",
        "next_due_at": "2026-01-02T03:04:05.000Z",
        "last_run_at": None,
        "last_outcome": "retry",
        "last_error": "model timed out",
        "parked": 0,
    }
    assert answer["budget"] == {
        "used_tokens": 12,
        "limit_tokens": 10,
        "spent": True,
        "resets_at": "2026-01-02T03:04:05.000Z",
    }
    assert [(job["kind"], job["state"], job.get("session_id")) for job in answer["jobs"]] == [
        ("l1", "waiting", "s1"),
        ("l2", "dead", None),
    ]
    assert (answer["idle"], answer["distiller"]) == (False, "rules")


@pytest.mark.parametrize(("body", "seconds"), [({}, 30.0), ({"wait_seconds": 0}, 0.0), ({"wait_seconds": 2.5}, 2.5)])
async def test_flush_waits_as_long_as_it_is_told(
    api: httpx.AsyncClient, memory: Any, body: dict[str, Any], seconds: float
) -> None:
    await data(api, "/v3/pipeline/flush", **body)

    assert memory.last == ("flush", (SCOPE,), {"session_id": None, "wait_seconds": seconds})


async def test_retry_counts_the_jobs_put_back(api: httpx.AsyncClient) -> None:
    assert await data(api, "/v3/pipeline/retry") == {"retried": 2}


async def test_spending_is_told_by_day_and_role_without_the_owner(api: httpx.AsyncClient, memory: Any) -> None:
    key = SpendKey("default", "t", "a", "u", "extract", "2026-01-02")
    memory.answers["spending"] = (Spending(key, Usage(100, 20, 40, 3)),)

    answer = await data(api, "/v3/pipeline/spending", days=3)

    assert memory.last == ("spending", (SCOPE,), {"days": 3})
    assert answer["items"] == [
        {
            "day": "2026-01-02",
            "role": "extract",
            "calls": 3,
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "cached_tokens": 40,
            "estimated": False,
        }
    ]


async def test_the_load_names_nobodys_sessions_and_running_is_not_idle(api: httpx.AsyncClient) -> None:
    answer = await data(api, "/v2/pipeline/status")

    assert {kind: layer["idle"] for kind, layer in answer.items()} == {"l1": False, "l2": True, "l3": False}
    for layer in answer.values():
        assert layer["queued_sessions"] == layer["running_sessions"] == []


async def test_usage_of_the_proxy_is_told_by_day_user_and_model_with_its_sum(
    api: httpx.AsyncClient, memory: Any
) -> None:
    one = ProxyUsage("default", "mia", "m", "2026-01-02", ProxyTokens(2, 10, 4, 80, 6))
    other = ProxyUsage("default", "", "n", "2026-01-02", ProxyTokens(1, 1, 1))
    memory.answers["proxy_usage"] = (one, other)

    answer = await data(api, "/v3/proxy/usage", days=3, user_id="mia")

    assert memory.last == ("proxy_usage", ("default",), {"days": 3, "user_id": "mia"})
    assert answer["items"][0] == {
        "day": "2026-01-02",
        "user_id": "mia",
        "model": "m",
        "requests": 2,
        "input_tokens": 10,
        "output_tokens": 4,
        "cache_read_tokens": 80,
        "cache_write_tokens": 6,
    }
    assert answer["total"] == {
        "requests": 3,
        "input_tokens": 11,
        "output_tokens": 5,
        "cache_read_tokens": 80,
        "cache_write_tokens": 6,
    }
