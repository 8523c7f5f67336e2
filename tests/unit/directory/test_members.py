"""What becomes of a place in a team: every case of who is given which role."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memstrata.directory.members import settled_member
from memstrata.errors import Conflict, Forbidden
from memstrata.records.people import Member, Team, User

TEAM = Team("team-1", "kitchen", "", "usr-lin", "active", "{}", 0, 0)
REX = User("usr-rex", "normal", "rex", "active", 0, 0)
NEW = Member("new", "team-1", "usr-ada", "member", "active", 200, "ada")
OLD = Member("old", "team-1", "usr-ada", "member", "active", 100)


def test_who_comes_in_is_taken_as_asked() -> None:
    assert settled_member(TEAM, REX, None, NEW) == NEW


def test_another_role_or_state_keeps_the_place_and_its_time() -> None:
    for changed in (replace(NEW, role="reviewer"), replace(NEW, status="removed")):
        expected = replace(OLD, role=changed.role, status=changed.status, username="ada")
        assert settled_member(TEAM, REX, OLD, changed) == expected


def test_nothing_to_change_is_a_conflict() -> None:
    with pytest.raises(Conflict, match=r"^member_already_exists: "):
        settled_member(TEAM, REX, OLD, NEW)


def test_nobody_changes_their_own_place() -> None:
    with pytest.raises(Forbidden, match=r"^permission_denied: "):
        settled_member(TEAM, REX, None, replace(NEW, user_id="usr-rex"))


@pytest.mark.parametrize(("role", "status"), [("member", "active"), ("reviewer", "active"), ("admin", "removed")])
def test_an_owner_is_neither_demoted_nor_put_out(role: str, status: str) -> None:
    owner = replace(OLD, user_id="usr-lin", role="admin")
    with pytest.raises(Forbidden, match=r"^permission_denied: "):
        settled_member(TEAM, REX, owner, replace(owner, role=role, status=status))  # type: ignore[arg-type]
