import pytest

from memstrata.proxy.wire.sse import Event, EventParser, event_bytes


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_an_event_ends_with_a_blank_line_of_any_kind(end: bytes) -> None:
    stream = b"event: ping" + end + b"data: {}" + end + end

    assert EventParser().feed(stream) == [Event("ping", b"{}")]


def test_a_line_end_of_two_bytes_may_be_cut_between_them() -> None:
    parser = EventParser()
    assert parser.feed(b"data: a\r") == []
    assert parser.feed(b"\n\r") == [Event("", b"a")]
    assert parser.feed(b"\ndata: b\r") == []
    assert parser.feed(b"\ndata: c\r\n\r\n") == [Event("", b"b\nc")]


def test_the_standard_is_kept_on_spaces_comments_and_several_lines() -> None:
    stream = b"\xef\xbb\xbfdata:a\ndata:  b\ndata\n: note\nid: 7\ndatum: x\n\nevent: nothing\n\ndata: c\n\n"

    assert EventParser().feed(stream) == [Event("", b"a\n b\n"), Event("", b"c")]


def test_what_no_blank_line_ends_is_no_event() -> None:
    assert EventParser().feed(b"data: half\n") == []


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_an_event_that_is_too_long_is_dropped_and_the_next_one_is_read(size: int) -> None:
    parser = EventParser(longest=50)
    stream = b"data: " + b"x" * 60 + b"\n\ndata: " + b"y" * 30 + b"\ndata: " + b"y" * 30 + b"\n\ndata: z\n\n"

    events = [event for at in range(0, len(stream), size) for event in parser.feed(stream[at : at + size])]
    assert (events, parser.dropped) == ([Event("", b"z")], 2)


def test_an_event_is_written_as_it_is_read() -> None:
    assert EventParser().feed(event_bytes({"text": "a\nb 你"}, "delta")) == [
        Event("delta", '{"text":"a\\nb 你"}'.encode())
    ]
