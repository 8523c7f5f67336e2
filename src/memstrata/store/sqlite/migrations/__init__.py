"""The schema, as numbered SQL files that are applied in order and never edited once released.

A database remembers how many it has had (`user_version`). One that has had more than this program knows is refused;
before an existing one is changed, a copy is kept beside it.

Programs before schema 4 did not write over what they deleted. Their files are written anew once, or the receipt of
something forgotten would promise more than is true; only then are the steps taken, so that a break in between repeats it.
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import apsw

from memstrata.errors import Misconfigured
from memstrata.store.sqlite.connection import query

__all__ = ["migrate", "newest_version"]

_OVERWRITTEN_SINCE = 4


def _scripts() -> list[tuple[int, str]]:
    files = [f for f in resources.files(__package__).iterdir() if f.name.endswith(".sql")]
    return sorted((int(f.name.split("_")[0]), f.read_text(encoding="utf-8")) for f in files)


def newest_version() -> int:
    """Return the schema version that this program writes."""
    return _scripts()[-1][0]


def migrate(connection: apsw.Connection, file: Path) -> None:
    """Bring the database to the newest schema, each step in a transaction of its own. Raises Misconfigured."""
    scripts = _scripts()
    version = _version(connection)
    if version > scripts[-1][0]:
        raise Misconfigured(
            f"{file} was written by a newer Memstrata (schema {version}, this program knows {scripts[-1][0]}); upgrade"
        )
    if 0 < version < scripts[-1][0]:
        _copy(connection, file.with_name(f"{file.name}.before-schema-{scripts[-1][0]}"))
        if version < _OVERWRITTEN_SINCE:
            _write_anew(connection)
    for number, script in scripts:
        if number > version:
            with connection:
                for statement in _statements(script):
                    query(connection, statement)
                query(connection, f"PRAGMA user_version = {number}")


def _version(connection: apsw.Connection) -> int:
    return int(query(connection, "PRAGMA user_version")[0][0])


def _statements(script: str) -> list[str]:
    """Split at semicolons that end a statement. SQLite itself says when one is complete."""
    done: list[str] = []
    current = ""
    for line in script.splitlines(keepends=True):
        current += line
        if apsw.complete(current):
            done.append(current)
            current = ""
    return done


def _write_anew(connection: apsw.Connection) -> None:
    (before,) = query(connection, "PRAGMA temp_store")[0]
    query(connection, "PRAGMA temp_store = FILE")  # as large as the database: not into memory
    query(connection, "VACUUM")
    query(connection, f"PRAGMA temp_store = {before}")


def _copy(connection: apsw.Connection, target: Path) -> None:
    copy = apsw.Connection(str(target))
    try:
        with copy.backup("main", connection, "main") as backup:
            while not backup.done:
                backup.step(1_000)
    finally:
        copy.close()
