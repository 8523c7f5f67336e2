"""No adapter goes untested: each has a driver, an extra and an environment."""

from __future__ import annotations

import tomllib
from pathlib import Path

from .conftest import FRAMEWORKS, HERE

ROOT = Path(__file__).parents[2]
SHARED = {"__init__", "run_memory", "lone_turn", "crewai_model"}
EXTRAS = {"claude_agent": "claude-agent-sdk"}


def test_every_adapter_has_a_driver_and_an_example() -> None:
    adapters = {path.stem for path in (ROOT / "src/memstrata/integrations").glob("*.py")} - SHARED

    assert adapters == FRAMEWORKS.keys() - {"langchain_blocking"}
    assert {name for name in FRAMEWORKS if not (HERE / f"{name}_driver.py").exists()} == set()
    assert {name for name in adapters if not (ROOT / f"examples/{name}_agent.py").exists()} == set()


def test_every_adapter_has_an_extra_and_a_place_in_a_lock() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = {EXTRAS.get(name, name.replace("_", "-")) for name in FRAMEWORKS if name != "langchain_blocking"}

    assert names <= extras.keys()
    lock = (ROOT / "requirements/lock").read_text("utf-8")
    assert {name for name in names if name not in lock} == set()


def test_make_runs_every_framework() -> None:
    recipe = (ROOT / "Makefile").read_text("utf-8")
    together = next(line for line in recipe.splitlines() if line.startswith("TOGETHER := "))

    assert {*together.removeprefix("TOGETHER := ").split(","), "crewai"} == FRAMEWORKS.keys()
