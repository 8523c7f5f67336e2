import pytest

from memstrata.errors import InvalidRequest
from memstrata.provenance.window import window

DAY = 86_400_000
NOW = 100 * DAY


def test_without_ends_the_last_week_is_read_and_what_comes_meanwhile() -> None:
    assert window(None, None, NOW) == (93 * DAY, None)


def test_both_ends_are_taken_as_they_are_up_to_ninety_days() -> None:
    assert window(5, 5, NOW) == (5, 5)
    assert window(0, 90 * DAY, NOW) == (0, 90 * DAY)


@pytest.mark.parametrize(
    ("since", "until", "field"),
    [(1, None, "end_time"), (None, 1, "start_time"), (2, 1, "end_time"), (0, 90 * DAY + 1, "end_time")],
)
def test_other_ends_are_refused_by_name(since: int | None, until: int | None, field: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        window(since, until, NOW)
    assert caught.value.field == field
