"""What happens to a call when the endpoint, the network or the account does not play along."""

import asyncio
import json
import logging
from collections.abc import Callable

import pytest

from memstrata.endpoint.breaker import Breaker
from memstrata.errors import Misconfigured, Unavailable
from memstrata.llm import errors
from memstrata.llm.models import Models
from memstrata.llm.protocol import ChatRequest
from memstrata.llm.provider import Provider
from memstrata.llm.roles import ModelChoice, RoleModels
from memstrata.testing.clock import FakeClock
from memstrata.testing.llm import Answer, Garbage, Hang, Reply, Reset, ScriptedLLM, Slow, Status

Build = Callable[..., Provider]
Request = Callable[..., ChatRequest]
HALF_AN_EMOJI = "bad \ud83d weather\0\x1bahead"


async def failed(provider: Provider, request: ChatRequest) -> errors.CallFailed:
    with pytest.raises(errors.CallFailed) as caught:
        await provider.complete(request)
    return caught.value


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Status(500), errors.ServerFailed),
        (Reset(), errors.Unreachable),
        (Reset(after_bytes=0), errors.Unreachable),
        (Garbage(), errors.BadReply),
        (Garbage(b"[1]", "application/json"), errors.BadReply),
        (Garbage(b'{"choices": []}', "application/json"), errors.BadReply),
        (Garbage(b"[" * 50_000), errors.BadReply),
        (Garbage(b'{"error": {"message": "slow down", "code": 429}}', "application/json"), errors.RateLimited),
        (Garbage(b'{"error": {"message": "model crashed"}}', "application/json"), errors.ServerFailed),
        (Reply(finish="content_filter"), errors.ContentRefused),
        (Status(400, "maximum context length is 8192"), errors.PromptTooLong),
    ],
)
async def test_a_failure_is_named_and_the_next_call_works(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock, answer: Answer, kind: type[Exception]
) -> None:
    model.script("extract", answer)
    model.always("extract", Reply("ok"))
    asked = provider()
    assert type(await failed(asked, ask_for())) is kind
    clock.advance(60)
    assert (await asked.complete(ask_for())).text == "ok"


async def test_an_endpoint_that_hangs_is_left_at_the_requests_own_time(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Hang())
    assert isinstance(await failed(provider(), ask_for(timeout_seconds=0.05)), errors.TimedOut)


async def test_of_an_answer_without_end_no_more_than_the_limit_is_read(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply("x" * 200_000))
    failure = await failed(provider(), ask_for())
    assert isinstance(failure, errors.BadReply)
    assert "more than 100000 bytes" in str(failure)


