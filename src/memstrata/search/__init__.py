"""Finding rows: by words and by meaning, through one function."""

from memstrata.search.adjacency import MAX_NEIGHBOURS, with_neighbours
from memstrata.search.collection import MEMORIES, MESSAGES, Collection
from memstrata.search.finder import Finder
from memstrata.search.meaning import Meaning

__all__ = ["MAX_NEIGHBOURS", "MEMORIES", "MESSAGES", "Collection", "Finder", "Meaning", "with_neighbours"]
