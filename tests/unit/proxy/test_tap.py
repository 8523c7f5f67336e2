"""The copy of an answer: read where it can be, given up quietly where not."""

from __future__ import annotations

import zlib

import pytest

from memstrata.proxy.decoding import decoder_for
from memstrata.proxy.tap import Tap
from memstrata.proxy.wire.wires import WIRES

EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
STREAM = {"content-type": "Text/Event-Stream; charset=utf-8"}


@pytest.mark.parametrize("window", [zlib.MAX_WBITS, -zlib.MAX_WBITS])
def test_deflate_is_read_with_and_without_its_header(window: int) -> None:
    compress = zlib.compressobj(wbits=window)
    raw = compress.compress(EVENT) + compress.flush()
    decoder = decoder_for("deflate")
    assert decoder is not None
    assert b"".join(decoder.feed(raw[at : at + 1]) for at in range(len(raw))) == EVENT


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "nonsense"])
def test_an_encoding_that_nobody_here_reads_has_no_decoder(encoding: str) -> None:
    assert decoder_for(encoding) is None
    tap = Tap(WIRES["chat"], {**STREAM, "content-encoding": encoding})
    tap.feed(EVENT)
    assert tap.reply() is None


def test_a_stream_is_read_as_far_as_it_came() -> None:
    tap = Tap(WIRES["chat"], STREAM)
    assert tap.reply() is None
    tap.feed(EVENT[:40])
    first = tap.reply()
    tap.feed(EVENT[40:])
    last = tap.reply()
    assert first is not None
    assert last is not None
    assert not first.complete
    assert (last.text, last.complete) == ("hi", True)


def test_what_is_not_in_its_encoding_is_given_up_and_stays_so() -> None:
    tap = Tap(WIRES["chat"], {**STREAM, "content-encoding": "gzip"})
    tap.feed(b"not gzip")
    tap.feed(EVENT)
    assert tap.reply() is None


def test_an_answer_of_one_object_is_read_once_it_is_whole() -> None:
    tap = Tap(WIRES["chat"], {"content-type": "application/json"})
    body = b'{"choices":[{"message":{"content":"whole"},"finish_reason":"stop"}]}'
    tap.feed(body[:20])
    tap.feed(body[20:])
    reply = tap.reply()
    assert reply is not None
    assert reply.text == "whole"
