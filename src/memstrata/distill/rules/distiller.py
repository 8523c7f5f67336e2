"""The distiller that needs no model: it keeps what is said in plain words, and says by its origin that this is less.

Each answer loads its rules when it is first asked for: compiling their patterns takes longer than a server's start.
"""

from __future__ import annotations

from datetime import UTC, tzinfo

from memstrata.distill.protocol import (
    Decisions,
    Extraction,
    MessageBatch,
    PersonaDraft,
    PersonaRequest,
    Poison,
    ResolveRequest,
    SceneDraft,
    SceneRequest,
)
from memstrata.records import Origin

__all__ = ["RulesDistiller"]


class RulesDistiller:
    """Implements `Distiller`. Equal input gives equal output; nothing is awaited, nothing is asked.

    `zone` is the users' time zone: it decides which day "yesterday" was.
    """

    origin: Origin = "rules"

    def __init__(self, zone: tzinfo = UTC) -> None:
        self._zone = zone

    async def extract(self, batch: MessageBatch) -> Extraction:
        """Return what the user's messages state in plain words; see `extract`."""
        from memstrata.distill.rules.extract import extract_by_rules

        return extract_by_rules(batch, self._zone)

    async def resolve(self, request: ResolveRequest) -> Decisions:
        """Decide by equal words and equal slots; see `resolve`."""
        from memstrata.distill.rules.resolve import resolve_by_rules

        return resolve_by_rules(request.drafts, request.candidates)

    async def consolidate(self, request: SceneRequest) -> SceneDraft | Poison:
        """Write one scene per theme; see `consolidate`."""
        from memstrata.distill.rules.consolidate import consolidate_by_rules

        return consolidate_by_rules(request, self._zone)

    async def portray(self, request: PersonaRequest) -> PersonaDraft:
        """Write one page about the user; see `portray`."""
        from memstrata.distill.rules.portray import portray_by_rules

        return portray_by_rules(request, self._zone)
