"""What lies beside the rows and still holds what was deleted from them: the write-ahead log, copies from before an upgrade.

SQLite writes the log back when it has grown, not when something was deleted; until then a page lies in it as it was.
"""

from __future__ import annotations

import logging
from contextlib import closing
from pathlib import Path

import apsw

from memstrata.store.sqlite.connection import query

__all__ = ["drop_leftovers"]

_LOG = logging.getLogger(__name__)
# Whoever writes waits as long: for one transaction that is under way, not for a reader that takes its time.
_BUSY_MILLISECONDS = 200


def drop_leftovers(file: Path) -> bool:
    """Write the log of a database back and empty it; delete older copies of the file. False while a reader needs the log.

    Raises apsw errors and OSError.
    """
    with closing(apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        # Where others are reading too, this connection must not be the one that empties the log on closing.
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        is_busy = bool(query(connection, "PRAGMA wal_checkpoint(TRUNCATE)")[0][0])
    if is_busy:
        return False
    for copy in file.parent.glob(f"{file.name}.before-schema-*"):
        copy.unlink(missing_ok=True)
        _LOG.warning("%s was deleted: it held what was to be forgotten", copy.name)
    return True
