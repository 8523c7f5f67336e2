"""Tokens of the second word: whose they are, how often they work, how long."""

from __future__ import annotations

import pytest

from memstrata.mcp.confirmation import LIFETIME_SECONDS, MAX_WAITING, Confirmations, Owner, Selection

MIA = Owner("default", "acme", "helpdesk", "mia")
CHOSEN = Selection(memory_ids=("mem-1",))


def test_a_token_works_once() -> None:
    waiting = Confirmations()
    token = waiting.issue(MIA, CHOSEN, 0.0)

    assert waiting.redeem(token, MIA, 1.0) == CHOSEN
    assert waiting.redeem(token, MIA, 1.0) is None


@pytest.mark.parametrize(
    "other",
    [
        Owner("other", "acme", "helpdesk", "mia"),
        Owner("default", "other", "helpdesk", "mia"),
        Owner("default", "acme", "other", "mia"),
        Owner("default", "acme", "helpdesk", "other"),
    ],
)
def test_a_token_of_another_scope_does_nothing_and_stays_good_for_its_owner(other: Owner) -> None:
    waiting = Confirmations()
    token = waiting.issue(MIA, CHOSEN, 0.0)

    assert waiting.redeem(token, other, 1.0) is None
    assert waiting.redeem(token, MIA, 1.0) == CHOSEN


def test_a_token_holds_for_ten_minutes() -> None:
    waiting = Confirmations()
    early, late = (waiting.issue(MIA, CHOSEN, 0.0) for _ in range(2))

    assert waiting.redeem(early, MIA, LIFETIME_SECONDS - 1) == CHOSEN
    assert waiting.redeem(late, MIA, LIFETIME_SECONDS) is None
    assert LIFETIME_SECONDS == 600


def test_old_tokens_make_room_and_the_number_that_waits_is_bounded() -> None:
    waiting = Confirmations()
    for _ in range(MAX_WAITING + 5):
        waiting.issue(MIA, CHOSEN, 0.0)
    assert len(waiting) == MAX_WAITING

    waiting.issue(MIA, CHOSEN, LIFETIME_SECONDS)
    assert len(waiting) == 1
