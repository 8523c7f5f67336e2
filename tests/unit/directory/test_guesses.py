"""Wrong keys are counted by address, different ones only, and for a minute."""

from __future__ import annotations

from memstrata.directory.guesses import MOST_GUESSES, MOST_SOURCES, WINDOW_MILLISECONDS, GuessLimit

NOON = 1_767_614_400_000


def guess(limit: GuessLimit, source: str, keys: int, now: int = NOON) -> None:
    for number in range(keys):
        limit.failed(source, number.to_bytes(8), now)


def test_ten_different_wrong_keys_are_one_too_many_for_a_minute() -> None:
    limit = GuessLimit()
    guess(limit, "10.0.0.1", MOST_GUESSES - 1)
    assert limit.refused_until("10.0.0.1", NOON) is None

    guess(limit, "10.0.0.1", MOST_GUESSES, NOON + 1_000)

    assert limit.refused_until("10.0.0.1", NOON + 1_000) == NOON + WINDOW_MILLISECONDS
    assert limit.refused_until("10.0.0.2", NOON + 1_000) is None
    assert limit.refused_until("10.0.0.1", NOON + WINDOW_MILLISECONDS) is None


def test_the_same_wrong_key_again_and_again_is_one_guess() -> None:
    limit = GuessLimit()
    for second in range(50):
        limit.failed("10.0.0.1", b"revoked!", NOON + second * 1_000)

    assert limit.refused_until("10.0.0.1", NOON + 50_000) is None


def test_our_own_process_may_guess() -> None:
    limit = GuessLimit()
    guess(limit, "", 100)

    assert limit.refused_until("", NOON) is None


def test_a_clock_that_is_set_back_locks_nobody_out() -> None:
    limit = GuessLimit()
    guess(limit, "10.0.0.1", MOST_GUESSES)

    assert limit.refused_until("10.0.0.1", NOON - 3_600_000) is None


def test_only_so_many_addresses_are_remembered_the_latest_ones() -> None:
    limit = GuessLimit()
    guess(limit, "first", MOST_GUESSES)
    guess(limit, "second", MOST_GUESSES)
    for number in range(MOST_SOURCES - 1):
        guess(limit, f"10.{number}", 1)

    assert limit.refused_until("first", NOON) is None
    assert limit.refused_until("second", NOON) is not None
