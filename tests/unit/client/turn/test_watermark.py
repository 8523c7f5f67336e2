"""Where a turn begins, and when a turn that was found again is the one that a list ends with."""

from __future__ import annotations

from memstrata.client.turn import CaptureRules, Seen, Turn, view_plain
from memstrata.client.turn.slicing import cut
from memstrata.client.turn.watermark import START, fits, place

NOW = "2026-01-05T12:00:00+00:00"
A0 = Seen("a0", "assistant", "hello")
U1 = Seen("u1", "user", "first")
U2 = Seen("u2", "user", "second")
CALL = Seen("c1", "assistant", "", calls_tools=True)
SUMMARY = Seen("s", "user", "Earlier: …", is_synthetic=True)


def begun(*messages: Seen, unfinished: Turn | None = None) -> Turn:
    turn = place(messages, "lin", "thread", NOW, unfinished)
    assert turn is not None
    return turn


def test_the_watermark_is_the_message_before_all_users_messages_at_the_end() -> None:
    assert begun(U1).watermark == START
    assert begun(Seen("sys", "system", "be kind"), U1).watermark == START
    assert begun(A0, U1, U2).watermark == "a0"
    assert begun(Seen(None, "assistant", "hello"), U1).watermark is None


def test_nothing_begins_where_no_user_spoke_last() -> None:
    ends = (
        A0,
        CALL,
        SUMMARY,
        Seen("u3", "user", " "),
        Seen("u4", "user", "(session bootstrap)"),
        Seen(None, "user", "x"),
    )
    assert [place((U1, end), "lin", "thread", NOW) for end in ends] == [None] * len(ends)
    assert place((), "lin", "thread", NOW) is None


def test_a_turn_found_again_fits_the_list_that_it_was_begun_with() -> None:
    turn = begun(A0, U1, U2)
    assert fits(turn, (A0, U1, U2, CALL), "lin")
    assert fits(turn, (SUMMARY, U1, U2, CALL), "lin")
    assert fits(turn, (SUMMARY, CALL), "lin")
    assert fits(begun(U1), (SUMMARY, U1, CALL), "lin")


def test_a_turn_found_again_does_not_fit_what_another_turn_made() -> None:
    turn = begun(A0, U1)
    assert not fits(turn, (A0, U1), "ann"), "another user"
    assert not fits(turn, (A0, U1, CALL, U2), "lin"), "not the newest input"
    assert not fits(turn, (A0, CALL), "lin"), "the input is gone and nothing was compacted"
    assert not fits(turn, (A0, SUMMARY), "lin"), "the watermark is there and the input is not"
    assert not fits(turn, (A0, CALL, U1), "lin"), "something stands between"
    assert not fits(turn, (SUMMARY, U2), "lin"), "a user has spoken since"


def test_a_turn_carries_one_that_was_not_acknowledged_as_far_as_the_list_shows_it() -> None:
    failed = begun(A0, U1)
    assert begun(A0, U1, CALL, U2, unfinished=failed).floor == "a0"
    assert begun(A0, U2, unfinished=failed).carried == (), "taken back"
    lost = begun(SUMMARY, U2, unfinished=failed)
    assert (lost.floor, [one.text for one in lost.lost]) == ("s", ["first"])
    again = begun(SUMMARY, U2, CALL, Seen("u3", "user", "third"), unfinished=lost)
    assert (again.floor, [one.text for one in again.lost]) == ("s", ["first"])


def test_a_turn_of_another_user_is_not_carried() -> None:
    failed = begun(A0, U1)
    turn = place((A0, U1, CALL, U2), "ann", "thread", NOW, failed)
    assert turn is not None
    assert turn.floor == "c1"


def test_without_ids_of_its_own_a_compacted_thread_gives_up_its_start_and_keeps_the_texts() -> None:
    asked = view_plain([("user", "first"), ("user", "second")])
    failed = begun(*asked)
    summary = {"role": "user", "content": "Earlier: …", "synthetic": True}
    messages = view_plain([summary, ("user", "second"), {"role": "assistant", "tool_calls": [1]}, ("user", "third")])
    turn = begun(*messages, unfinished=failed)

    said = cut(turn, (*messages, *view_plain([("assistant", "reply")])), NOW, CaptureRules())

    assert said is not None
    assert [one.text for one in said] == ["first", "second", "third", "reply"]
    assert [one.source for one in said[:2]] == [one.id for one in asked]
