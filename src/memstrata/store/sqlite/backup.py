"""Copies of a database that is in use, and their way back into a folder.

The lock of a data folder keeps a second writer out; a reader beside the writer is what SQLite's own locks are for. So a
backup needs no server: it reads one snapshot by SQLite's backup, and everything that was acknowledged before is in it.

The file is a gzipped tar of two members: `manifest.json` and the database. Vectors are left out, they are made anew; so
is what the readable files hold, because they are written anew too.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Annotated, Final

import apsw
import msgspec
from filelock import FileLock, Timeout
from msgspec import Meta

from memstrata.clock import Clock, Instant
from memstrata.errors import Conflict, InvalidRequest, Misconfigured, NotFound
from memstrata.store.sqlite.connection import open_reader, query
from memstrata.store.sqlite.errors import translated
from memstrata.store.sqlite.migrations import newest_version
from memstrata.store.sqlite.store import DATABASE_NAME, LOCK_NAME, OWNER_NAME

__all__ = ["BackupManifest", "back_up", "read_manifest", "restore"]

_FORMAT: Final = 1
_MANIFEST: Final = "manifest.json"
_MOST_MANIFEST: Final = 64 << 10
_PAGES: Final = 2_000
_CHUNK: Final = 1 << 20
_STAYS: Final = frozenset({LOCK_NAME, OWNER_NAME, "memstrata.toml"})
_LEFT_OUT: Final = (
    "memory_vectors",
    "message_vectors",
    "vector_models",
    "mirror_positions",
    "mirror_files",
    "mirror_stale",
)
_CHANGED: Final = (
    # Whoever runs these jobs runs them for the original.
    "UPDATE jobs SET lease_until = 0, worker = '' WHERE lease_until > 0",
    "INSERT INTO mirror_stale (kind, instance, name) SELECT 'profile', instance, id FROM profiles",
)
_COUNTS: Final = """
SELECT (SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM messages), (SELECT count(*) FROM memories)
"""
_AUDIT: Final = "SELECT seq, lower(hex(hash)) FROM audit ORDER BY seq DESC LIMIT 1"


class BackupManifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup says of itself. `sha256` and `bytes` are of the database in it."""

    memstrata_backup: int
    created_at: Instant
    schema: Annotated[int, Meta(ge=1)]
    sha256: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
    bytes: Annotated[int, Meta(ge=512)]
    messages: int
    memories: int
    audit_rows: int  # where the audit trail ended, and the hash of its last row in hex; '' where it had not begun
    audit_hash: Annotated[str, Meta(pattern="^[0-9a-f]*$", max_length=64)]


def back_up(folder: Path, target: Path, clock: Clock) -> BackupManifest:
    """Write a backup of the database in `folder` to `target`, which is there when it is whole and not before.

    Raises NotFound if there is no database, Conflict if `target` is there, Unavailable, Misconfigured, OSError.
    """
    source = folder / DATABASE_NAME
    if not source.exists():
        raise NotFound(f"{folder} holds no database")
    if target.exists():
        raise Conflict(f"{target} exists; a backup is never overwritten")
    with tempfile.TemporaryDirectory(prefix=".memstrata-backup-", dir=target.parent) as work:
        copy, partial = Path(work) / DATABASE_NAME, Path(work) / target.name
        with translated(f"back up {source}"):
            manifest = _copied(source, copy, clock.now())
        _pack(copy, partial, manifest)
        partial.replace(target)
    return manifest


def read_manifest(file: Path) -> BackupManifest:
    """Read what a backup says of itself; the database in it is not looked at. Raises InvalidRequest, OSError."""
    with _opened(file) as (manifest, _):
        return manifest


def restore(file: Path, folder: Path, *, force: bool, moved_aside: Path) -> BackupManifest:
    """Put the database of a backup into `folder`, after checking every byte of it.

    A folder that holds anything is refused; with `force` all that is in it goes to `moved_aside`, nothing is deleted.
    Raises InvalidRequest for what is no whole backup, Conflict, Misconfigured if a newer program wrote it or the folder is
    in use, OSError.
    """
    folder.mkdir(0o700, parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_NAME, thread_local=False)
    try:
        lock.acquire(timeout=0.3)
    except Timeout:
        raise Misconfigured(f"{folder} is in use by another process; stop it first") from None
    try:
        present = [path for path in folder.iterdir() if path.name not in _STAYS]
        if present and not force:
            raise Conflict(f"{folder} is not empty; with --force, what is in it is moved aside first")
        with tempfile.TemporaryDirectory(prefix=".memstrata-restore-", dir=folder) as work:
            database = Path(work) / DATABASE_NAME
            with _opened(file) as (manifest, data):
                _unpack(data, manifest, database, file)
            _check(database, manifest, file)
            if present:
                moved_aside.mkdir(0o700, parents=True)
                for path in present:
                    shutil.move(path, moved_aside / path.name)
            database.replace(folder / DATABASE_NAME)
            _sync(folder)
    finally:
        lock.release()
    return manifest


