"""L1 with a model: from a batch of messages to drafts, over as many calls as its length takes.

All calls succeed or the whole extraction fails with the outcome of the one that did not, so that no message is passed
over (pipeline reference W1). A call that does not fit is divided here only as far as a single message goes; batches of
several messages are divided by whoever made them. `validate.valid_drafts` is the caller's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from memstrata.distill.atoms.extract_prompt import extract_system
from memstrata.distill.atoms.items import MemoryItem, Reader, shape_of
from memstrata.distill.atoms.pieces import Piece, halved, is_of_one_message, loads
from memstrata.distill.atoms.transcript import Shown, Situation, transcript
from memstrata.distill.calls import Aliases, CallSettings, failed, provenance
from memstrata.distill.custom import with_custom
from memstrata.distill.gate import readable
from memstrata.distill.protocol import Extraction, MessageBatch
from memstrata.llm import Asked, Chat, ChatMessage, ChatRequest, Divisible, Items, Nothing, Usage, ask
from memstrata.records import MemoryDraft, Message, Poison, Provenance, Retry
from memstrata.text.language import main_language

__all__ = ["extract_with_model"]

_BACKGROUND = 5  # messages before those of a second or later call


@dataclass(slots=True)
class _Progress:
    """What the calls so far have given."""

    scene: str
    drafts: list[MemoryDraft] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    model: str = ""


async def extract_with_model(chat: Chat, batch: MessageBatch, settings: CallSettings) -> Extraction | Retry | Poison:
    """Return the drafts that the model finds in the batch's messages and the name of the last scene."""
    done = _Progress(batch.previous_scene)
    waiting = deque(loads(batch.messages))
    while waiting:
        pieces = waiting.popleft()
        aliases = _aliases(pieces)
        shown = _shown(batch, pieces, aliases, done.scene, settings)
        reader = Reader(aliases, batch.user_name, settings.mode, settings.zone, shown)
        asked = await _ask(chat, batch, shown, reader, settings)
        _account(done, asked)
        match asked.outcome:
            case Items(items=items, problems=problems):
                done.notes += problems
                _take(done, items, reader)
            case Nothing():
                pass
            case Divisible() as outcome:
                halves = halved(pieces)
                if halves:
                    done.notes.append("a part of a long message was read in halves")
                    waiting.extendleft(reversed(halves))
                elif asked.salvage is not None and is_of_one_message(pieces):
                    done.notes += asked.salvage.problems
                    _take(done, asked.salvage.items, reader)
                else:
                    return failed(outcome, _made(done, batch, settings))
            case Retry() | Poison() as outcome:
                return failed(outcome, _made(done, batch, settings))
            case _:
                assert_never(asked.outcome)
    return Extraction(_united(done.drafts), done.scene, _made(done, batch, settings))


def _shown(batch: MessageBatch, pieces: Sequence[Piece], aliases: Aliases, scene: str, settings: CallSettings) -> Shown:
    situation = Situation(_language(batch), batch.user_name, settings.zone, scene)
    said: dict[int, str] = {}
    for piece in pieces:
        said[piece.message.seq] = f"{said.get(piece.message.seq, '')}\n{piece.text}"
    return Shown(transcript(situation, _background(batch, pieces[0].message.seq), pieces, aliases), said)


async def _ask(
    chat: Chat, batch: MessageBatch, shown: Shown, reader: Reader, settings: CallSettings
) -> Asked[MemoryItem]:
    request = ChatRequest(
        role="extract",
        system=with_custom(extract_system(settings.mode), "l1", batch.custom),
        messages=(ChatMessage("user", shown.transcript),),
        max_tokens=settings.max_tokens,
        timeout_seconds=settings.timeout_seconds,
    )
    return await ask(chat, request, shape_of(reader))


def _aliases(pieces: Iterable[Piece]) -> Aliases:
    return Aliases("c", dict.fromkeys(piece.message.seq for piece in pieces))


def _language(batch: MessageBatch) -> str:
    """Return the language that the user writes; that of the whole batch where the user writes none."""
    every = main_language(readable(message.content) for message in batch.messages)
    return main_language((readable(m.content) for m in batch.messages if m.role == "user"), default=every)


def _background(batch: MessageBatch, first_seq: int) -> tuple[Message, ...]:
    """Return what stands before the messages of a call: the batch's own background, or what earlier calls were shown."""
    earlier = tuple(message for message in batch.messages if message.seq < first_seq)
    return (*batch.background, *earlier)[-_BACKGROUND:] if earlier else batch.background


def _account(done: _Progress, asked: Asked[MemoryItem]) -> None:
    done.usage += asked.usage
    done.model = next((one.model for one in reversed(asked.attempts) if one.model), done.model)
    done.notes += (f"asked again: {one.error.partition(':')[0]}" for one in asked.attempts[:-1])


def _take(done: _Progress, items: Sequence[MemoryItem], reader: Reader) -> None:
    for place, item in enumerate(items):
        read = reader.draft(item)
        done.notes += (f"item {place}: {note}" for note in read.notes)
        draft = read.draft if read.draft.scene_name else replace(read.draft, scene_name=done.scene)
        done.scene = draft.scene_name
        done.drafts.append(draft)


def _united(drafts: Iterable[MemoryDraft]) -> tuple[MemoryDraft, ...]:
    """Return the drafts with those of equal content as one, the first of them, that cites what any of them cites."""
    found: dict[str, MemoryDraft] = {}
    for draft in drafts:
        first = found.setdefault(draft.content.strip(), draft)
        cited = tuple(sorted({*first.source_seqs, *draft.source_seqs}))
        found[draft.content.strip()] = replace(first, source_seqs=cited)
    return tuple(found.values())


def _made(done: _Progress, batch: MessageBatch, settings: CallSettings) -> Provenance:
    return provenance("l1", settings, batch.custom, done.model, done.usage, done.notes)
