"""Conflicts with a model: one question about all drafts of a batch, none where nothing is alike.

The model names aliases and proposes texts; `verdicts` hears only what was shown, `settle` makes decisions of it.
"""

from __future__ import annotations

from typing import assert_never

from memstrata.distill.atoms.comparison import comparison
from memstrata.distill.atoms.resolve_prompt import RESOLVE_SYSTEM
from memstrata.distill.atoms.settle import settle
from memstrata.distill.atoms.verdicts import VerdictItem, Verdicts, read_verdicts, shape_of
from memstrata.distill.calls import Aliases, CallSettings, failed, provenance
from memstrata.distill.protocol import Decision, Decisions, ResolveRequest
from memstrata.llm import Asked, Chat, ChatMessage, ChatRequest, Items, Nothing, ask
from memstrata.records import Poison, Provenance, Retry, Usage

__all__ = ["resolve_with_model"]


async def resolve_with_model(chat: Chat, request: ResolveRequest, settings: CallSettings) -> Decisions | Retry | Poison:
    """Return one decision per draft, then the revisions of memories that hold a value which has changed."""
    if not request.alike and not any(request.candidates):
        stored = tuple(Decision("store", draft) for draft in request.drafts)
        return Decisions(stored, provenance("l1", settings, None, "", Usage()))
    known = Aliases("m", (row.seq for row in request.pool))
    new = Aliases("n", range(len(request.drafts)))
    asked = await ask(
        chat,
        ChatRequest(
            role="resolve",
            system=RESOLVE_SYSTEM,
            messages=(ChatMessage("user", comparison(request, known, new, settings.zone)),),
            max_tokens=settings.max_tokens,
            timeout_seconds=settings.timeout_seconds,
        ),
        shape_of(new),
    )
    match asked.outcome:
        case Items(items=items):
            heard = read_verdicts(items, known, new)
        case Nothing():
            heard = Verdicts()
        case Retry() | Poison() as outcome:
            return failed(outcome, _made(asked, settings))
        case _:
            assert_never(asked.outcome)
    decisions = settle(request, heard, settings)
    return Decisions(decisions, _made(asked, settings, heard.stray))


def _made(asked: Asked[VerdictItem], settings: CallSettings, stray: int = 0) -> Provenance:
    model = next((one.model for one in reversed(asked.attempts) if one.model), "")
    notes = [f"asked again: {one.error.partition(':')[0]}" for one in asked.attempts[:-1]]
    if stray:
        notes.append(f"{stray} decisions about memories that are not new")
    return provenance("l1", settings, None, model, asked.usage, notes)
