"""What a standing lets a user do: every combination against the rule in words."""

from __future__ import annotations

import itertools

from memstrata.directory.access import Standing, may_change, may_use

EVERY = [Standing(*flags) for flags in itertools.product((False, True), repeat=6)]


def test_an_agent_is_used_by_members_who_own_it_or_see_it_and_are_not_kept_out() -> None:
    for one in EVERY:
        expected = one.is_member and one.agent_is_active
        expected = expected and (one.owns_agent or (one.sees_agent and not one.is_kept_out))
        assert may_use(one) == expected, one


def test_what_is_shared_is_changed_by_an_owner_who_may_use_the_agent() -> None:
    allowed = [one for one in EVERY if may_change(one)]

    assert allowed
    assert all(one.owns_agent and one.is_member and one.agent_is_active for one in allowed)
    assert len(allowed) == 8


def test_running_a_team_is_no_leave_to_use_its_agents() -> None:
    assert not may_use(Standing(is_member=True, runs_team=True, agent_is_active=True))
