"""Memstrata: layered long-term memory for AI agents.

A conversation goes in (L0); in the background it becomes memories (L1), scenes (L2) and a persona (L3); before each
turn the right memory comes back. `Memory` is the library in this process, `MemoryClient` and `AsyncMemoryClient` talk
to a server. Names load on first use, because the base install has the client alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memstrata.client import AsyncMemoryClient, MemoryClient
    from memstrata.memory import Memory
    from memstrata.records import Scope

__version__ = "0.1.0"
__all__ = ["AsyncMemoryClient", "Memory", "MemoryClient", "Scope", "__version__"]

_HOMES = {
    "AsyncMemoryClient": "memstrata.client",
    "Memory": "memstrata.memory",
    "MemoryClient": "memstrata.client",
    "Scope": "memstrata.records",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("memstrata"):
            raise
        raise ImportError(f'{name} is not part of the base install: pip install "memstrata[server]"') from error
