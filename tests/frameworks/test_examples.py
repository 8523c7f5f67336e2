"""The examples run as they are, against a real server, and remember."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from .bench import Bench
from .conftest import FRAMEWORKS, INSTALLED

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [name for name in FRAMEWORKS if name in INSTALLED and (EXAMPLES / f"{name}_agent.py").exists()]


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.xdist_group(one)) for one in NAMES])
async def test_the_example_answers_from_memory(name: str, bench: Bench) -> None:
    environment = {**os.environ, "MEMSTRATA_URL": bench.url, "MEMSTRATA_TEAM": bench.team}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / f"{name}_agent.py"),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    printed, complaints = await process.communicate()

    assert process.returncode == 0, complaints.decode()
    assert "No: you are allergic to walnuts." in printed.decode()
