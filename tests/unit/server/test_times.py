import pytest

from memstrata.errors import InvalidRequest
from memstrata.server.times import log_window, zoned

LISBON = 1_767_323_045_000  # 2026-01-02T03:04:05Z


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-02T03:04:05Z", LISBON),
        ("2026-01-02T11:04:05+08:00", LISBON),
        ("2026-01-01T22:04:05.123456-05:00", LISBON + 123),
        ("0001-01-01T00:00:00+14:00", -62_135_596_800_000 - 14 * 3_600_000),
    ],
)
def test_a_time_with_a_zone_is_read_to_the_millisecond(text: str, instant: int) -> None:
    assert zoned(text, "start_time") == instant


@pytest.mark.parametrize("text", ["", "yesterday", "2026-02-30T00:00:00Z", "2026-01-02", "2026-01-02T03:04:05"])
def test_what_is_no_time_or_has_no_zone_is_refused_by_name(text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^end_time: "):
        log_window(None, text)
