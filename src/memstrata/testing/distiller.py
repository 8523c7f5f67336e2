"""A distiller whose every answer can be predicted, paused and made to fail."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from memstrata.distill.protocol import (
    Decision,
    Decisions,
    Extraction,
    MessageBatch,
    PersonaDraft,
    PersonaRequest,
    ResolveRequest,
    SceneDraft,
    SceneRequest,
    SceneWrite,
)
from memstrata.records import MemoryDraft, Origin, Poison, Retry

__all__ = ["EchoDistiller", "Stage"]

Stage = Literal["extract", "resolve", "consolidate", "portray"]


class EchoDistiller:
    """Every user message becomes one episodic memory with its very text; all memories go into `notes.md`.

    `fail` queues failures for a stage, one per call; `paused` holds a stage's calls until the block ends; `calls` counts.
    """

    origin: Origin = "model"

    def __init__(self) -> None:
        self.calls: dict[Stage, int] = {"extract": 0, "resolve": 0, "consolidate": 0, "portray": 0}
        self.seen: list[str] = []  # contents of all messages that extract was shown, in order
        self._failures: dict[Stage, deque[Retry | Poison | Exception]] = {stage: deque() for stage in self.calls}
        self._gates: dict[Stage, asyncio.Event] = {}

    def fail(self, stage: Stage, *failures: Retry | Poison | Exception) -> None:
        """Let the next calls of a stage fail, in this order."""
        self._failures[stage].extend(failures)

    @contextmanager
    def paused(self, stage: Stage) -> Iterator[None]:
        """Hold calls of a stage until the block ends."""
        gate = self._gates[stage] = asyncio.Event()
        try:
            yield
        finally:
            gate.set()
            self._gates.pop(stage, None)

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison:
        failure = await self._enter("extract")
        if failure is not None:
            return failure
        self.seen += [message.content for message in batch.messages]
        drafts = tuple(
            MemoryDraft(message.content, "episodic", 80, (message.seq,), scene_name="notes")
            for message in batch.messages
            if message.role == "user"
        )
        return Extraction(drafts, "notes")

    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison:
        failure = await self._enter("resolve")
        if failure is not None:
            return failure
        return Decisions(tuple(Decision("store", draft) for draft in request.drafts))

    async def consolidate(self, request: SceneRequest) -> SceneDraft | Retry | Poison:
        failure = await self._enter("consolidate")
        if failure is not None:
            return failure
        memories = {m.seq: m for view in request.scenes for m in view.memories} | {m.seq: m for m in request.memories}
        body = "\n".join(f"- {memories[seq].content}" for seq in sorted(memories, reverse=True))
        write = SceneWrite("notes.md", body[:1500], f"{len(memories)} notes", tuple(sorted(memories)))
        return SceneDraft((write,))

    async def portray(self, request: PersonaRequest) -> PersonaDraft | Retry | Poison:
        failure = await self._enter("portray")
        if failure is not None:
            return failure
        seqs = tuple(sorted({memory.seq for view in request.scenes for memory in view.memories}))
        return PersonaDraft(f"A person with {len(seqs)} notes.", seqs)

    async def _enter(self, stage: Stage) -> Retry | Poison | None:
        self.calls[stage] += 1
        if stage in self._gates:
            await self._gates[stage].wait()
        if not self._failures[stage]:
            return None
        failure = self._failures[stage].popleft()
        if isinstance(failure, Exception):
            raise failure
        return failure