async def test_a_slow_answer_is_read_to_its_end(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.script("extract", Slow(Reply("慢" * 500), pieces=5, pause_seconds=0.001))
    assert (await provider().complete(ask_for())).text == "慢" * 500


async def test_nobody_listening_is_unreachable(provider: Build, ask_for: Request) -> None:
    assert isinstance(await failed(provider(base_url="http://127.0.0.1:9/v1"), ask_for()), errors.Unreachable)


async def test_a_redirect_is_not_followed_and_the_key_stays_here(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    async with ScriptedLLM() as elsewhere:
        model.always("extract", Status(307, headers={"location": f"{elsewhere.base_url}/chat/completions"}))
        failure = await failed(provider(), ask_for())
        assert isinstance(failure, errors.RequestRefused)
        assert elsewhere.requests == []
    assert len(model.requests) == 1


async def test_a_redirect_to_what_is_no_address_is_refused_like_any_other(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.always("extract", Status(307, headers={"location": "http://[half"}))
    failure = await failed(provider(), ask_for())
    assert isinstance(failure, errors.RequestRefused)
    assert "another place" in str(failure)


@pytest.mark.parametrize("answer", [Status(500, HALF_AN_EMOJI), Status(401, HALF_AN_EMOJI), Status(400, HALF_AN_EMOJI)])
async def test_what_an_endpoint_says_comes_in_letters_that_every_store_and_terminal_takes(
    model: ScriptedLLM, provider: Build, ask_for: Request, answer: Status
) -> None:
    model.script("extract", answer)
    told = str(await failed(provider(), ask_for()))
    assert "bad weather ahead" in told
    assert told.isprintable()


async def test_of_an_answer_with_half_an_emoji_text_and_name_can_be_stored(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    answer = {"model": HALF_AN_EMOJI, "choices": [{"message": {"content": "好 \ud83d"}, "finish_reason": "stop"}]}
    model.script("extract", Garbage(json.dumps(answer).encode(), "application/json"))
    reply = await provider().complete(ask_for())
    assert (reply.text, reply.model) == ("好 \ufffd", "bad weather ahead")


@pytest.mark.parametrize("status", [429, 503])
async def test_a_pause_that_is_asked_for_is_kept_without_asking_again(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock, status: int
) -> None:
    model.script("extract", Status(status, retry_after="7"), Reply("ok"))
    asked = provider()
    first = await failed(asked, ask_for())
    assert isinstance(first, errors.RateLimited)
    assert first.retry_after == 7
    clock.advance(4)
    second = await failed(asked, ask_for())
    assert isinstance(second, errors.RateLimited)
    assert second.retry_after == 3
    assert len(model.requests) == 1
    assert asked.health().state == "reduced"
    clock.advance(3)
    assert (await asked.complete(ask_for())).text == "ok"
    assert asked.health().state == "ok"


async def test_rate_limits_never_open_the_breaker(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock
) -> None:
    model.always("extract", Status(429, retry_after="1"))
    asked = provider(breaker=Breaker(threshold=2))
    for _ in range(4):
        assert isinstance(await failed(asked, ask_for()), errors.RateLimited)
        clock.advance(1)
    assert len(model.requests) == 4


@pytest.mark.parametrize("answer", [Status(401), Status(403), Status(402), Status(429, code="insufficient_quota")])
async def test_a_refused_key_or_account_stops_the_provider_until_it_is_resumed(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock, answer: Status
) -> None:
    model.script("extract", answer)
    model.always("extract", Reply("ok"))
    asked = provider()
    for _ in range(3):
        failure = await failed(asked, ask_for())
        assert isinstance(failure, errors.AuthRefused)
        assert isinstance(failure, Misconfigured)
        clock.advance(3_600)
    assert len(model.requests) == 1
    assert asked.health().state == "failed"
    assert str(answer.status) in asked.health().reason
    asked.resume()
    assert (await asked.complete(ask_for())).text == "ok"


async def test_the_key_shows_up_in_no_error_and_no_log(
    model: ScriptedLLM, provider: Build, ask_for: Request, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answers = (Garbage(b"bad: sk-secret-1"), Reset(), Status(500, "key sk-secret-1"), Status(401, "key sk-secret-1"))
    model.script("extract", *answers)
    asked = provider()
    for _ in answers:
        failure: BaseException | None = await failed(asked, ask_for())
        while failure is not None:
            assert "sk-secret-1" not in f"{failure!r} {failure}"
            failure = failure.__cause__
    assert "sk-secret-1" not in caplog.text
    assert "sk-secret-1" not in f"{asked.choice!r} {asked.health()!r}"


async def test_a_reply_that_was_cut_gets_twice_the_room_once(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply('[{"con', finish="length", usage=(10, 50, 0)), Reply("[]", usage=(10, 2, 0)))
    reply = await provider().complete(ask_for(max_tokens=50))
    assert reply.text == "[]"
    assert [request.body["max_tokens"] for request in model.requests] == [50, 100]
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.calls) == (20, 52, 2)


@pytest.mark.parametrize("dialect", ["generic", "anthropic"])
async def test_a_reply_that_is_cut_again_is_a_failure_and_its_tokens_count(
    model: ScriptedLLM, provider: Build, ask_for: Request, dialect: str
) -> None:
    model.always("extract", Reply("[]", finish="length", usage=(10, 50, 0)))
    failure = await failed(provider(dialect_name=dialect), ask_for(max_tokens=50))
    assert isinstance(failure, errors.Truncated)
    assert (failure.usage.total_tokens, failure.usage.calls) == (120, 2)


@pytest.mark.parametrize(
    "refusal",
    [
        "max_tokens must be at most 50",
        "max_tokens is too large: 100. This model's maximum context length is 8192 tokens and your request has 8100",
    ],
)
async def test_an_endpoint_that_allows_no_more_room_has_truncated(
    model: ScriptedLLM, provider: Build, ask_for: Request, refusal: str
) -> None:
    model.script("extract", Reply("[1", finish="length"), Status(400, refusal))
    failure = await failed(provider(), ask_for(max_tokens=50))
    assert isinstance(failure, errors.Truncated)
    assert failure.text == "[1"


async def test_the_longest_of_what_was_cut_comes_with_the_failure_and_is_not_in_its_message(
    model: ScriptedLLM, provider: Build, ask_for: Request
) -> None:
    model.script("extract", Reply('["a secret", "b', finish="length"), Reply('["a secret"', finish="length"))
    failure = await failed(provider(), ask_for(max_tokens=50))
    assert isinstance(failure, errors.Truncated)
    assert (failure.text, failure.model) == ('["a secret", "b', "scripted")
    assert "secret" not in str(failure)


async def test_a_loop_is_not_given_more_room(model: ScriptedLLM, provider: Build, ask_for: Request) -> None:
    model.always("extract", Reply("the user likes tea and " * 40, finish="length"))
    failure = await failed(provider(), ask_for(max_tokens=50))
    assert isinstance(failure, errors.Truncated)
    assert "loop" in str(failure)
    assert (failure.usage.calls, len(model.requests)) == (1, 1)


@pytest.mark.parametrize(
    ("told", "configured", "recorded"),
    [
        ("/models/tiny-135m.gguf", "tiny", "tiny"),
        ("C:\\models\\tiny.gguf", "tiny", "tiny"),
        ("org/tiny-135m", "tiny", "org/tiny-135m"),
        ("/models/tiny.gguf", "/models/tiny.gguf", "tiny.gguf"),
        ("", "/models/tiny.gguf", "tiny.gguf"),
    ],
)
async def test_a_model_is_recorded_by_name_and_never_by_a_path(
    model: ScriptedLLM, provider: Build, ask_for: Request, told: str, configured: str, recorded: str
) -> None:
    answer = {"model": told, "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}
    model.script("extract", Garbage(json.dumps(answer).encode(), "application/json"))
    assert (await provider(model=configured).complete(ask_for())).model == recorded


async def test_the_breaker_opens_probes_once_and_closes(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock
) -> None:
    model.script("extract", Status(500), Status(500))
    asked = provider(breaker=Breaker(threshold=2, first_cooldown_ms=10_000))
    await failed(asked, ask_for())
    await failed(asked, ask_for())
    refused = await failed(asked, ask_for())
    assert isinstance(refused, errors.BreakerOpen)
    assert isinstance(refused, Unavailable)
    assert refused.retry_after == 10
    assert asked.health().state == "reduced"
    assert len(model.requests) == 2

    clock.advance(10)
    model.always("extract", Reply("ok"))
    with model.paused("extract"):
        probe = asyncio.create_task(asked.complete(ask_for()))
        await model.received(3)
        assert isinstance(await failed(asked, ask_for()), errors.BreakerOpen)
    assert (await probe).text == "ok"
    assert (await asked.complete(ask_for())).text == "ok"
    assert asked.health().state == "ok"


async def test_a_cancelled_probe_does_not_block_the_next(
    model: ScriptedLLM, provider: Build, ask_for: Request, clock: FakeClock
) -> None:
    model.script("extract", Status(500), Hang(), Reply("ok"))
    asked = provider(breaker=Breaker(threshold=1))
    await failed(asked, ask_for())
    clock.advance(60)
    probe = asyncio.create_task(asked.complete(ask_for()))
    await model.received(2)
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    assert (await asked.complete(ask_for())).text == "ok"


async def test_a_failing_model_is_not_replaced_by_another_and_the_others_go_on(
    model: ScriptedLLM, ask_for: Request, clock: FakeClock
) -> None:
    async with ScriptedLLM() as large:
        model.always("extract", Status(401))
        large.always("portray", Reply("a portrait"))
        roles = RoleModels.all(ModelChoice(model.base_url, "small"), portray=ModelChoice(large.base_url, "large"))
        async with Models(roles, clock) as models:
            with pytest.raises(errors.AuthRefused):
                await models.complete(ask_for())
            with pytest.raises(errors.AuthRefused):
                await models.complete(ask_for(role="resolve"))  # the same model
            assert (await models.complete(ask_for(role="portray"))).text == "a portrait"
            assert {role: health.state for role, health in models.health().items()} == {
                "extract": "failed",
                "resolve": "failed",
                "consolidate": "failed",
                "portray": "ok",
            }
            model.clear()
            model.always("extract", Reply("ok"))
            models.resume()
            assert (await models.complete(ask_for())).text == "ok"
        assert large.requests_of("extract") == []
        assert [request.model for request in large.requests] == ["large"]
