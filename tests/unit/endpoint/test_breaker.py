from memstrata.endpoint.breaker import Breaker

QUICK = Breaker(threshold=2, first_cooldown_ms=1_000, longest_cooldown_ms=3_000)


def opened(now: int = 0) -> Breaker:
    return QUICK.failed(now).failed(now)


def test_it_stays_closed_below_the_threshold() -> None:
    assert QUICK.failed(0).state(0) == "closed"
    assert QUICK.failed(0).wait_ms(0) is None


def test_failures_in_a_row_open_it_and_a_success_between_them_does_not() -> None:
    assert opened().state(0) == "open"
    assert QUICK.failed(0).answered().failed(0).state(0) == "closed"


def test_an_open_breaker_says_how_long_to_wait() -> None:
    assert opened(now=500).wait_ms(900) == 600


def test_after_the_cooldown_exactly_one_probe_is_let_through() -> None:
    half_open = opened()
    assert half_open.state(1_000) == "half_open"
    assert half_open.wait_ms(1_000) is None
    assert half_open.sent(1_000).wait_ms(1_000) == 1_000


def test_a_probe_that_is_answered_closes_it() -> None:
    assert opened().sent(1_000).answered().state(1_000) == "closed"
    assert opened().sent(1_000).answered().failed(1_000).state(1_000) == "closed"


def test_a_probe_that_fails_opens_it_for_twice_as_long_up_to_the_longest() -> None:
    second = opened().sent(1_000).failed(1_000)
    assert second.wait_ms(1_000) == 2_000
    third = second.sent(3_000).failed(3_000)
    assert third.wait_ms(3_000) == 3_000


def test_a_cancelled_probe_makes_room_for_another() -> None:
    assert opened().sent(1_000).abandoned().wait_ms(1_000) is None


def test_calls_that_were_under_way_when_it_opened_do_not_keep_it_open() -> None:
    assert opened().failed(900).wait_ms(900) == 100
