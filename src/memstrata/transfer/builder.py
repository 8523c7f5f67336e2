"""Collects what a reader finds into an `ImportFile`; the rules that hold for every format are kept here, once.

- messages of one session id belong together, wherever they stand in the file;
- a message of blanks is left out, and so is one that repeats an earlier one of its session word for word under the
  same id (two exports joined into one file);
- lone surrogates, which UTF-8 and therefore no store can hold, become U+FFFD;
- sessions are ordered by their first time, because memory must learn the older value first and some programs export
  the newest conversation first. A session without time stays behind the one it follows in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace

from memstrata.clock import EARLIEST, Instant
from memstrata.records import Role
from memstrata.transfer import identity
from memstrata.transfer.conversation import ImportedMessage, ImportedSession, ImportFile, SkipReason

__all__ = ["ImportBuilder", "SessionBuilder"]

_SURROGATE = re.compile("[\ud800-\udfff]")


class ImportBuilder:
    """A file being read."""

    def __init__(self, format: str) -> None:  # noqa: A002 - the word that ImportFile and the command line use
        self._format = format
        self._sessions: list[SessionBuilder] = []
        self._by_id: dict[str, SessionBuilder] = {}
        self._skipped: Counter[str] = Counter()

    def session(self, session_id: str | None, title: str = "") -> SessionBuilder:
        """Return the session of that id, or a new one if there is none yet or it has no id."""
        session_id = _well_formed(session_id or "").strip()
        session = self._by_id.get(session_id) if session_id else None
        if session is None:
            session = SessionBuilder(self, session_id, _well_formed(title).strip())
            self._sessions.append(session)
            if session_id:
                self._by_id[session_id] = session
        return session

    def skip(self, reason: SkipReason, count: int = 1) -> None:
        """Count something that is left out."""
        if count:
            self._skipped[reason] += count

    def build(self) -> ImportFile:
        """Return what was collected. Sessions without messages are gone."""
        openings: Counter[str] = Counter()
        sessions = []
        for session in self._sessions:
            if not session.messages:
                continue
            built = ImportedSession(session.session_id, session.title, tuple(session.messages))
            sessions.append(built if built.session_id else _named(built, openings))
        return ImportFile(self._format, tuple(_oldest_first(sessions)), dict(self._skipped))


class SessionBuilder:
    """A session being read."""

    def __init__(self, file: ImportBuilder, session_id: str, title: str) -> None:
        self.session_id = session_id
        self.title = title
        self.messages: list[ImportedMessage] = []
        self._file = file
        self._named: set[tuple[str, Role, str]] = set()

    def add(self, role: Role, content: str, said_at: Instant | None = None, message_id: str | None = None) -> None:
        """Append a message, unless it is blank or repeats one."""
        content = _well_formed(content)
        message_id = _well_formed(message_id or "").strip() or None
        if not content.strip():
            self._file.skip("empty message")
            return
        if message_id is not None:
            name = (message_id, role, content)
            if name in self._named:
                self._file.skip("repeated message")
                return
            self._named.add(name)
        self.messages.append(ImportedMessage(role, content, said_at, message_id))


def _named(session: ImportedSession, openings: Counter[str]) -> ImportedSession:
    first = identity.session_id(session.title, session.messages[0], 0)
    occurrence = openings[first]
    openings[first] += 1
    return replace(session, session_id=identity.session_id(session.title, session.messages[0], occurrence))


def _oldest_first(sessions: list[ImportedSession]) -> list[ImportedSession]:
    keyed = []
    latest = EARLIEST
    for session in sessions:
        latest = next((m.said_at for m in session.messages if m.said_at is not None), latest)
        keyed.append((latest, session))
    return [session for _, session in sorted(keyed, key=lambda pair: pair[0])]


def _well_formed(text: str) -> str:
    return _SURROGATE.sub("\ufffd", text)
