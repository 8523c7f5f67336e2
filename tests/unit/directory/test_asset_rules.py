"""Rules about assets that need no store: when one expires, what may be bound to an agent, where a service is."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.clock import to_iso
from memstrata.directory.assets import AssetChange, expiry
from memstrata.directory.bindings import bindable
from memstrata.directory.service_url import MAX_URL, service_url
from memstrata.errors import InvalidRequest
from memstrata.records.agents import Agent, Visibility
from memstrata.records.assets import Asset

ASSET = Asset("ast", "t", "skill", "n", "", "lin", "m", "", 1, "team", "draft", 0.5, "", None, 0, "", "null", 1, 1)
AGENT = Agent("agt", "t", "lin", "cook", "", "", "team", "active", "null", 1, 1)
URL = "https://wiki.example/api"


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02T03:04:05.678+08:00", "2026-01-01T19:04:05.678Z"),
        (" 2026-01-02T03:04:05 ", "2026-01-02T03:04:05.000Z"),
        ("2026-01-02", "2026-01-02T00:00:00.000Z"),
    ],
)
def test_an_expiry_is_a_date_or_a_time_and_utc_without_a_zone(text: str, moment: str) -> None:
    found = expiry(text)
    assert found is not None
    assert to_iso(found) == moment


def test_no_expiry_is_never() -> None:
    assert (expiry(""), expiry("  ")) == (None, None)


@pytest.mark.parametrize("text", ["soon", "2026-13-01", "1767614400", "明天", "2026-01-02T25:00:00Z", "0", "\ud800"])
def test_an_expiry_that_nobody_can_read_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="expires_at"):
        expiry(text)


@given(st.text())
def test_any_text_is_an_expiry_or_is_refused(text: str) -> None:
    try:
        found = expiry(text)
    except InvalidRequest:
        return
    assert (found is None) == (not text.strip())


@pytest.mark.parametrize("visibility", get_args(Visibility))
@pytest.mark.parametrize("owner", ["lin", "mia"])
@pytest.mark.parametrize("team", ["t", "other"])
def test_bindable_are_shared_assets_of_the_team_and_private_ones_of_the_agents_owner(
    visibility: Visibility, owner: str, team: str
) -> None:
    asset = replace(ASSET, visibility=visibility, owner_user_id=owner, team_id=team)
    shared = visibility in ("team", "agent")
    assert bindable(asset, AGENT) == (team == "t" and (shared or (visibility, owner) == ("private", "lin")))


@pytest.mark.parametrize(
    ("metadata", "content_ref", "expected"),
    [
        (f'{{"service_url": "{URL}"}}', "", URL),
        (f'"{{\\"service_url\\": \\"{URL}\\"}}"', "", URL),
        (f'{{"service_url": "{URL}"}}', "http://other.example", URL),
        ("null", URL, URL),
        ('{"service_url": "javascript:alert(1)"}', URL, URL),
        ('{"service_url": ["a"]}', "docs/readme.md", None),
        ('"no json"', "file:///etc/passwd", None),
        ("[]", "http://", None),
        ("1", "http://a b.example", None),
        ("{}", "http://example.com/\u202e", None),
        ("{}", "http://[", None),
        ("{}", "http://e.example/" + "x" * MAX_URL, None),
        ("[" * 100_000, "", None),
    ],
)
def test_a_service_has_an_address_of_http_or_none(metadata: str, content_ref: str, expected: str | None) -> None:
    assert service_url(replace(ASSET, metadata=metadata, content_ref=content_ref)) == expected


def test_a_change_leaves_what_it_does_not_name() -> None:
    assert AssetChange().of(ASSET, 9) == replace(ASSET, updated_at=9)
    named = AssetChange(name="tea", visibility="private", version=3, expires_at="2030-01-01", confidence=0.0)
    changed = replace(ASSET, name="tea", visibility="private", version=3, expires_at="2030-01-01", confidence=0.0)
    assert named.of(ASSET, 9) == replace(changed, updated_at=9)
    with pytest.raises(InvalidRequest, match="name"):
        AssetChange(name=" ").of(ASSET, 9)
