"""Filling a data folder faster than clients could: rows go through the store's own repositories, a thousand a commit.

What is loaded is as it would be had it been said, distilled and mirrored long ago: terms are indexed, every memory cites
the message that says the same, cursors stand at the end, memories are consumed, files are written. So a server that opens
the folder finds nothing to do, and what is measured is not its catching up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.dataset import texts
from memstrata.clock import Instant, SystemClock, milliseconds
from memstrata.records import PERSONA_PATH, NewDocument, NewMemory, NewMessage, Scope
from memstrata.store.mirror import Mirror
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.store import SqliteStore
from memstrata.text.analyser import index_terms

__all__ = ["Loaded", "Said", "load", "new_memory", "new_message", "sessions"]

_ROWS_PER_COMMIT = 1_000
_ROWS_PER_SESSION = 20
_STARTED_AT: Instant = 1_735_689_600_000  # 2025-01-01T00:00:00Z: long before any run
_BETWEEN_MESSAGES = milliseconds(60)
_SCENES = 15  # as many as a profile has by default
_PERSONA_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """How much was written: a row is one message or one memory."""

    rows: int
    seconds: float  # for rows and their terms, without the mirror

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.seconds


@dataclass(frozen=True, slots=True)
class Said:
    """One text with the terms it is found by; `number` is its place among those of its scope."""

    number: int
    text: str
    terms: tuple[str, ...]

    @property
    def at(self) -> Instant:
        return _STARTED_AT + self.number * _BETWEEN_MESSAGES


async def load(folder: Path, scopes: Sequence[Scope], rows: int) -> Loaded:
    """Write `rows` messages and as many memories into each of the scopes, and a full profile for each of their agents.

    The rows of a scope come from `dataset.texts`, whose seed is the scope's position. The folder must be new.
    """
    clock = SystemClock()
    store = await SqliteStore.open(folder)
    try:
        started = time.perf_counter()
        for seed, scope in enumerate(scopes):
            said = (Said(number, text, index_terms(text)) for number, text in enumerate(texts(rows, seed)))
            while batch := list(islice(said, _ROWS_PER_COMMIT)):
                await store.write(_rows(scope, batch))
            await store.write(_profile(scope))
        seconds = time.perf_counter() - started
        await Mirror(store, folder, clock, interval_seconds=1.0).catch_up()
    finally:
        await store.close()
    return Loaded(2 * rows * len(scopes), seconds)


def _rows(scope: Scope, batch: Sequence[Said]) -> Callable[[Repositories], None]:
    """Return the work that writes messages by sessions, and the memory that each of them became."""
    profile = scope.profile("agent")

    def work(r: Repositories) -> None:
        for said in sessions(batch):
            session_id = f"loaded-{said[0].number // _ROWS_PER_SESSION}"
            target = r.conversations.append(scope, session_id, "", [new_message(one) for one in said], said[-1].at)
            stored = r.conversations.undistilled(target, len(said))
            memories = [
                r.memories.add(scope, profile, new_memory(one, f"m_loaded_{message.seq}", session_id, message.seq))
                for one, message in zip(said, stored, strict=True)
            ]
            r.conversations.advance(target, stored[-1].seq, 1, "")
            r.profiles.mark_consumed(profile, [memory.seq for memory in memories])

    return work


def sessions(batch: Sequence[Said]) -> Iterator[Sequence[Said]]:
    """Yield what was said in twenties."""
    for start in range(0, len(batch), _ROWS_PER_SESSION):
        yield batch[start : start + _ROWS_PER_SESSION]


def _profile(scope: Scope) -> Callable[[Repositories], None]:
    """Return the work that gives the scope's agent a persona and scenes of usual length, for recall to carry."""
    profile, paragraph = (
        scope.profile("agent"),
        "The user works on billing and prefers short answers. 用户喜欢简短的回答。\n",
    )
    at = _STARTED_AT

    def work(r: Repositories) -> None:
        body = (paragraph * 40)[:_PERSONA_CHARACTERS]
        for number in range(_SCENES):
            path, summary = f"theme-{number}.md", f"What theme {number} is about, in one line"
            r.profiles.write(profile, NewDocument("scene", path, body, summary, 1, "model", at, at, ()))
        last = r.profiles.write(profile, NewDocument("persona", PERSONA_PATH, body, "", 1, "model", at, at, ()))
        r.profiles.scenes_done(profile, at)
        r.profiles.portrait_done(profile, at, r.memories.size(scope), last.seq)

    return work


def new_message(said: Said) -> NewMessage:
    """Return what a user said."""
    return NewMessage(f"loaded-{said.number}", "user", said.text, said.at, said.at, said.terms)


def new_memory(said: Said, memory_id: str, session_id: str, source: int) -> NewMemory:
    """Return the memory that says the same, citing the message with the seq `source`."""
    return NewMemory(
        memory_id=memory_id,
        version=0,
        content=said.text,
        type="episodic",
        priority=70,
        scene_name="",
        applies_to="always",
        slot="",
        session_id=session_id,
        task_id="",
        origin="model",
        happened_from=None,
        happened_to=None,
        metadata={},
        created_at=said.at,
        updated_at=said.at,
        source_seqs=(source,),
        terms=said.terms,
    )
