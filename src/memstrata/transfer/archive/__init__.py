"""Our own export: everything of an instance, a user or a scope, as a stream of lines, and its way back in."""

from memstrata.transfer.archive.archives import Archives
from memstrata.transfer.archive.lines import is_archive

__all__ = ["Archives", "is_archive"]
