import gzip
import zlib
from collections.abc import Iterable

import pytest
from starlette.types import Message, Receive

from memstrata.server.body import ClientGone, inflate, read_body
from memstrata.server.envelope import UnreadableBody

TEXT = b'{"query": "tea"}'


def chunks(*parts: bytes, hang_up: bool = False) -> tuple[Receive, list[bytes]]:
    """A connection that delivers `parts`, and the parts that are still undelivered."""
    left = list(parts)

    async def receive() -> Message:
        if not left:
            return {"type": "http.disconnect"}
        part = left.pop(0)
        return {"type": "http.request", "body": part, "more_body": bool(left) or hang_up}

    return receive, left


async def refusal(headers: dict[bytes, bytes], parts: Iterable[bytes], limit: int = 1_000) -> UnreadableBody:
    with pytest.raises(UnreadableBody) as caught:
        await read_body(headers, chunks(*parts)[0], limit)
    return caught.value


async def test_a_body_in_one_piece_is_returned_as_it_is() -> None:
    assert await read_body({}, chunks(TEXT)[0], 1_000) == TEXT


async def test_a_body_in_pieces_is_joined() -> None:
    assert await read_body({}, chunks(TEXT[:3], TEXT[3:9], TEXT[9:])[0], 1_000) == TEXT


@pytest.mark.parametrize(
    ("encoding", "encoded"),
    [
        (b"gzip", gzip.compress(TEXT)),
        (b"x-gzip", gzip.compress(TEXT)),
        (b" GZIP ", gzip.compress(TEXT)),
        (b"deflate", zlib.compress(TEXT)),
        (b"deflate", zlib.compress(TEXT)[2:-4]),
        (b"identity", TEXT),
    ],
    ids=lambda value: value.decode().strip() if len(value) < 9 else "",
)
async def test_known_encodings_are_decompressed(encoding: bytes, encoded: bytes) -> None:
    assert await read_body({b"content-encoding": encoding}, chunks(encoded)[0], 1_000) == TEXT


async def test_an_unknown_encoding_is_refused_with_415_and_its_name() -> None:
    error = await refusal({b"content-encoding": b"br"}, [b"{}"])

    assert error.status == 415
    assert "br" in str(error)


@pytest.mark.parametrize(
    "broken",
    [b"not gzip", gzip.compress(TEXT)[:-1], gzip.compress(TEXT) + b"more", b""],
    ids=["no gzip", "cut", "more behind it", "empty"],
)
async def test_what_does_not_decompress_is_refused_with_400(broken: bytes) -> None:
    assert (await refusal({b"content-encoding": b"gzip"}, [broken])).status == 400


async def test_a_body_at_the_limit_is_accepted_and_one_byte_more_is_not() -> None:
    assert len(await read_body({}, chunks(b"x" * 1_000)[0], 1_000)) == 1_000
    assert (await refusal({}, [b"x" * 1_001])).status == 413
    assert (await refusal({}, [b"x" * 500, b"x" * 501])).status == 413


def test_a_small_body_that_would_become_a_large_one_stops_at_the_limit() -> None:
    bomb = gzip.compress(bytes(50_000_000))

    with pytest.raises(UnreadableBody) as caught:
        inflate(bomb, 1_000, gzip=True)

    assert caught.value.status == 413


async def test_a_declared_length_past_the_limit_is_refused_after_the_rest_was_taken_in() -> None:
    receive, left = chunks(b"x" * 700, b"x" * 700, b"x" * 700)

    with pytest.raises(UnreadableBody) as caught:
        await read_body({b"content-length": b"2100"}, receive, 1_000)

    assert caught.value.status == 413
    assert caught.value.closes
    assert left == []


async def test_a_client_that_waits_for_a_go_ahead_is_refused_before_it_sends() -> None:
    receive, left = chunks(b"x" * 2_000)

    with pytest.raises(UnreadableBody):
        await read_body({b"content-length": b"2000", b"expect": b"100-continue"}, receive, 1_000)

    assert left


async def test_only_a_bounded_part_of_an_endless_body_is_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memstrata.server.body.DRAIN_BYTES", 5_000)
    receive, left = chunks(*[b"x" * 1_000] * 50)

    with pytest.raises(UnreadableBody):
        await read_body({}, receive, 1_000)

    assert len(left) > 40


async def test_a_client_that_hangs_up_gets_no_answer() -> None:
    with pytest.raises(ClientGone):
        await read_body({}, chunks(b'{"qu', hang_up=True)[0], 1_000)
    with pytest.raises(ClientGone):
        await read_body({}, chunks()[0], 1_000)
