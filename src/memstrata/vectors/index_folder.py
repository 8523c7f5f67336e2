"""The files of large scopes' indexes in one folder. They may be lost at any time: all that is in them is in the store.

So a failure here is counted and told, never raised, and costs no more than the time to build an index again.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from pathlib import Path

from memstrata.vectors.index_file import Stored, Unusable, read_index, write_index

__all__ = ["IndexFolder"]

logger = logging.getLogger(__name__)


class IndexFolder:
    """Files by scope key, for vectors of one embedder. Without a folder nothing is kept. Safe for threads."""

    def __init__(self, folder: Path | None, embedder: str, dimensions: int) -> None:
        self._folder = folder
        self._embedder = embedder
        self._dimensions = dimensions
        self._lock = threading.Lock()
        self.failures = 0
        self.last_failure = ""

    def read(self, scope_key: str) -> Stored | None:
        """Return what is kept of a scope, or None if that is nothing usable."""
        if self._folder is None:
            return None
        found = read_index(self._file(self._folder, scope_key), self._embedder, self._dimensions)
        if isinstance(found, Unusable):
            logger.info("an index is built, because of its file %s", found.reason)
            return None
        return found

    def write(self, scope_key: str, stored: Stored) -> bool:
        """Keep an index, and return whether it is kept."""
        if self._folder is None:
            return False
        try:
            write_index(self._file(self._folder, scope_key), self._embedder, stored)
        except OSError as error:
            self.failed("an index file could not be written", error)
            return False
        return True

    def delete(self, scope_key: str) -> None:
        """Delete what is kept of a scope."""
        if self._folder is None:
            return
        try:
            self._file(self._folder, scope_key).unlink(missing_ok=True)
        except OSError as error:
            self.failed("an index file could not be deleted", error)

    def clear(self) -> None:
        """Delete what is kept of all scopes, of whatever embedder."""
        if self._folder is None:
            return
        try:
            for file in self._folder.glob("*.vectors*"):
                file.unlink(missing_ok=True)
        except OSError as error:
            self.failed("index files could not be deleted", error)

    def failed(self, what: str, error: Exception) -> None:
        """Count a failure and tell it. The log has its kind alone; its text may name paths."""
        logger.warning("%s: %s", what, type(error).__name__)
        with self._lock:
            self.failures += 1
            self.last_failure = f"{what}: {type(error).__name__}: {error}"

    def _file(self, folder: Path, scope_key: str) -> Path:
        """Return the file of a scope. Its name tells nothing, and no scope key can make it lie elsewhere."""
        return folder / f"{hashlib.sha256(scope_key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.vectors"
