"""`python benchmarks/run.py`: the same as `python -m benchmarks`, from any folder."""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    runpy.run_module("benchmarks", run_name="__main__")
