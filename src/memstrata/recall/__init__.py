"""What comes back before a turn."""

from memstrata.recall.recall import MAX_QUERY, Leg, Recaller

__all__ = ["MAX_QUERY", "Leg", "Recaller"]
