"""Where requests may go, and what their addresses become."""

from __future__ import annotations

import pytest

from memstrata.errors import Misconfigured
from memstrata.proxy.routes import route_of
from memstrata.proxy.targets import Target, Targets, url_at


def _base(targets: Targets, path: str) -> str:
    route = route_of("POST", path)
    assert route is not None
    return targets.of(route).base


def test_an_agents_own_entry_goes_before_its_protocols() -> None:
    targets = Targets(["codex=https://one.example/", "OpenAI=https://two.example/v1"], ["codex=k"])
    assert _base(targets, "/codex/m/v1/responses") == "https://one.example"
    assert _base(targets, "/cursor/m/v1/chat/completions") == "https://two.example/v1"
    assert _base(targets, "/claude-code/m/v1/messages") == "https://api.anthropic.com"


@pytest.mark.parametrize(
    ("upstreams", "keys"),
    [
        (["no equals sign"], []),
        (["codex="], []),
        (["codex=file:///etc/passwd"], []),
        (["codex=https://"], []),
        (["codex=https://user:word@one.example"], []),
        (["codex=https://one.example/?a=1"], []),
        (["codex=http://[::1"], []),
        ([], ["codex=secret-1"]),
        ([], ["secret-1"]),
    ],
)
def test_an_entry_that_cannot_be_meant_stops_the_start_and_shows_no_key(upstreams: list[str], keys: list[str]) -> None:
    with pytest.raises(Misconfigured) as caught:
        Targets(upstreams, keys)
    assert "secret-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("base", "suffix", "expected"),
    [
        ("https://a.example", "/v1/messages", "https://a.example/v1/messages"),
        ("https://a.example/anthropic", "/v1/messages", "https://a.example/anthropic/v1/messages"),
        ("https://a.example/v1", "/v1/chat/completions", "https://a.example/v1/chat/completions"),
        ("https://a.example/v1", "/chat/completions", "https://a.example/v1/chat/completions"),
        ("https://a.example/api/v4", "/v1/chat/completions", "https://a.example/api/v4/chat/completions"),
        ("https://a.example", "/chat/completions", "https://a.example/chat/completions"),
        ("https://a.example/v1/messages", "/v1/messages", "https://a.example/v1/messages"),
        ("https://a.example/v1/messages", "/v1/messages/count_tokens", "https://a.example/v1/messages/count_tokens"),
        ("https://a.example/v1/chat/completions", "/v1/models", "https://a.example/v1/models"),
    ],
)
def test_an_address_and_a_path_join_without_saying_a_version_twice(base: str, suffix: str, expected: str) -> None:
    assert url_at(Target(base), suffix, b"") == expected


def test_a_query_is_kept_as_it_was_sent() -> None:
    assert url_at(Target("https://a.example"), "/v1/messages", b"beta=true&x=%2F").endswith("?beta=true&x=%2F")
