"""Public doubles for tests of what is built on Memstrata: a clock that is moved, a distiller that is predictable."""

from memstrata.testing.clock import FakeClock
from memstrata.testing.distiller import EchoDistiller

__all__ = ["EchoDistiller", "FakeClock"]
