from __future__ import annotations

from memstrata.transfer.builder import ImportBuilder


def test_messages_of_one_session_id_belong_together_wherever_they_stand() -> None:
    builder = ImportBuilder("x")
    for session_id, text in (("a", "1"), ("b", "2"), ("a", "3")):
        builder.session(session_id).add("user", text)
    assert [[m.content for m in s.messages] for s in builder.build().sessions] == [["1", "3"], ["2"]]


def test_sessions_are_ordered_by_their_first_time_and_untimed_ones_stay_behind_their_neighbour() -> None:
    builder = ImportBuilder("x")
    for session_id, said_at in (
        ("untimed first", None),
        ("new", 30),
        ("after new", None),
        ("old", 10),
        ("after old", None),
    ):
        session = builder.session(session_id)
        session.add("user", "no time yet")
        session.add("user", "x", said_at)
    assert [session.session_id for session in builder.build().sessions] == [
        "untimed first",
        "old",
        "after old",
        "new",
        "after new",
    ]


def test_a_repeated_message_is_left_out_and_an_edited_one_is_not() -> None:
    builder = ImportBuilder("x")
    for text in ("one", "one", "edited"):
        builder.session("s").add("user", text, message_id="1")
    file = builder.build()
    assert [message.content for message in file.sessions[0].messages] == ["one", "edited"]
    assert file.skipped == {"repeated message": 1}


def test_the_same_words_without_id_are_said_twice() -> None:
    builder = ImportBuilder("x")
    for _ in range(2):
        builder.session("s").add("user", "ok")
    assert len(builder.build().sessions[0].messages) == 2


def test_a_session_of_nothing_but_blanks_is_gone_and_its_messages_are_counted() -> None:
    builder = ImportBuilder("x")
    builder.session("s").add("user", " \u3000\n")
    file = builder.build()
    assert file.sessions == ()
    assert file.skipped == {"empty message": 1}
