from __future__ import annotations

from collections.abc import Callable

from memstrata.records import Message
from memstrata.search.leg import LegHit
from memstrata.search.ranking import rank


def test_only_rows_that_are_compared_are_analysed_and_each_once(said: Callable[..., Message]) -> None:
    analysed: list[int] = []

    def found(seq: int) -> LegHit[Message]:
        def terms() -> tuple[str, ...]:
            analysed.append(seq)
            return (f"word{seq}",)

        return LegHit(said(seq, f"word{seq}"), 1 - seq / 100, terms)

    best = rank({"vector": [found(seq) for seq in range(50)]}, 5, floors={})
    assert [hit.item.seq for hit in best] == [0, 1, 2, 3, 4]
    assert sorted(analysed) == [0, 1, 2, 3, 4]
