"""L2 scenes and L3 personas of an import, version by version."""

from __future__ import annotations

import apsw

from memstrata.records import Profile
from memstrata.records.archive import DocumentLine
from memstrata.store.sqlite.archive.outcome import ADDED, KNOWN, Written, conflict
from memstrata.store.sqlite.archive.renumbering import Numbers, free_number
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.scopes import ScopeNumbers

__all__ = ["DocumentWriter"]

_FIND = "SELECT seq, body, summary FROM documents WHERE profile_id = ? AND kind = ? AND path = ? AND version = ?"
_LIVE = "SELECT 1 FROM documents WHERE profile_id = ? AND kind = ? AND path = ? AND valid_to IS NULL"
_ADD = """
INSERT INTO documents (seq, profile_id, kind, path, version, body, summary, heat, origin, created_at, updated_at, valid_to)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_SOURCE = """
INSERT OR IGNORE INTO document_sources (document_seq, memory_seq) SELECT ?, seq FROM memories WHERE seq = ? AND profile_id = ?
"""
_PORTRAYED = "UPDATE profiles SET portrayed_document = max(portrayed_document, ?) WHERE id = ?"
_STALE = """
INSERT INTO mirror_stale (kind, instance, name) VALUES ('profile', ?, ?) ON CONFLICT DO UPDATE SET marks = marks + 1
"""


class DocumentWriter:
    """See `ArchiveWriter`."""

    def __init__(self, connection: apsw.Connection, scopes: ScopeNumbers) -> None:
        self._db = connection
        self._scopes = scopes

    def document(self, line: DocumentLine, instance: str, numbers: Numbers, *, dry: bool) -> Written:
        d, profile = line, Profile(instance, line.team, line.agent, line.user)
        number = self._scopes.find(profile)
        if number is not None:
            for seq, body, summary in query(self._db, _FIND, (number, d.layer, d.path, d.version)):
                if (body, summary) != (d.body, d.summary):
                    return conflict("another text of this path and version is here")
                numbers.documents.add(d.seq, seq)
                return KNOWN
            if d.valid_to is None and query(self._db, _LIVE, (number, d.layer, d.path)):
                return conflict("another version of it holds here")
        if dry:
            return ADDED
        number, seq = self._scopes.ensure(profile), free_number(self._db, "documents", d.seq)
        row = (
            *(seq, number, d.layer, d.path, d.version, d.body, d.summary, d.heat, d.origin),
            *(d.created_at, d.updated_at, d.valid_to),
        )
        self._db.execute(_ADD, row)
        numbers.documents.add(d.seq, seq)
        sources = [here for one in d.memories if (here := numbers.memories.of(one)) is not None]
        self._db.executemany(_SOURCE, [(seq, one, number) for one in sources])
        if d.portrayed:
            self._db.execute(_PORTRAYED, (seq, number))
        self._db.execute(_STALE, (instance, str(number)))
        return ADDED
