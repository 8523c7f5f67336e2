import json

import pytest

from memstrata.endpoint import errors
from memstrata.endpoint.http import HttpReply
from memstrata.endpoint.status import failure_of, retry_after_of
from memstrata.testing.clock import MONDAY


def reply(status: int, message: str = "", code: str = "", **headers: str) -> HttpReply:
    body = json.dumps({"error": {"message": message, "code": code}})
    return HttpReply(status, {name.replace("_", "-"): value for name, value in headers.items()}, body.encode())


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reply(401, "no such key"), errors.AuthRefused),
        (reply(403), errors.AuthRefused),
        (reply(402, "Insufficient Balance"), errors.AuthRefused),
        (reply(429, "You exceeded your current quota", "insufficient_quota"), errors.AuthRefused),
        (reply(429, "slow down"), errors.RateLimited),
        (reply(529, "overloaded"), errors.RateLimited),
        (reply(503, retry_after="3"), errors.RateLimited),
        (reply(503), errors.ServerFailed),
        (reply(500), errors.ServerFailed),
        (reply(408), errors.TimedOut),
        (reply(404, "no such model"), errors.RequestRefused),
        (reply(400, "bad parameter"), errors.RequestRefused),
        (reply(400, "This model's maximum context length is 8192 tokens"), errors.PromptTooLong),
        (reply(400, "Range of input length should be [1, 30720]"), errors.PromptTooLong),
        (reply(413), errors.PromptTooLong),
        (reply(400, "Content Exists Risk"), errors.ContentRefused),
        (reply(400, "refused", "data_inspection_failed"), errors.ContentRefused),
    ],
)
def test_a_status_is_named_by_what_happened(answer: HttpReply, kind: type[errors.CallFailed]) -> None:
    assert type(failure_of(answer, MONDAY)) is kind


def test_a_pause_of_nothing_is_taken_at_its_word() -> None:
    told_nothing, told_zero = failure_of(reply(429), MONDAY), failure_of(reply(429, retry_after="0"), MONDAY)
    assert isinstance(told_nothing, errors.RateLimited)
    assert isinstance(told_zero, errors.RateLimited)
    assert (told_nothing.retry_after, told_zero.retry_after) == (20.0, 0.0)


def test_a_redirect_names_the_host_and_nothing_more_of_the_address() -> None:
    told = str(failure_of(reply(307, location="https://elsewhere.test/v1?token=abc"), MONDAY))
    assert "elsewhere.test" in told
    assert "abc" not in told


def test_the_key_does_not_come_back_in_the_message() -> None:
    failure = failure_of(reply(401, "Incorrect API key provided: sk-secret-1"), MONDAY, "sk-secret-1")
    assert "sk-secret-1" not in str(failure)
    assert "Incorrect API key" in str(failure)


def test_a_body_that_is_no_json_is_told_in_one_short_line() -> None:
    failure = failure_of(HttpReply(500, {}, b"<html>\n" + b"x" * 10_000), MONDAY)
    assert len(str(failure)) < 400
    assert "\n" not in str(failure)


def test_a_body_nested_beyond_reading_is_still_an_answer() -> None:
    assert isinstance(failure_of(HttpReply(500, {}, b"[" * 60_000), MONDAY), errors.ServerFailed)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Mon, 05 Jan 2026 09:00:30 GMT"}, 30.0),  # MONDAY is 09:00:00
        ({"retry-after": "Mon, 05 Jan 2026 08:00:00 GMT"}, 0.0),
        ({"retry-after": "999999999"}, 86_400.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_seconds_and_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers, MONDAY) == seconds
