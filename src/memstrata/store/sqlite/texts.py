"""Stored texts of all scopes, and writing over them. See `store.texts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import apsw

from memstrata.clock import day_of
from memstrata.records import Profile
from memstrata.store.sqlite.connection import query
from memstrata.store.sqlite.conversations import message_terms
from memstrata.store.sqlite.counts import KeptCounts
from memstrata.store.sqlite.erasure_reach import Reach
from memstrata.store.sqlite.erasure_removal import Removal
from memstrata.store.sqlite.memories import content_hash, memory_terms
from memstrata.store.sqlite.proxy.erasure import ProxyErasure
from memstrata.store.sqlite.vectors import index_keys
from memstrata.store.texts import StoredText, TextLayer

__all__ = ["SqliteTexts"]

_PAGES: Final[Mapping[TextLayer, str]] = {
    "message": """
SELECT m.seq, c.instance, c.team, c.agent, c.user, m.message_id, 0, m.content
FROM messages m JOIN scopes c ON c.id = m.scope_id WHERE m.seq > ? ORDER BY m.seq LIMIT ?
""",
    "memory": """
SELECT m.seq, c.instance, c.team, c.agent, c.user, m.memory_id, m.version, m.content, m.scene_name,
  coalesce(json_extract(m.metadata, '$.replaced'), '')
FROM memories m JOIN scopes c ON c.id = m.scope_id WHERE m.seq > ? ORDER BY m.seq LIMIT ?
""",
    "document": """
SELECT d.seq, p.instance, p.team, p.agent, p.user, d.path, d.version, d.body, d.summary
FROM documents d JOIN profiles p ON p.id = d.profile_id WHERE d.seq > ? ORDER BY d.seq LIMIT ?
""",
    "prompt": """
SELECT id, instance, '', '', '', prompt_id, version, text FROM prompts WHERE id > ? ORDER BY id LIMIT ?
""",
}
_OVERWRITE_MESSAGE = "UPDATE messages SET content = ? WHERE seq = ?"
_OVERWRITE_MEMORY = """
UPDATE memories SET content = ?, content_hash = ?, scene_name = ?,
  metadata = CASE WHEN ?4 = '' THEN metadata ELSE json_set(metadata, '$.replaced', ?4) END WHERE seq = ?5
"""
_OVERWRITE_DOCUMENT = "UPDATE documents SET body = ?, summary = ? WHERE seq = ?"
_OVERWRITE_PROMPT = "UPDATE prompts SET text = ? WHERE id = ?"
_MESSAGE = "SELECT scope_id, recorded_at FROM messages WHERE seq = ?"
_MEMORY = "SELECT scope_id, updated_at, valid_to IS NULL FROM memories WHERE seq = ?"
_DOCUMENT = "SELECT profile_id, valid_to IS NULL FROM documents WHERE seq = ?"
_STALE = """
INSERT INTO mirror_stale (kind, instance, name) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET marks = marks + 1
"""


class SqliteTexts:
    """See `store.texts.Texts`."""

    def __init__(self, connection: apsw.Connection, kept: KeptCounts) -> None:
        self._db = connection
        self._message_terms = message_terms(connection, kept)
        self._memory_terms = memory_terms(connection, kept)
        self._removal = Removal(connection, kept)
        self._proxy = ProxyErasure(connection)

    def page(self, layer: TextLayer, after_seq: int, limit: int) -> tuple[StoredText, ...]:
        return tuple(
            StoredText(layer, row[0], Profile(*row[1:5]), row[5], row[6], tuple(row[7:]))
            for row in query(self._db, _PAGES[layer], (after_seq, limit))
        )

    def overwrite(self, row: StoredText, texts: Sequence[str], terms: Sequence[str]) -> None:
        match row.layer:
            case "message":
                self._message(row, texts[0], terms)
            case "memory":
                self._memory(row, texts, terms)
            case "document":
                ((profile, is_live),) = query(self._db, _DOCUMENT, (row.seq,))
                self._db.execute(_OVERWRITE_DOCUMENT, (*texts, row.seq))
                self._db.execute(_STALE, ("profile", row.owner.instance, str(profile)))
                reach = Reach(documents={row.seq: bool(is_live)})
                self._removal.silence(reach)
                self._proxy.remove(reach)
            case "prompt":
                self._db.execute(_OVERWRITE_PROMPT, (texts[0], row.seq))

    def index_keys(self, row: StoredText) -> tuple[str, ...]:
        if row.layer not in ("message", "memory"):
            return ()
        sql = _MESSAGE if row.layer == "message" else _MEMORY
        return index_keys(found[0] for found in query(self._db, sql, (row.seq,)))

    def _message(self, row: StoredText, content: str, terms: Sequence[str]) -> None:
        ((scope_id, recorded_at),) = query(self._db, _MESSAGE, (row.seq,))
        self._db.execute(_OVERWRITE_MESSAGE, (content, row.seq))
        self._message_terms.remove(row.seq)
        self._message_terms.add(scope_id, row.seq, terms)
        self._db.execute("DELETE FROM message_vectors WHERE seq = ?", (row.seq,))
        self._db.execute(_STALE, ("conversations", row.owner.instance, day_of(recorded_at)))
        self._removal.silence(Reach(messages=frozenset({row.seq})))

    def _memory(self, row: StoredText, texts: Sequence[str], terms: Sequence[str]) -> None:
        content, scene_name, replaced = texts
        ((scope_id, updated_at, is_live),) = query(self._db, _MEMORY, (row.seq,))
        self._db.execute(_OVERWRITE_MEMORY, (content, content_hash(content), scene_name, replaced, row.seq))
        if is_live:
            self._memory_terms.remove(row.seq)
            self._memory_terms.add(scope_id, row.seq, terms)
        self._db.execute("DELETE FROM memory_vectors WHERE seq = ?", (row.seq,))
        self._db.execute(_STALE, ("records", row.owner.instance, day_of(updated_at)))
        reach = Reach(memories={row.seq: bool(is_live)})
        self._removal.silence(reach)
        self._proxy.remove(reach)
