"""What becomes of texts when an endpoint, its answers or its limits do not play along."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from memstrata.endpoint import errors
from memstrata.endpoint.breaker import Breaker
from memstrata.errors import Misconfigured
from memstrata.testing import FakeClock, HashEmbedder
from memstrata.testing.embeddings import HANG, EmbeddingAnswer, EmbeddingRequest, EmbeddingStatus, ScriptedEmbeddings
from memstrata.vectors.openai import EmbeddingChoice, OpenAIEmbedder

Build = Callable[..., OpenAIEmbedder]


async def right(*texts: str) -> Any:
    return (await HashEmbedder(16).embed(texts, kind="passage")).matrix


def with_row(position: int, row: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def change(payload: dict[str, Any]) -> dict[str, Any]:
        payload["data"][position]["embedding"] = row
        return payload

    return change


async def test_each_text_gets_its_vector_and_the_key_goes_along(endpoint: ScriptedEmbeddings, embedder: Build) -> None:
    asked = embedder()
    assert asked.dimensions == 0
    vectors = await asked.embed(["tea", "咖啡"], kind="passage")
    assert np.allclose(vectors.matrix, await right("tea", "咖啡"), atol=1e-6)
    assert vectors.matrix.dtype == np.float32
    assert asked.dimensions == 16
    [request] = endpoint.requests
    assert request.headers["authorization"] == "Bearer sk-secret-1"
    assert request.body == {"model": "small", "input": ["tea", "咖啡"], "encoding_format": "float"}


async def test_dimensions_are_asked_for_only_if_they_are_configured(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    await embedder(dimensions=16).embed(["tea"], kind="passage")
    assert endpoint.requests[0].body["dimensions"] == 16


async def test_no_texts_are_no_request(endpoint: ScriptedEmbeddings, embedder: Build) -> None:
    assert (await embedder(dimensions=16).embed([], kind="passage")).matrix.shape == (0, 16)
    assert endpoint.requests == []


async def test_prefixes_are_put_in_front_and_are_part_of_the_name(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    asked = embedder(query_prefix="query: ", passage_prefix="passage: ")
    await asked.embed(["tea"], kind="query")
    await asked.embed(["tea"], kind="passage")
    assert [request.texts for request in endpoint.requests] == [("query: tea",), ("passage: tea",)]
    names = {embedder(**given).name for given in ({}, {"query_prefix": "q "}, {"model": "large"}, {"dimensions": 8})}
    assert len(names | {asked.name}) == 5
    assert "sk-secret-1" not in asked.name


async def test_many_texts_go_in_batches_and_come_back_in_order(endpoint: ScriptedEmbeddings, embedder: Build) -> None:
    texts = [f"word{number}" for number in range(150)]
    vectors = await embedder().embed(texts, kind="passage")
    assert [len(request.texts) for request in endpoint.requests] == [64, 64, 22]
    assert np.allclose(vectors.matrix, await right(*texts), atol=1e-6)


async def test_the_answer_s_own_order_is_put_right(endpoint: ScriptedEmbeddings, embedder: Build) -> None:
    endpoint.script(lambda payload: {**payload, "data": payload["data"][::-1]})
    vectors = await embedder().embed(["one", "two", "three"], kind="passage")
    assert np.allclose(vectors.matrix, await right("one", "two", "three"), atol=1e-6)


@pytest.mark.parametrize(
    "answer",
    [
        lambda payload: {**payload, "data": payload["data"][:1]},
        lambda payload: {**payload, "data": payload["data"] * 2},
        lambda payload: {**payload, "data": [payload["data"][0], payload["data"][0]]},
        lambda payload: {**payload, "data": [{**item, "index": str(item["index"])} for item in payload["data"]]},
        lambda payload: {**payload, "data": [{**item, "index": 7} for item in payload["data"]]},
        lambda payload: {**payload, "data": [[1.0], [2.0]]},
        lambda payload: {**payload, "data": None},
        lambda payload: {"embeddings": []},
        lambda payload: {**payload, "data": [{"index": item["index"]} for item in payload["data"]]},
        b"<html>Bad gateway</html>",
        b"[1, 2]",
        b"[" * 50_000,
    ],
)
async def test_an_answer_that_is_not_one_vector_for_each_text_is_refused_whole(
    endpoint: ScriptedEmbeddings, embedder: Build, answer: EmbeddingAnswer
) -> None:
    endpoint.script(answer)
    asked = embedder()
    with pytest.raises(errors.BadReply):
        await asked.embed(["one", "two"], kind="passage")
    assert (await asked.embed(["one", "two"], kind="passage")).refused == {}


@pytest.mark.parametrize(
    "row", [[0.0] * 16, [float("nan")] * 16, [1.0] * 15, [], None, "AAAA", [[1.0] * 16], {"0": 1}, ["x"] * 16]
)
async def test_a_vector_that_cannot_be_used_costs_its_own_text_alone(
    endpoint: ScriptedEmbeddings, embedder: Build, row: Any
) -> None:
    endpoint.script(lambda payload: payload, with_row(1, row))
    asked = embedder()
    await asked.embed(["tells the dimensions"], kind="passage")
    vectors = await asked.embed(["one", "two", "three"], kind="passage")
    assert list(vectors.refused) == [1]
    assert np.allclose(vectors.matrix[[0, 2]], await right("one", "three"), atol=1e-6)
    assert not vectors.matrix[1].any()


async def test_vectors_of_another_length_than_configured_are_all_refused(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    vectors = await embedder(dimensions=8).embed(["one", "two"], kind="passage")
    assert vectors.refused == {0: "16 numbers instead of 8", 1: "16 numbers instead of 8"}


async def test_a_refused_parameter_is_left_out_from_then_on(endpoint: ScriptedEmbeddings, embedder: Build) -> None:
    def strict(request: EmbeddingRequest) -> EmbeddingAnswer | None:
        for parameter in ("dimensions", "encoding_format"):
            if parameter in request.body:
                return EmbeddingStatus(400, f"unknown parameter {parameter}")
        return None

    endpoint.always(strict)
    asked = embedder(dimensions=16)
    assert (await asked.embed(["one"], kind="passage")).refused == {}
    assert len(endpoint.requests) == 3
    await asked.embed(["two"], kind="passage")
    assert len(endpoint.requests) == 4


async def test_a_refusal_for_another_reason_costs_no_parameter(endpoint: ScriptedEmbeddings, embedder: Build) -> None:
    asked = embedder(dimensions=16)
    endpoint.script(*[EmbeddingStatus(400, "no such model")] * 3)
    with pytest.raises(errors.RequestRefused, match="no such model"):
        await asked.embed(["one"], kind="passage")
    await asked.embed(["one"], kind="passage")
    assert {"dimensions", "encoding_format"} <= endpoint.requests[-1].body.keys()


@pytest.mark.parametrize("status", [400, 413, 422])
async def test_a_batch_that_is_too_large_is_halved_and_the_size_remembered(
    endpoint: ScriptedEmbeddings, embedder: Build, status: int
) -> None:
    def narrow(request: EmbeddingRequest) -> EmbeddingAnswer | None:
        return EmbeddingStatus(status, "batch size 64 > 10") if len(request.texts) > 10 else None

    endpoint.always(narrow)
    asked = embedder()
    texts = [f"word{number}" for number in range(100)]
    assert np.allclose((await asked.embed(texts, kind="passage")).matrix, await right(*texts), atol=1e-6)
    before = len(endpoint.requests)
    await asked.embed(texts, kind="passage")
    assert {len(request.texts) for request in endpoint.requests[before:]} <= {8, 4}


async def test_a_text_that_is_too_long_is_cut_where_no_character_is_torn_and_this_is_told(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    def narrow(request: EmbeddingRequest) -> EmbeddingAnswer | None:
        long = any(len(text) > 500 for text in request.texts)
        return EmbeddingStatus(400, "This model's maximum context length is 500 tokens") if long else None

    endpoint.always(narrow)
    family = "👨‍👩‍👧"
    vectors = await embedder(longest_input=1_999).embed(["short", "tea" + family * 700, "kurz"], kind="passage")
    assert vectors.shortened == {1}
    assert vectors.refused == {}
    sent = [text for request in endpoint.requests for text in request.texts]
    assert {text.replace(family, "") for text in sent} == {"short", "tea", "kurz"}
    assert np.allclose(vectors.matrix[[0, 2]], await right("short", "kurz"), atol=1e-6)


async def test_a_text_of_which_even_the_start_is_too_long_is_refused_alone(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    def narrow(request: EmbeddingRequest) -> EmbeddingAnswer | None:
        return EmbeddingStatus(413) if any("长" in text for text in request.texts) else None

    endpoint.always(narrow)
    vectors = await embedder(dimensions=16).embed(["fine", "长" * 5_000], kind="passage")
    assert list(vectors.refused) == [1]
    assert np.allclose(vectors.matrix[:1], await right("fine"), atol=1e-6)


async def test_an_empty_text_is_sent_as_a_space_because_endpoints_refuse_it_with_its_whole_batch(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    await embedder(dimensions=16).embed(["", "\ud83d"], kind="passage")
    assert endpoint.requests[0].texts == (" ", "?")


async def test_a_question_is_given_up_early_while_passages_may_take_their_time(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    endpoint.script(HANG)
    asked = embedder(query_timeout_seconds=0.05)
    with pytest.raises(errors.TimedOut, match=r"0\.05 s"):
        await asked.embed(["tea"], kind="query")
    assert (await asked.embed(["tea"], kind="passage")).refused == {}


async def test_a_pause_that_is_asked_for_is_kept_without_asking_again(
    endpoint: ScriptedEmbeddings, embedder: Build, clock: FakeClock
) -> None:
    endpoint.script(EmbeddingStatus(429, retry_after="7"))
    asked = embedder()
    for waited, left in ((0, 7), (3, 4)):
        clock.advance(waited)
        with pytest.raises(errors.RateLimited) as caught:
            await asked.embed(["tea"], kind="passage")
        assert caught.value.retry_after == left
    assert len(endpoint.requests) == 1
    assert asked.health().state == "reduced"
    clock.advance(4)
    await asked.embed(["tea"], kind="passage")
    assert asked.health().state == "ok"


async def test_a_sick_endpoint_is_left_alone_then_probed_once_and_used_again(
    endpoint: ScriptedEmbeddings, embedder: Build, clock: FakeClock
) -> None:
    endpoint.script(EmbeddingStatus(500), EmbeddingStatus(502))
    asked = embedder(breaker=Breaker(threshold=2, first_cooldown_ms=10_000))
    for kind in (errors.ServerFailed, errors.ServerFailed, errors.BreakerOpen):
        with pytest.raises(kind):
            await asked.embed(["tea"], kind="query")
    assert len(endpoint.requests) == 2
    clock.advance(10)
    endpoint.script(HANG)
    probe = asyncio.create_task(asked.embed(["tea"], kind="query"))
    await endpoint.received(3)
    with pytest.raises(errors.BreakerOpen):
        await asked.embed(["tea"], kind="query")
    probe.cancel()
    await asyncio.gather(probe, return_exceptions=True)
    await asked.embed(["tea"], kind="query")
    assert asked.health().state == "ok"


async def test_a_refused_key_stops_it_until_it_is_resumed_and_is_told_nowhere(
    endpoint: ScriptedEmbeddings, embedder: Build, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    endpoint.script(EmbeddingStatus(401, "bad key sk-secret-1"))
    asked = embedder()
    for _ in range(2):
        with pytest.raises(errors.AuthRefused) as caught:
            await asked.embed(["tea"], kind="query")
        assert "sk-secret-1" not in str(caught.value)
    assert len(endpoint.requests) == 1
    assert asked.health().state == "failed"
    assert "sk-secret-1" not in f"{asked.health()!r} {asked.choice!r} {caplog.text}"
    asked.resume()
    await asked.embed(["tea"], kind="query")


async def test_a_failure_in_a_later_batch_fails_the_call(endpoint: ScriptedEmbeddings, embedder: Build) -> None:
    endpoint.script(lambda payload: payload, EmbeddingStatus(500))
    with pytest.raises(errors.ServerFailed):
        await embedder(batch=2).embed(["a", "b", "c"], kind="passage")


@pytest.mark.parametrize(
    "given",
    [
        {"base_url": "ftp://host/v1"},
        {"base_url": "http://key@host/v1"},
        {"model": " "},
        {"batch": 0},
        {"dimensions": -1},
    ],
)
def test_a_choice_that_cannot_be_meant_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(Misconfigured):
        EmbeddingChoice(**{"base_url": "http://127.0.0.1:1/v1", "model": "small", **given})


async def test_numbers_beyond_what_floats_hold_are_refused_like_others(
    endpoint: ScriptedEmbeddings, embedder: Build
) -> None:
    row = json.dumps([10**400] + [1.0] * 15)
    endpoint.script(f'{{"data": [{{"index": 0, "embedding": {row}}}]}}'.encode())
    assert list((await embedder(dimensions=16).embed(["one"], kind="passage")).refused) == [0]
