"""The API with made-up vectors, as a process of its own: `python -m benchmarks.vector_server`, set up by MEMSTRATA_ variables.

What `memstrata serve` runs, with an embedder that costs nothing in the place of the configured one.
"""

from __future__ import annotations

from benchmarks.meanings import MadeUpEmbedder
from memstrata.memory import Memory
from memstrata.server import serve
from memstrata.settings import load_settings

__all__ = ["main"]


def main() -> None:
    """Serve until a signal says stop."""
    settings, _ = load_settings()
    serve(lambda: Memory.open(settings=settings, embedder=MadeUpEmbedder()), settings.server)


if __name__ == "__main__":
    main()
