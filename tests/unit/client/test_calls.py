from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memstrata.client._calls import Calls

CALLS = Calls("t", "a", "u", None, None)
BOUND = Calls("t", "a", "u", "s1", "k")
IDS = {"team_id": "t", "agent_id": "a", "user_id": "u"}


def body(call: Any) -> dict[str, Any]:
    return dict(call.body)


def test_every_body_names_the_scope_and_leaves_out_what_is_not_given() -> None:
    assert body(CALLS.search("tea", None, None, None, None)) == {**IDS, "query": "tea"}
    assert body(BOUND.search("tea", "persona", None, None, 3)) == {
        **IDS,
        "task_id": "k",
        "session_id": "s1",
        "query": "tea",
        "type": "persona",
        "limit": 3,
    }


@pytest.mark.parametrize("ids", [("", "a", "u"), ("t", " ", "u"), ("t", "a", "")])
def test_an_empty_scope_is_refused_before_anything_is_sent(ids: tuple[str, str, str]) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        Calls(*ids, None, None)


def test_messages_may_be_pairs_or_mappings() -> None:
    said = datetime(2026, 1, 2, 11, 4, 5, tzinfo=timezone(timedelta(hours=8)))

    key, (call,) = BOUND.add(
        [("user", "hi"), {"role": "assistant", "content": "hello", "timestamp": said, "id": "m1"}], None, "k1"
    )

    assert key == "k1"
    assert body(call) == {
        **IDS,
        "task_id": "k",
        "session_id": "s1",
        "idempotency_key": "k1",
        "messages": (
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello", "timestamp": "2026-01-02T03:04:05.000Z", "id": "m1"},
        ),
    }


def test_a_write_without_a_key_gets_one_of_its_own() -> None:
    first, second = (BOUND.add([("user", "hi")], None, None) for _ in range(2))

    assert first[0] != second[0]
    for key, (call,) in (first, second):
        assert body(call)["idempotency_key"] == key


def test_a_write_without_a_session_is_refused_before_it_is_sent() -> None:
    with pytest.raises(ValueError, match="needs a session"):
        CALLS.add([("user", "hi")], None, None)
    _, (call,) = CALLS.add([("user", "hi")], "s9", None)
    assert body(call)["session_id"] == "s9"


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        CALLS.count_messages(None, datetime(2026, 1, 1), None)  # noqa: DTZ001
    window = body(CALLS.count_messages(None, datetime(2026, 1, 1, tzinfo=UTC), "2026-02-01T00:00:00Z"))
    assert (window["time_start"], window["time_end"]) == ("2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00Z")


def test_the_clients_session_is_never_deleted_by_the_way() -> None:
    call = BOUND.delete_messages(["m1"], [])

    assert body(call) == {**IDS, "task_id": "k", "message_ids": ["m1"]}
    assert call.headers == {b"x-tdai-session-id": b"s1"}


def test_another_scope_keeps_what_is_not_named_and_clears_session_and_task_by_none() -> None:
    assert BOUND.narrowed(None, None, "v", ..., ...) == Calls("t", "a", "v", "s1", "k")
    assert BOUND.narrowed(None, "b", None, None, None) == Calls("t", "b", "u", None, None)


def test_a_flush_grants_the_server_its_wait() -> None:
    call = CALLS.flush(None, 60.0)

    assert (body(call)["wait_seconds"], call.wait_seconds) == (60.0, 60.0)


def test_neighbours_and_budgets_are_sent_where_they_are_given() -> None:
    assert body(CALLS.search_messages("tea", None, None, None, None, 2)) == {**IDS, "query": "tea", "neighbours": 2}
    assert body(CALLS.search_messages("tea", None, None, None, None, None)) == {**IDS, "query": "tea"}
    recall = body(CALLS.recall("tea", None, 200, 900, ["persona"]))
    assert recall == {**IDS, "query": "tea", "budget_ms": 200, "max_tokens": 900, "include": ["persona"]}
