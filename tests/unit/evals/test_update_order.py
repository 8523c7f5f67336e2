from __future__ import annotations

from collections.abc import Callable

from memstrata.evals.dataset import Question, StatementPair
from memstrata.evals.ranker import Ranking
from memstrata.evals.update_order import PairOrder, pair_orders


def test_the_better_placed_of_two_statements_comes_first_and_one_that_is_missing_last(
    question: Callable[..., Question],
) -> None:
    pair = StatementPair("update", frozenset(["old", "older"]), frozenset(["new"]))
    rankings = [
        Ranking(question("q", {"new"}, pair=pair), tuple((one, 1.0) for one in ranked))
        for ranked in (
            ("x", "new", "old"),
            ("older", "new", "old"),
            ("new",),
            ("x", "old"),
            ("x",),
            ("new", *"abcdefghijk", "old"),
        )
    ]
    assert pair_orders(rankings) == {
        "update": PairOrder(pairs=6, newer_first=3, older_first=2, neither=1, both_at_10=2, both_at_20=3)
    }
    assert pair_orders(rankings)["update"].as_json()["newer_first_share"] == 0.5


def test_kinds_are_counted_apart_and_questions_without_a_pair_not_at_all(question: Callable[..., Question]) -> None:
    ids = frozenset(["a"]), frozenset(["b"])
    rankings = [
        Ranking(question("q", {"a"}, pair=StatementPair("contradiction", *ids)), (("a", 1.0), ("b", 0.5))),
        Ranking(question("r", {"a"}, pair=StatementPair("sequence", *ids)), ()),
        Ranking(question("s", {"a"}), (("a", 1.0),)),
    ]
    found = pair_orders(rankings)
    assert {kind: order.pairs for kind, order in found.items()} == {"contradiction": 1, "sequence": 1}
    assert pair_orders(rankings[2:]) == {}
