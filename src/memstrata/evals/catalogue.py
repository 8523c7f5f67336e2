"""The data sets by name, and how each is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Dataset
from memstrata.evals.datasets.beam import read_beam
from memstrata.evals.datasets.locomo import read_locomo
from memstrata.evals.datasets.longmemeval import read_longmemeval
from memstrata.evals.datasets.madial import MadialLanguage, read_madial
from memstrata.evals.datasets.memdaily import read_memdaily
from memstrata.evals.datasets.ours import OURS, read_ours
from memstrata.evals.views import user_turns

__all__ = ["DATASETS", "DatasetName", "Reading", "read_dataset"]

DatasetName = Literal["ours", "locomo", "longmemeval", "beam", "memdaily", "madial"]
DATASETS: tuple[str, ...] = get_args(DatasetName)


@dataclass(frozen=True, slots=True)
class Reading:
    """Which data set, where it is, and what can be chosen about it. None of ours needs a path."""

    dataset: str
    path: Path | None = None
    language: MadialLanguage = "zh"  # of MADial-Bench
    captions: bool = True  # of LoCoMo's images
    roles: Literal["all", "user"] = "all"


def read_dataset(reading: Reading) -> Dataset:
    """Read a data set. Raises InvalidRequest for an unknown name, a missing path, or a file that cannot be read."""
    read = _read(reading)
    return user_turns(read) if reading.roles == "user" else read


def _read(reading: Reading) -> Dataset:
    if reading.dataset == "ours":
        return read_ours(reading.path or OURS)
    if reading.dataset not in DATASETS:
        raise InvalidRequest(f"expected one of {', '.join(DATASETS)}, got {reading.dataset[:40]!r}", field="dataset")
    if reading.path is None:
        raise InvalidRequest(f"{reading.dataset} does not come with the package: give its path", field="path")
    match reading.dataset:
        case "locomo":
            return read_locomo(reading.path, captions=reading.captions)
        case "longmemeval":
            return read_longmemeval(reading.path)
        case "beam":
            return read_beam(reading.path)
        case "memdaily":
            return read_memdaily(reading.path)
        case _:
            return read_madial(reading.path, reading.language)
