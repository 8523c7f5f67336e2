"""The one way to search: query in, scored rows out."""

from memstrata.search.retrieve import MEMORIES, MESSAGES, retrieve

__all__ = ["MEMORIES", "MESSAGES", "retrieve"]
