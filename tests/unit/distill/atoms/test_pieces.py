"""How a batch is shown: nothing of a long message is lost, and nothing is shown that is not read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memstrata.distill.atoms.pieces import CALL_CHARACTERS, PIECE_CHARACTERS, Piece, halved, loads, pieces_of
from memstrata.distill.protocol import MessageBatch

BatchOf = Callable[..., MessageBatch]

ENGLISH = "The deploy of build {} went through without a hitch. "
CHINESE = "第{}次发布顺利完成，没有发现任何问题。"


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_short_messages_share_one_call(batch_of: BatchOf) -> None:
    (call,) = loads(batch_of("I live in Lisbon", "我喜欢茶").messages)
    assert [piece.text for piece in call] == ["I live in Lisbon", "我喜欢茶"]


@pytest.mark.parametrize("sentence", [ENGLISH, CHINESE])
def test_a_long_message_is_cut_between_sentences_and_nothing_of_it_is_lost(batch_of: BatchOf, sentence: str) -> None:
    text = "".join(sentence.format(n) for n in range(2_000))
    calls = loads(batch_of(text).messages)
    pieces = [piece for call in calls for piece in call]
    assert squeezed("".join(piece.text for piece in pieces)) == squeezed(text)
    assert all(len(piece.text) <= PIECE_CHARACTERS for piece in pieces)
    assert all(piece.text.endswith((".", "。")) for piece in pieces)
    assert all(sum(len(piece.text) for piece in call) <= CALL_CHARACTERS for call in calls)
    assert [piece.part for piece in pieces] == list(range(1, len(pieces) + 1))
    assert {piece.message.seq for piece in pieces} == {1}


def test_no_piece_ends_within_a_character(batch_of: BatchOf) -> None:
    family = "👨\u200d👩\u200d👧"
    pieces = pieces_of(batch_of("hello " + family * 4_000).messages[0])
    assert len(pieces) > 1
    assert all(piece.text.endswith(family) for piece in pieces)


def test_calls_are_divided_between_messages(batch_of: BatchOf) -> None:
    texts = [f"{letter} " * 3_500 for letter in "abcdef"]
    calls = loads(batch_of(*texts).messages)
    assert [[piece.message.seq for piece in call] for call in calls] == [[1, 2, 3], [4, 5, 6]]


def test_data_code_and_logs_are_not_shown(batch_of: BatchOf) -> None:
    text = (
        f"see data:image/png;base64,{'iVBORw0KGgo' * 60} here\n```\nsecret = 1\n```\n"
        "2026-02-11 20:14:03 INFO started\nbye now"
    )
    (piece,) = pieces_of(batch_of(text).messages[0])
    assert piece.text == "see [base64 image/png] here\nbye now"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ok thanks", "ok thanks"),
        ("👍" * 200, "👍" * 39 + "…"),
        ("```\nprint(1)\n```", "[code or log]"),
        ("[INFO] one\n[INFO] two", "[code or log]"),
    ],
)
def test_what_is_not_worth_reading_is_shown_in_short(batch_of: BatchOf, text: str, shown: str) -> None:
    (call,) = loads(batch_of(text, "yes").messages)
    assert [(piece.text, piece.worth) for piece in call] == [(shown, False), ("yes", True)]


def test_without_anything_worth_reading_there_is_no_call(batch_of: BatchOf) -> None:
    assert loads(batch_of("ok", "thanks!").messages) == ()


def test_a_call_over_several_messages_is_not_halved(batch_of: BatchOf) -> None:
    (call,) = loads(batch_of("I live in Lisbon", "I like tea").messages)
    assert halved(call) == ()


def test_pieces_of_one_message_are_shared_out_before_one_is_cut(batch_of: BatchOf) -> None:
    (call,) = loads(batch_of("one two three. " * 1_500).messages)
    assert len(call) == 3
    assert halved(call) == (call[:1], call[1:])


def test_a_piece_is_halved_until_it_is_small(batch_of: BatchOf) -> None:
    (piece,) = pieces_of(batch_of(" ".join(f"word{n}" for n in range(900))).messages[0])
    sizes = [len(piece.text)]
    rest: tuple[Piece, ...] = (piece,)
    while halves := halved(rest):
        assert squeezed("".join(one.text for half in halves for one in half)) == squeezed(rest[0].text)
        rest = halves[0]
        sizes.append(len(rest[0].text))
    assert sizes == sorted(sizes, reverse=True)
    assert 300 <= sizes[-1] < 1_000
