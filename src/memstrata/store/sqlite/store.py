"""One SQLite file as a store: a lock that keeps a second process out, a writer, readers."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw
from filelock import FileLock, Timeout

from memstrata.errors import Misconfigured
from memstrata.records import ComponentHealth
from memstrata.records.archive import ArchiveSelection
from memstrata.records.audit import AuditEntry
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.archive.reader import ArchiveReader
from memstrata.store.sqlite.archive.writer import ArchiveWriter
from memstrata.store.sqlite.audit import SqliteAudit
from memstrata.store.sqlite.checkup import LARGE_BYTES, Checkup, check
from memstrata.store.sqlite.connection import open_writer, query
from memstrata.store.sqlite.conversations import SqliteConversations
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.directory.agents import SqliteAgents
from memstrata.store.sqlite.directory.assets import SqliteAssets
from memstrata.store.sqlite.directory.members import SqliteMembers
from memstrata.store.sqlite.directory.params import SqliteParams
from memstrata.store.sqlite.directory.tasks import SqliteTasks
from memstrata.store.sqlite.directory.teams import SqliteTeams
from memstrata.store.sqlite.directory.user_keys import SqliteUserKeys
from memstrata.store.sqlite.directory.users import SqliteUsers
from memstrata.store.sqlite.erasure import SqliteErasure
from memstrata.store.sqlite.errors import translated
from memstrata.store.sqlite.forgettings import SqliteForgettings
from memstrata.store.sqlite.generations import SqliteGenerations
from memstrata.store.sqlite.jobs import SqliteJobs
from memstrata.store.sqlite.leftovers import drop_leftovers
from memstrata.store.sqlite.memories import SqliteMemories
from memstrata.store.sqlite.migrations import migrate
from memstrata.store.sqlite.mirror_rows import MirrorRows
from memstrata.store.sqlite.policies import SqlitePolicies
from memstrata.store.sqlite.profiles import SqliteProfiles
from memstrata.store.sqlite.prompts import SqlitePrompts
from memstrata.store.sqlite.proxy import SqliteProxy
from memstrata.store.sqlite.readers import Readers
from memstrata.store.sqlite.restore import Restorer
from memstrata.store.sqlite.scopes import ScopeNumbers, TakenNames
from memstrata.store.sqlite.spending import SqliteSpendings
from memstrata.store.sqlite.texts import SqliteTexts
from memstrata.store.sqlite.vectors import SqliteVectorRows, SqliteVectors
from memstrata.store.sqlite.writer import Writer

__all__ = ["DATABASE_NAME", "LOCK_NAME", "SqliteRepositories", "SqliteStore", "lock_owner"]

DATABASE_NAME = "memstrata.db"
LOCK_NAME = "memstrata.lock"
OWNER_NAME = "memstrata.owner.json"
_LOG = logging.getLogger(__name__)
T = TypeVar("T")


class SqliteRepositories:
    """All repositories of one connection."""

    def __init__(self, connection: apsw.Connection, kept: KeptCounts, taken: TakenNames | None = None) -> None:
        self._scopes = ScopeNumbers(connection, taken)
        self.conversations = SqliteConversations(connection, self._scopes, kept)
        self.memories = SqliteMemories(connection, self._scopes, kept)
        self.profiles = SqliteProfiles(connection, self._scopes)
        self.jobs = SqliteJobs(connection, self._scopes)
        self.prompts = SqlitePrompts(connection)
        self.generations = SqliteGenerations(connection)
        self.spending = SqliteSpendings(connection)
        self.vectors = SqliteVectors(connection, self._scopes)
        self.erasure = SqliteErasure(connection, self._scopes, kept)
        self.forgettings = SqliteForgettings(connection)
        self.policies = SqlitePolicies(connection)
        self.audit = SqliteAudit(connection)
        self.texts = SqliteTexts(connection, kept)
        self.mirror = MirrorRows(connection, self._scopes)
        self.agents = SqliteAgents(connection)
        self.tasks = SqliteTasks(connection)
        self.users = SqliteUsers(connection)
        self.user_keys = SqliteUserKeys(connection)
        self.teams = SqliteTeams(connection)
        self.members = SqliteMembers(connection)
        self.params = SqliteParams(connection)
        self.assets = SqliteAssets(connection)
        self.proxy = SqliteProxy(connection)
        self.restorer = Restorer(connection, self._scopes, kept)
        self.archive = ArchiveWriter(connection, self._scopes, kept)

    def rolled_back(self) -> None:
        """Forget what was read in a transaction that did not happen."""
        self._scopes.forget()
        self.audit.forget_end()

    def tidy(self) -> bool:
        """Join parts of the keyword index; return whether there may be more of them."""
        return any([self.conversations.merge_terms(), self.memories.merge_terms()])


def lock_owner(folder: Path) -> dict[str, str | int] | None:
    """Return who has the folder open (`pid`, `url` of its server if any); None when nobody has."""
    lock = FileLock(folder / LOCK_NAME)
    try:
        with lock.acquire(timeout=0):
            return None
    except Timeout:
        return _read_owner(folder)
    except OSError:
        return None


def _read_owner(folder: Path) -> dict[str, str | int]:
    try:
        owner = json.loads((folder / OWNER_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return owner if isinstance(owner, dict) else {}


class SqliteStore:
    """See `store.protocol.Store`. Open it with `SqliteStore.open`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / DATABASE_NAME
        self._lock = FileLock(folder / LOCK_NAME, thread_local=False)  # taken in one thread, released in another
        self._is_large = self.file.exists() and self.file.stat().st_size > LARGE_BYTES
        self._checkup: Checkup | None = None
        self._kept = KeptCounts()
        self._taken = TakenNames()
        self._writer = Writer(self._connect)
        self._readers = Readers(self.file, lambda connection: SqliteRepositories(connection, self._kept, self._taken))

    @classmethod
    async def open(cls, folder: Path) -> SqliteStore:
        """Open or create the database in `folder`.

        Raises Misconfigured if the folder cannot be used, another process has it open, the file is damaged, or it was
        written by a newer program.
        """
        store = cls(folder)
        await asyncio.to_thread(store._start)
        if store._is_large:
            store._checkup = Checkup(store.file, store._writer.refuse)
        return store

    async def write(self, work: Callable[[Repositories], T]) -> T:
        return await self._writer.write(work)

    async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T:
        return await self._readers.read(work, timeout_seconds)

    async def restore(self, work: Callable[[Restorer], T]) -> T:
        """Run `work` in one transaction on an empty database: for rebuilding it from files."""

        def restoring(r: Repositories) -> T:
            assert isinstance(r, SqliteRepositories)
            return work(r.restorer)

        return await self._writer.write(restoring)

    def archive(self, selection: ArchiveSelection) -> ArchiveReader:
        """Return a snapshot of what an export holds, for one thread. To be closed."""
        return ArchiveReader(self.file, selection)

    async def write_lines(
        self, work: Callable[[ArchiveWriter], T], tell: Callable[[T], AuditEntry | None] = lambda _: None
    ) -> T:
        """Run `work`, which writes lines of an export, in one transaction, with the row of the audit trail that tells of it."""

        def writing(r: Repositories) -> T:
            assert isinstance(r, SqliteRepositories)
            done = work(r.archive)
            entry = tell(done)
            if entry is not None:
                r.audit.append(entry)
            return done

        return await self._writer.write(writing)

    async def drop_copies(self) -> bool:
        self._taken.count += 1
        with translated("drop copies"):
            return await asyncio.to_thread(drop_leftovers, self.file)

    def vector_rows(self, model: int) -> SqliteVectorRows:
        """Return the stored vectors of a model, for indexes that are built in threads of their own. To be closed."""
        return SqliteVectorRows(self.file, model)

    def health(self) -> ComponentHealth:
        return self._writer.health()

    def announce(self, url: str) -> None:
        """Tell other programs where the server of this folder listens."""
        self._write_owner({"pid": os.getpid(), "url": url})

    async def close(self) -> None:
        if self._checkup is not None:
            await self._checkup.stop()
        await self._writer.close()
        await self._readers.close()
        (self.folder / OWNER_NAME).unlink(missing_ok=True)
        self._lock.release()

    def _start(self) -> None:
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)  # a new one is for its owner alone
            self._lock.acquire(timeout=0.3)  # who asks for the owner holds it for an instant
        except Timeout:
            owner = _read_owner(self.folder)
            who = f"process {owner['pid']}" if "pid" in owner else "another process"
            where = f", serving {owner['url']}" if owner.get("url") else ""
            raise Misconfigured(f"{self.folder} is in use by {who}{where}; one process owns a data folder") from None
        except OSError as error:
            raise Misconfigured(f"{self.folder} cannot be used: {error}") from error
        try:
            self._write_owner({"pid": os.getpid()})
            self._writer.start()
        except BaseException:
            self._lock.release()
            raise

    def _connect(self) -> tuple[apsw.Connection, SqliteRepositories]:
        with translated(f"open {self.file}"):
            connection = open_writer(self.file)
            try:
                self._make_ready(connection)
            except BaseException:
                # Closing would write the log into a file that is to stay as it is.
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
                connection.close()
                raise
        return connection, SqliteRepositories(connection, self._kept, self._taken)

    def _make_ready(self, connection: apsw.Connection) -> None:
        if not self._is_large:
            check(connection, self.file)
        migrate(connection, self.file)
        query(connection, "PRAGMA shrink_memory")  # the check has read every page
        # The folder's lock says that whoever held these leases is gone. Dying was not the job's failure.
        connection.execute(
            "UPDATE jobs SET lease_until = 0, worker = '', attempts = max(attempts - 1, 0) WHERE lease_until > 0"
        )

    def _write_owner(self, owner: dict[str, str | int]) -> None:
        try:
            (self.folder / OWNER_NAME).write_text(json.dumps(owner), encoding="utf-8")
        except OSError as error:
            # Only a convenience for other programs; the lock is what protects. A full disk shows itself at the next write.
            _LOG.warning("cannot write %s: %s", OWNER_NAME, error)
