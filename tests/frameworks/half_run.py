"""Half of a run in a process of its own: `python -m frameworks.half_run NAME URL TEAM FOLDER ask|resume`, from `tests`.

It prints the model's last words. The server is the caller's; the model is this process's, because a model remembers nothing.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from importlib import import_module
from pathlib import Path

from memstrata.testing.llm import ScriptedLLM

from .bench import Bench
from .conftest import FRAMEWORKS
from .driver import Call, Driver

__all__ = ["WORDS"]

WORDS = "Pay 5 for the walnuts."


async def run(name: str, url: str, team: str, folder: str, half: str) -> str:
    async with ScriptedLLM() as model:
        bench = Bench(url, team, Path(folder), model)
        driver: Driver = getattr(import_module(f".{name}_driver", __package__), FRAMEWORKS[name][1])(bench)
        last = await (driver.say(WORDS, Call("pay", {"amount": 5})) if half == "ask" else driver.resume("Paid."))
        assert await driver.drain() == 0
        await driver.aclose()
        await bench.end()
        return last


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # what frameworks warn of is their own affair
    print(asyncio.run(run(*sys.argv[1:])))
