from __future__ import annotations

from itertools import islice

import pytest
from benchmarks.dataset import gold, texts


def test_there_are_a_hundred_facts_of_each_language_and_no_two_are_the_same() -> None:
    facts = gold()
    assert sum(one.language == "zh" for one in facts) == sum(one.language == "en" for one in facts) == 100
    assert len({one.fact for one in facts}) == len({one.question for one in facts}) == 200


def test_a_data_set_holds_every_fact_once_among_its_rows() -> None:
    rows = list(texts(1_000, seed=0))
    assert len(rows) == 1_000
    assert all(rows.count(one.fact) == 1 for one in gold())


def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    first, again, other = (list(islice(texts(500, seed), 50)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_data_set_without_room_for_the_facts_is_refused() -> None:
    with pytest.raises(ValueError, match="200 facts"):
        next(texts(199, seed=0))
