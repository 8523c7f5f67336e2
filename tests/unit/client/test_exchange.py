from typing import Any

import httpx
import pytest

from memstrata.client import (
    Conflict,
    Forbidden,
    InvalidRequest,
    MemstrataClientError,
    NotFound,
    ServerFailed,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from memstrata.client._calls import Calls
from memstrata.client._exchange import (
    base_headers,
    base_url,
    interpret,
    pause_before_retry,
    request_of,
    unreachable,
)

CALLS = Calls("t", "a", "u", None, None)


def envelope(status: int, **fields: Any) -> httpx.Response:
    return httpx.Response(status, json={"code": status, "message": "no", "request_id": "req-1", **fields})


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequest),
        (401, Unauthorized),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (413, InvalidRequest),
        (415, InvalidRequest),
        (422, InvalidRequest),
        (500, ServerFailed),
        (502, ServerFailed),
        (503, Unavailable),
    ],
)
def test_a_status_is_the_branch_of_the_error_tree(status: int, kind: type[MemstrataClientError]) -> None:
    with pytest.raises(MemstrataClientError) as caught:
        interpret(envelope(status, trace_id="t-1"))

    assert type(caught.value) is kind
    assert (caught.value.code, caught.value.message, caught.value.request_id) == (status, "no", "req-1")
    assert caught.value.details == {"trace_id": "t-1"}
    assert str(caught.value) == f"no (code {status}, request req-1)"


def test_an_envelope_with_a_code_is_an_error_whatever_its_status() -> None:
    with pytest.raises(ServerFailed) as caught:
        interpret(envelope(200, code=4291, data={"limit": 5}))

    assert caught.value.code == 4291
    assert caught.value.details == {"data": {"limit": 5}}


def test_a_good_envelope_is_its_data_and_an_object_without_one_is_itself() -> None:
    assert interpret(envelope(200, code=0, data={"total": 3})) == {"total": 3}
    assert interpret(envelope(200, code=0)) == {}
    assert interpret(httpx.Response(200, json={"status": "ok"})) == {"status": "ok"}


@pytest.mark.parametrize(
    ("response", "text"),
    [
        (httpx.Response(502, text="<html>Bad Gateway</html>"), "Bad Gateway"),
        (httpx.Response(200, text=""), "empty answer"),
        (httpx.Response(200, json=[1]), "not a JSON object"),
        (httpx.Response(200, json={"code": 0, "data": [1]}), "not a JSON object"),
    ],
)
def test_what_is_no_answer_of_this_api_is_an_error_of_the_tree(response: httpx.Response, text: str) -> None:
    with pytest.raises(ServerFailed, match=text):
        interpret(response)


def test_an_unknown_route_keeps_its_text() -> None:
    with pytest.raises(NotFound, match="Not found: POST /v3/x"):
        interpret(httpx.Response(404, json={"error": "Not found: POST /v3/x"}))


def test_unavailable_knows_when_to_come_back() -> None:
    with pytest.raises(Unavailable) as caught:
        interpret(httpx.Response(503, json={"code": 503, "message": "busy"}, headers={"retry-after": "2"}))

    assert caught.value.retry_after == 2.0


@pytest.mark.parametrize(
    ("error", "sent", "timed_out"),
    [
        (httpx.ConnectError("refused"), False, False),
        (httpx.ConnectTimeout("slow"), False, True),
        (httpx.ReadError("reset"), True, False),
        (httpx.RemoteProtocolError("closed"), True, False),
        (httpx.ReadTimeout(""), True, True),
    ],
)
def test_a_failure_of_the_transport_says_whether_the_request_may_have_arrived(
    error: httpx.HTTPError, sent: bool, timed_out: bool
) -> None:
    lost = unreachable(error)

    assert (lost.sent, lost.timed_out, lost.code) == (sent, timed_out, 0)


def lost(*, sent: bool, timed_out: bool = False) -> Unreachable:
    return Unreachable("lost", sent=sent, timed_out=timed_out)


@pytest.mark.parametrize(
    ("error", "repeatable", "retried"),
    [
        (lost(sent=False), False, True),
        (lost(sent=True), True, True),
        (lost(sent=True), False, False),
        (lost(sent=True, timed_out=True), True, False),
        (Unavailable(503, "busy"), False, True),
    ],
)
def test_only_what_can_do_no_harm_is_tried_again(error: Unavailable, repeatable: bool, retried: bool) -> None:
    assert (pause_before_retry(error, 0, repeatable=repeatable) is not None) == retried


def test_pauses_grow_end_after_three_and_follow_the_server_up_to_a_bound() -> None:
    error = Unavailable(503, "busy")
    pauses = [pause_before_retry(error, attempt, repeatable=True) for attempt in range(4)]

    assert pauses[0] is not None
    assert 0.1 <= pauses[0] <= 0.2
    assert pauses[2] is not None
    assert 0.4 <= pauses[2] <= 0.8
    assert pauses[3] is None
    error.retry_after = 2.0
    assert pause_before_retry(error, 0, repeatable=True) == 2.0
    error.retry_after = 3_600.0
    assert pause_before_retry(error, 0, repeatable=True) == 5.0


def test_text_of_any_script_travels_as_utf8_and_broken_text_as_escapes() -> None:
    assert "乌龙茶".encode() in request_of(CALLS.search("乌龙茶", None, None, None, None), 30.0)["content"]
    assert rb"\ud83d" in request_of(CALLS.search("cut \ud83d", None, None, None, None), 30.0)["content"]


def test_a_call_that_makes_the_server_wait_gets_the_time_for_it() -> None:
    assert request_of(CALLS.flush(None, 60.0), 30.0)["timeout"] == 70.0
    assert "timeout" not in request_of(CALLS.persona(), 30.0)  # the client's own holds
    assert request_of(CALLS.flush(None, 60.0), 30.0, 5.0)["timeout"] == 5.0
    assert request_of(CALLS.health(), 30.0)["method"] == "GET"


@pytest.mark.parametrize("endpoint", ["", "127.0.0.1:8420", "ftp://host", "http://"])
def test_an_endpoint_that_is_no_url_is_refused(endpoint: str) -> None:
    with pytest.raises(ValueError, match="endpoint"):
        base_url(endpoint)


def test_headers_carry_any_script_and_must_not_be_empty() -> None:
    assert base_headers("key", "记忆")[b"x-tdai-service-id"] == "记忆".encode()
    with pytest.raises(ValueError, match="must not be empty"):
        base_headers("", "default")
