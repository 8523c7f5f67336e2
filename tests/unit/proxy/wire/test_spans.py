import pytest

from memstrata.proxy.wire.request import Unreadable
from memstrata.proxy.wire.spans import Document


def members_of(body: bytes) -> dict[str, bytes]:
    document = Document(body)
    return {key: body[value.span.start : value.span.end] for key, value in document.members(document.root).items()}


def test_members_are_found_through_any_whitespace_and_escape() -> None:
    body = b'\r\n{ "a\\"\\u0062" :\t[1 , {"x":2}] ,"n":1e999,"t" : "}\\\\" }\n'

    assert members_of(body) == {'a"b': b'[1 , {"x":2}]', "n": b"1e999", "t": b'"}\\\\"'}


def test_elements_are_found_through_any_whitespace() -> None:
    body = b'{"a":[ 1,\n{} , "x,y",[ ],null ]}'
    document = Document(body)
    array = document.members(document.root)["a"]

    assert [body[span.start : span.end] for span in document.elements(array, 5)] == [
        b"1",
        b"{}",
        b'"x,y"',
        b"[ ]",
        b"null",
    ]


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a":1,"\\u0061":1}',
        b'{"a":12,"b":1,"a":1}',
        b'{"a":{"b":1},"b":1,"a":"xyz"}',
        b'{"a":1,"b":2,"a":1 }',
        b'{"a":{"x":1,"b":2},"b":2,"a":123456}',  # by lengths alone, the inner b would pass for the outer one
    ],
)
def test_a_key_that_stands_twice_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable, match="a key twice"):
        members_of(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b'{"a":1} {}',
        b'{"a":1,}',
        b"\xef\xbb\xbf{}",
        b'{"a":tru}',
        b'{"a":"\\ud8"}',
        b'{"a":' + b"[" * 100_000,
    ],
)
def test_what_is_no_object_in_json_is_unreadable(body: bytes) -> None:
    with pytest.raises(Unreadable):
        members_of(body)


def test_half_of_a_surrogate_pair_moves_no_position() -> None:
    body = rb'{"a":"\ud83d \\ud800 \ud83d\ude00","b":"\uDE00"}'

    assert members_of(body) == {"a": rb'"\ud83d \\ud800 \ud83d\ude00"', "b": rb'"\uDE00"'}
