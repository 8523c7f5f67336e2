"""Whose a row is: checked once, compared whole, never parsed from a string."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import pytest

from memstrata.errors import InvalidRequest
from memstrata.records import Profile, Scope, check_id
from memstrata.records.scope import MAX_ID


@pytest.mark.parametrize("part", ["instance", "team", "agent", "user"])
@pytest.mark.parametrize("value", ["", " ", "\t\n", "x" * (MAX_ID + 1), "\ud83d"])
def test_a_part_that_is_blank_too_long_or_no_text_is_refused_by_name(scope: Scope, part: str, value: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        replace(scope, **{part: value})
    assert refused.value.field == part


@pytest.mark.parametrize("value", ["x", " x ", "a|b", "../..", "汉字", "🙂", "x" * MAX_ID, "a\x00b"])
def test_any_other_text_is_an_id_as_it_stands(scope: Scope, value: str) -> None:
    assert replace(scope, user=value).user == value


def test_a_scope_cannot_be_changed(scope: Scope) -> None:
    with pytest.raises(FrozenInstanceError):
        scope.user = "max"  # type: ignore[misc]


def test_two_scopes_are_one_only_if_all_parts_are_equal(scope: Scope) -> None:
    assert replace(scope) == scope
    assert len({scope, *(replace(scope, **{part: "other"}) for part in ("instance", "team", "agent", "user"))}) == 5
    assert Scope("a", "b|c", "d", "e") != Scope("a|b", "c", "d", "e")


def test_a_profile_is_the_agents_or_each_users(scope: Scope) -> None:
    assert scope.profile("agent") == Profile("default", "home", "assistant", "")
    assert scope.profile("agent_user") == Profile("default", "home", "assistant", "lin")


def test_an_id_is_checked_against_its_own_limit() -> None:
    assert check_id("x" * 256, "idempotency_key", 256) == "x" * 256
    with pytest.raises(InvalidRequest, match="at most 256 characters, got 257"):
        check_id("x" * 257, "idempotency_key", 256)
