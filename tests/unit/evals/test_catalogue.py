from __future__ import annotations

from pathlib import Path

import pytest

from memstrata.cli import eval_commands
from memstrata.errors import InvalidRequest
from memstrata.evals.catalogue import DATASETS, Reading, read_dataset


def test_the_data_sets_on_offer_are_those_that_can_be_read() -> None:
    assert eval_commands.DATASETS == DATASETS


@pytest.mark.parametrize("name", [name for name in DATASETS if name != "ours"])
def test_a_set_that_does_not_come_with_the_package_needs_a_path(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="give its path"):
        read_dataset(Reading(name))
    with pytest.raises(InvalidRequest, match="nowhere"):
        read_dataset(Reading(name, tmp_path / "nowhere"))


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidRequest, match="ours, locomo"):
        read_dataset(Reading("squad", Path()))


def test_ours_needs_none() -> None:
    assert read_dataset(Reading("ours")).name == "ours"