def _copied(source: Path, copy: Path, now: Instant) -> BackupManifest:
    reader = open_reader(source)
    try:
        # A snapshot that is held: writes that come meanwhile neither show in the copy nor make it begin again.
        reader.execute("BEGIN")
        query(reader, "SELECT 1 FROM sqlite_schema LIMIT 1")
        database = apsw.Connection(str(copy))
        try:
            with database.backup("main", reader, "main") as backup:
                while not backup.done:
                    backup.step(_PAGES)
            query(database, "PRAGMA journal_mode = DELETE")
            query(database, "PRAGMA foreign_keys = OFF")
            with database:
                # An older database has not all of them.
                tables = {row[0] for row in query(database, "SELECT name FROM sqlite_schema WHERE type = 'table'")}
                for table in _LEFT_OUT:
                    if table in tables:
                        query(database, f"DELETE FROM {table}")
                for statement in _CHANGED:
                    query(database, statement)
            query(database, "VACUUM")
            schema, messages, memories = query(database, _COUNTS)[0]
            audit_rows, audit_hash = next(iter(query(database, _AUDIT) if "audit" in tables else []), (0, ""))
        finally:
            database.close()
    finally:
        reader.close()
    with copy.open("rb") as data:
        digest = hashlib.file_digest(data, "sha256").hexdigest()
    return BackupManifest(_FORMAT, now, schema, digest, copy.stat().st_size, messages, memories, audit_rows, audit_hash)


def _pack(database: Path, target: Path, manifest: BackupManifest) -> None:
    data = msgspec.json.encode(manifest)
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as out:
        with (
            gzip.GzipFile(fileobj=out, mode="wb", compresslevel=3, filename="", mtime=0) as packed,
            tarfile.open(fileobj=packed, mode="w|") as tar,
        ):
            tar.addfile(_member(_MANIFEST, len(data)), io.BytesIO(data))
            with database.open("rb") as content:
                tar.addfile(_member(DATABASE_NAME, manifest.bytes), content)
        out.flush()
        os.fsync(out.fileno())


def _member(name: str, size: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    return member


@contextmanager
def _opened(file: Path) -> Iterator[tuple[BackupManifest, IO[bytes]]]:
    """Open a backup: what it says of itself, and its database as a stream. Members are read, never extracted by name."""
    try:
        with tarfile.open(file, "r|gz") as tar:
            data = _next(tar, _MANIFEST, _MOST_MANIFEST).read()
            manifest = msgspec.json.decode(data, type=BackupManifest)
            if manifest.memstrata_backup != _FORMAT:
                raise InvalidRequest(f"{file}: backup format {manifest.memstrata_backup}, this program reads {_FORMAT}")
            yield manifest, _next(tar, DATABASE_NAME, manifest.bytes)
    except (tarfile.TarError, gzip.BadGzipFile, EOFError, msgspec.DecodeError, zlib.error) as error:
        raise InvalidRequest(f"{file} is no whole backup ({error})") from error


def _next(tar: tarfile.TarFile, name: str, most: int) -> IO[bytes]:
    member = tar.next()
    data = tar.extractfile(member) if member is not None and member.isreg() and member.name == name else None
    if member is None or data is None or member.size > most:
        raise tarfile.ReadError(f"no {name}")
    return data


def _unpack(data: IO[bytes], manifest: BackupManifest, target: Path, file: Path) -> None:
    digest = hashlib.sha256()
    with target.open("xb") as out:
        while chunk := data.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
        out.flush()
        os.fsync(out.fileno())
    if digest.hexdigest() != manifest.sha256:
        raise InvalidRequest(f"{file} is damaged: the database in it is not the one that was backed up")


def _check(database: Path, manifest: BackupManifest, file: Path) -> None:
    if manifest.schema > newest_version():
        raise Misconfigured(
            f"{file} was written by a newer Memstrata (schema {manifest.schema}, this program knows {newest_version()})"
        )
    with translated(f"check {file}"):
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            found = query(connection, "PRAGMA integrity_check(1)") + query(connection, "PRAGMA foreign_key_check")
        finally:
            connection.close()
    if found != [("ok",)]:
        raise InvalidRequest(f"{file} is damaged: {found[0][0]}")


def _sync(folder: Path) -> None:
    with suppress(OSError):  # not every system can; the rename is done all the same
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
