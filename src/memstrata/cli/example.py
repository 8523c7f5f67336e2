"""The example conversation: in the repository at `examples/lin.jsonl`, in the wheel as a file of this package."""

from __future__ import annotations

from pathlib import Path

__all__ = ["EXAMPLE_NAME", "example_file"]

EXAMPLE_NAME = "examples/lin.jsonl"


def example_file() -> Path:
    """Return where it is."""
    in_repository = Path(__file__).resolve().parents[3] / EXAMPLE_NAME
    return in_repository if in_repository.is_file() else Path(__file__).with_name("lin.jsonl")
