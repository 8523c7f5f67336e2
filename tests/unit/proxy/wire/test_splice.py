import pytest

from memstrata.proxy.wire.splice import Edit, splice


def test_edits_are_made_at_the_places_of_the_body_as_it_came() -> None:
    edits = [Edit(4, 6, b"E"), Edit(0, 0, b"<"), Edit(2, 2, b"|"), Edit(6, 6, b">")]

    assert splice(b"abcdef", edits) == b"<ab|cdE>"


def test_insertions_at_one_place_keep_their_order_and_stand_before_a_replacement() -> None:
    assert splice(b"abc", [Edit(1, 2, b"B"), Edit(1, 1, b"1"), Edit(1, 1, b"2")]) == b"a12Bc"


def test_an_edit_given_twice_is_made_once() -> None:
    assert splice(b"abc", [Edit(1, 1, b"["), Edit(1, 1, b"["), Edit(0, 1, b""), Edit(0, 1, b"")]) == b"[bc"


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(0, 2, b""), Edit(1, 3, b"")],
        [Edit(0, 2, b""), Edit(1, 1, b"x")],
        [Edit(2, 4, b"")],
        [Edit(2, 1, b"")],
        [Edit(-1, 0, b"")],
    ],
)
def test_edits_that_overlap_or_lie_outside_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(ValueError, match="overlaps another or lies outside"):
        splice(b"abc", edits)
