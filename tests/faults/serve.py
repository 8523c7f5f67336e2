"""A server that fault tests start, hold and kill: distilling without a model, in a process of its own.

`python serve.py FOLDER` prints `{"url": …}` once requests are accepted, as `memstrata serve --json` does. With
`--hold STAGE`, calls of that stage which see the word `holdfast` print `held STAGE` and never end, so that a test knows
the moment at which it strikes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from memstrata.distill.protocol import (
    Decisions,
    Extraction,
    MessageBatch,
    PersonaDraft,
    PersonaRequest,
    ResolveRequest,
    SceneDraft,
    SceneRequest,
)
from memstrata.errors import Misconfigured
from memstrata.memory import Memory
from memstrata.records import Poison, Retry
from memstrata.server import serve
from memstrata.settings import MirrorSettings, PipelineSettings, ServerSettings, Settings
from memstrata.testing import EchoDistiller

HELD = "holdfast"


class HeldDistiller(EchoDistiller):
    """Never comes back from one stage when it is shown the word `holdfast`."""

    def __init__(self, stage: str) -> None:
        super().__init__()
        self._stage = stage

    async def extract(self, batch: MessageBatch) -> Extraction | Retry | Poison:
        await self._hold("extract", [message.content for message in batch.messages])
        return await super().extract(batch)

    async def resolve(self, request: ResolveRequest) -> Decisions | Retry | Poison:
        await self._hold("resolve", [draft.content for draft in request.drafts])
        return await super().resolve(request)

    async def consolidate(self, request: SceneRequest) -> SceneDraft | Retry | Poison:
        await self._hold("consolidate", [memory.content for memory in request.memories])
        return await super().consolidate(request)

    async def portray(self, request: PersonaRequest) -> PersonaDraft | Retry | Poison:
        await self._hold("portray", [memory.content for view in request.scenes for memory in view.memories])
        return await super().portray(request)

    async def _hold(self, stage: str, texts: Sequence[str]) -> None:
        if stage == self._stage and any(HELD in text for text in texts):
            print(f"held {stage}", flush=True)
            await asyncio.Event().wait()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--hold", default="")
    parser.add_argument("--shutdown-seconds", type=float, default=10.0)
    parser.add_argument("--l2-seconds", type=float, default=0.0)
    given = parser.parse_args()
    settings = Settings(
        data_dir=given.folder,
        server=ServerSettings(port=0, shutdown_seconds=given.shutdown_seconds),
        # Short waits, so that a kill meets every layer at work.
        pipeline=PipelineSettings(
            l2_delay_seconds=given.l2_seconds,
            l2_min_interval_seconds=given.l2_seconds,
            lease_seconds=2.0,
            retry_seconds=0.1,
        ),
        mirror=MirrorSettings(interval_seconds=0.05),
    )
    try:
        serve(
            lambda: Memory.open(settings=settings, distiller=HeldDistiller(given.hold)),
            settings.server,
            on_ready=lambda url: print(json.dumps({"url": url}), flush=True),
        )
    except Misconfigured as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
