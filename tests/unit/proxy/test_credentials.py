"""Which credential is ours and which goes on, and that ours never does."""

from __future__ import annotations

import pytest

from memstrata.proxy.credentials import Header, credentials_of, without_keys
from memstrata.proxy.headers import answer_headers, upstream_headers
from memstrata.proxy.targets import Target

OURS = b"sk-mem-0123456789abcdef"
THEIRS = b"sk-ant-real"


def _sent_on(headers: list[Header], key: str = "", gateway: str = "", wire: str = "anthropic") -> dict[str, str]:
    target = Target("https://provider.example", key)
    return dict(upstream_headers(headers, credentials_of(headers, gateway), target, wire))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "key", "goes_on"),
    [
        (
            [(b"x-tdai-user-key", OURS), (b"authorization", b"Bearer " + THEIRS)],
            OURS,
            {"authorization": "Bearer sk-ant-real"},
        ),
        (
            [(b"x-tdai-user-key", b"a key of her own"), (b"x-api-key", THEIRS)],
            b"a key of her own",
            {"x-api-key": "sk-ant-real"},
        ),
        ([(b"authorization", b"bearer  " + OURS), (b"x-api-key", THEIRS)], OURS, {"x-api-key": "sk-ant-real"}),
        (
            [(b"x-api-key", OURS), (b"authorization", b"Bearer " + THEIRS)],
            OURS,
            {"authorization": "Bearer sk-ant-real"},
        ),
        ([(b"authorization", b"Bearer " + OURS)], OURS, {}),
        ([(b"authorization", b"Bearer " + THEIRS)], b"", {"authorization": "Bearer sk-ant-real"}),
        ([(b"x-tdai-user-key", OURS), (b"authorization", b"Bearer sk-mem-another-one-of-ours")], OURS, {}),
    ],
)
def test_the_users_key_is_taken_and_the_other_credential_goes_on(
    headers: list[Header], key: bytes, goes_on: dict[str, str]
) -> None:
    assert credentials_of(headers).user_key == key.decode()
    assert _sent_on(headers) == goes_on


def test_a_key_of_ours_stays_here_in_whatever_header_it_stands() -> None:
    headers = [
        (b"x-tdai-user-key", b"plain-key-1"),
        (b"cookie", b"a=1; key=plain-key-1"),
        (b"x-note", b"see sk-mem-somebody"),
        (b"authorization", b"Bearer the-gateway"),
        (b"x-other", b"kept"),
    ]
    assert _sent_on(headers, gateway="the-gateway") == {"x-other": "kept"}


def test_neither_key_is_shown_where_values_are_printed() -> None:
    assert "sk-mem" not in repr(credentials_of([(b"x-api-key", OURS)]))
    assert "secret" not in repr(Target("https://provider.example", "secret"))


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        (b"beta=true", b"beta=true"),
        (b"a=%20&b&c==", b"a=%20&b&c=="),
        (b"key=sk-mem-0123456789abcdef&beta=true", b"beta=true"),
        (b"beta=true&key=sk%2Dmem-0123", b"beta=true"),
    ],
)
def test_a_query_goes_on_byte_by_byte_without_keys_of_ours(query: bytes, kept: bytes) -> None:
    assert without_keys(query, (OURS,)) == kept


def test_who_it_is_and_what_is_for_this_hop_stay_here() -> None:
    headers: list[Header] = [
        (b"host", b"127.0.0.1"),
        (b"content-length", b"3"),
        (b"connection", b"keep-alive, X-Hop"),
        (b"x-hop", b"1"),
        (b"te", b"trailers"),
        (b"expect", b"100-continue"),
        (b"x-tdai-service-id", b"i"),
        (b"x-memstrata-token", b"t"),
        (b"x-team-id", b"t"),
        (b"x-agent-id", b"a"),
        (b"x-task-id", b"k"),
        (b"anthropic-beta", b"one"),
        (b"anthropic-beta", b"two"),
        (b"x-claude-code-session-id", b"s"),
    ]
    going = upstream_headers(headers, credentials_of(headers), Target("https://provider.example"), "anthropic")
    assert going == [("anthropic-beta", "one"), ("anthropic-beta", "two"), ("x-claude-code-session-id", "s")]


def test_a_key_of_the_operators_takes_the_place_of_the_clients_own() -> None:
    headers = [(b"authorization", b"Bearer " + THEIRS), (b"x-api-key", THEIRS)]
    assert _sent_on(headers, "op") == {"x-api-key": "op"}
    assert _sent_on(headers, "op", wire="chat") == {"authorization": "Bearer op"}


@pytest.mark.parametrize(
    ("accepted", "asked"),
    [
        (b"gzip, deflate", "gzip, deflate"),
        (b"gzip;q=0.5,  identity", "gzip;q=0.5,  identity"),
        (b"gzip, deflate, br, zstd", "gzip, deflate"),
        (b"br", "identity"),
        (b"*", "identity"),
    ],
)
def test_only_encodings_that_can_be_read_are_asked_for(accepted: bytes, asked: str) -> None:
    assert _sent_on([(b"accept-encoding", accepted)]) == {"accept-encoding": asked}


def test_an_answers_headers_go_on_without_those_of_the_hop() -> None:
    headers = [
        (b"Content-Type", b"application/json"),
        (b"Connection", b"close, X-Once"),
        (b"X-Once", b"1"),
        (b"Transfer-Encoding", b"chunked"),
        (b"Set-Cookie", b"a=1"),
        (b"Set-Cookie", b"b=2"),
        (b"request-id", b"req_1"),
    ]
    assert answer_headers(headers) == [
        (b"content-type", b"application/json"),
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
        (b"request-id", b"req_1"),
    ]
