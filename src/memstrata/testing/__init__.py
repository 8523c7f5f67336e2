"""Public doubles for tests of what is built on Memstrata: a clock that is moved, a predictable distiller and embedder."""

from memstrata.testing.clock import FakeClock
from memstrata.testing.distiller import EchoDistiller
from memstrata.testing.hash_embedder import HashEmbedder

__all__ = ["EchoDistiller", "FakeClock", "HashEmbedder"]
