"""What any distiller's output must pass before it is stored: one set of checks for rules and models, on every path.

A model is asked for bands, limits and evidence in prose; here they hold (DESIGN §4.5–4.7; user needs A7–A10, B18). All
functions are pure and deterministic. What does not pass is returned with its reason, so that the run can report it.

Priorities (pipeline reference §3.5, §3.6): below its type's discard line a draft is dropped, above 100 it is 100. −1, an
absolute order, holds only for an instruction that cites a user message which says always or never in so many words;
any other −1 is the bottom of a band: 90 for an instruction, the discard line for the other types.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstrata.distill.protocol import MessageBatch, SceneWrite
from memstrata.distill.scenes.meta import one_line, parse_scene
from memstrata.distill.scenes.names import check_path
from memstrata.distill.scenes.navigation import strip_navigation
from memstrata.errors import InvalidRequest
from memstrata.records import MEMORY_TYPES, AppliesTo, MemoryDraft, MemoryType, Message
from memstrata.text.graphemes import cut
from memstrata.text.repetition import repeats_its_statements, repeats_itself

__all__ = [
    "ABSOLUTE",
    "CORE_INSTRUCTION",
    "DISCARD_LINES",
    "MAX_CONTENT",
    "MAX_DRAFTS",
    "MAX_PERSONA",
    "MAX_SCENE",
    "MAX_SUMMARY",
    "DraftReview",
    "Rejected",
    "narrowest",
    "says_always_or_never",
    "valid_content",
    "valid_draft",
    "valid_drafts",
    "valid_persona",
    "valid_scene",
]

# Limits in code points.
MAX_CONTENT: Final = 1000
MAX_SCENE: Final = 1500
MAX_SUMMARY: Final = 200
MAX_PERSONA: Final = 2000
MAX_DRAFTS: Final = 20
"""Drafts kept of one batch."""

_MAX_LABEL = 80  # scene names and slots

ABSOLUTE: Final = -1
CORE_INSTRUCTION: Final = 90
"""What an order weighs that would be absolute, but for its wording or what it is merged with."""

_NARROWEST_FIRST: Final[tuple[AppliesTo, ...]] = ("scene", "project", "always")

DISCARD_LINES: Final[Mapping[MemoryType, int]] = {
    "persona": 50,
    "episodic": 60,
    "instruction": 70,
    "work_fact": 70,
    "work_task": 70,
    "work_method": 70,
    "work_artifact": 70,
}
"""The lowest priority that is kept, by type."""

# What only the user can vouch for: an assistant's word is no evidence about a person (user needs A8).
_NEEDS_THE_USERS_WORD = frozenset({"persona", "episodic", "instruction"})

_ALWAYS_OR_NEVER = re.compile(
    r"(?<!not )\b(?:always|never|under no circumstances|no matter what|at all times|without exception|every single time)\b"
    r"|(?<!不)(?:永远|绝对|一律|始终|务必|总是|从不|绝不|决不|切勿)|以后都|每次都|任何(?:时候|情况)|无论(?:如何|什么)|不管(?:怎样|什么)"
    r"|永遠|絕對|始終|務必|總是|以後都"
    r"|必ず|絶対|常に|いつも|いつでも|決して|二度と|毎回"
    r"|항상|언제나|절대|반드시|결코|매번"
    r"|\b(?:всегда|никогда|ни в коем случае|ни при каких)\b"
    r"|\b(?:siempre|nunca|jamás|en ningún caso)\b|\b(?:immer|niemals|auf keinen fall)\b"
    r"|\b(?:toujours|jamais|en aucun cas)\b|\b(?:sempre|em hipótese alguma)\b",
    re.IGNORECASE,
)

_DEBRIS = re.compile(
    r'"\s{0,4}\}\s{0,4}\]?\s{0,4},\s{0,4}[{"]'
    r'|"(?:scene_name|memories|source_message_ids|message_ids|source_ids|memory_type)"\s{0,4}:'
    r'|^\s{0,4}[\[{]\s{0,4}[{"]\s{0,4}"?\w{1,40}"\s{0,4}:'
    r"|</?(?:think|tool_call|function_call)>|<\|[\w ]{1,40}\|>"
)


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something that is not stored, and why. `subject` names it: a path, or the place of a draft in its batch."""

    reason: str
    subject: str = ""


@dataclass(frozen=True, slots=True)
class DraftReview:
    """The drafts that may be stored, in their order, and everything that may not."""

    kept: tuple[MemoryDraft, ...]
    rejected: tuple[Rejected, ...]


def valid_draft(draft: MemoryDraft, batch: MessageBatch) -> MemoryDraft | Rejected:
    """Return `draft` as it may be stored, or why it may not be.

    Sources are reduced to messages of the batch (not its background), content to one trimmed line without control
    characters; labels that are too long are cut, a scope that is unknown becomes the narrowest.
    """
    if draft.type not in MEMORY_TYPES:
        return Rejected(f"unknown type {str(draft.type)[:40]!r}")
    content = valid_content(draft.content)
    if isinstance(content, Rejected):
        return content
    wanted = set(draft.source_seqs)
    cited = [message for message in batch.messages if message.seq in wanted]
    if not cited:
        return Rejected("cites no message of its batch")
    said_by_user = [message for message in cited if message.role == "user"]
    if draft.type in _NEEDS_THE_USERS_WORD and not said_by_user:
        return Rejected(f"a memory of type {draft.type} that cites no message of the user")
    priority = _priority(draft, said_by_user)
    if priority != ABSOLUTE and priority < DISCARD_LINES[draft.type]:
        return Rejected(f"priority {priority} is below {DISCARD_LINES[draft.type]}, the discard line of {draft.type}")
    happened_from, happened_to = _span(draft)
    return replace(
        draft,
        content=content,
        priority=priority,
        source_seqs=tuple(message.seq for message in cited),
        scene_name=cut(one_line(_clean(draft.scene_name)), _MAX_LABEL, "").strip(),
        applies_to=draft.applies_to if draft.applies_to in _NARROWEST_FIRST else "scene",
        slot=cut(one_line(_clean(draft.slot)), _MAX_LABEL, "").strip(),
        happened_from=happened_from,
        happened_to=happened_to,
    )


def valid_content(text: str) -> str | Rejected:
    """Return a memory's text as one trimmed line without control characters, or why it may not be stored."""
    content = one_line(_clean(text))
    if not content:
        return Rejected("empty content")
    if len(content) > MAX_CONTENT:
        return Rejected(f"content of {len(content)} characters, at most {MAX_CONTENT} allowed")
    reason = _degenerate(content, repeats_itself)
    return content if reason is None else Rejected(reason)


def valid_drafts(drafts: Sequence[MemoryDraft], batch: MessageBatch) -> DraftReview:
    """Check each draft of a batch and keep at most MAX_DRAFTS: the lowest priorities go first, of equals the later."""
    rejected: list[Rejected] = []
    passed: list[tuple[int, MemoryDraft]] = []
    for place, draft in enumerate(drafts):
        checked = valid_draft(draft, batch)
        if isinstance(checked, Rejected):
            rejected.append(replace(checked, subject=f"draft {place}"))
        else:
            passed.append((place, checked))
    ranked = sorted(passed, key=lambda item: (-_rank(item[1].priority), item[0]))
    for place, _ in sorted(ranked[MAX_DRAFTS:]):
        rejected.append(Rejected(f"more than {MAX_DRAFTS} drafts in one batch", f"draft {place}"))
    kept = sorted(ranked[:MAX_DRAFTS], key=lambda item: item[0])
    return DraftReview(tuple(draft for _, draft in kept), tuple(rejected))


def valid_scene(write: SceneWrite, *, paths: Collection[str], memory_seqs: Collection[int]) -> SceneWrite | Rejected:
    """Return `write` as it may be stored, or why it may not be.

    `paths` are the live scenes of the profile, `memory_seqs` the memories that the distiller was shown. Unknown
    sources and absorbed paths are removed; a META block or navigation that the body carries is taken off; a summary
    becomes one line of at most MAX_SUMMARY code points, because it belongs to code; a body that is too long is refused.
    """
    try:
        path = check_path(write.path)
    except InvalidRequest as error:
        return Rejected(str(error), write.path)
    if not path.endswith(".md"):
        return Rejected("a scene's path ends in .md", path)
    body = strip_navigation(parse_scene(_clean(write.body)).body)
    if (reason := _unfit(body, MAX_SCENE)) is not None:
        return Rejected(reason, path)
    summary = one_line(_clean(write.summary))
    if summary and (reason := _degenerate(summary, repeats_its_statements)) is not None:
        return Rejected(f"summary: {reason}", path)
    shown = set(memory_seqs)
    sources = tuple(sorted({seq for seq in write.memory_seqs if seq in shown}))
    if not sources:
        return Rejected("rests on no memory that was shown", path)
    live = set(paths)
    absorbs = tuple(dict.fromkeys(other for other in write.absorbs if other in live and other != path))
    return replace(write, body=body, summary=cut(summary, MAX_SUMMARY, "…"), memory_seqs=sources, absorbs=absorbs)


def valid_persona(body: str) -> str | Rejected:
    """Return a portrait's text without navigation and control characters, or why it may not be stored."""
    text = strip_navigation(_clean(body))
    reason = _unfit(text, MAX_PERSONA)
    return text if reason is None else Rejected(reason)


def narrowest(reaches: Iterable[AppliesTo]) -> AppliesTo:
    """Return the reach of what is made of parts that reach so far: the narrowest. Needs at least one."""
    return min(reaches, key=_NARROWEST_FIRST.index)


def says_always_or_never(text: str) -> bool:
    """Return whether `text` orders something for all times in so many words."""
    return _ALWAYS_OR_NEVER.search(text) is not None


def _priority(draft: MemoryDraft, said_by_user: Sequence[Message]) -> int:
    if draft.priority != ABSOLUTE:
        return min(max(draft.priority, 0), 100)
    if draft.type != "instruction":
        return DISCARD_LINES[draft.type]
    if any(says_always_or_never(message.content) for message in said_by_user):
        return ABSOLUTE
    return CORE_INSTRUCTION


def _rank(priority: int) -> int:
    return 101 if priority == ABSOLUTE else priority


def _span(draft: MemoryDraft) -> tuple[int | None, int | None]:
    """Return both ends of when it happened; one end alone stands for both, ends in the wrong order are no date."""
    start = draft.happened_from if draft.happened_from is not None else draft.happened_to
    end = draft.happened_to if draft.happened_to is not None else draft.happened_from
    if start is None or end is None or start > end:
        return None, None
    return start, end


def _clean(text: str) -> str:
    """Return `text` in NFC without control characters, bidirectional overrides and lone surrogates."""
    kept = (character for character in text.replace("\r\n", "\n") if character in "\n\t" or _is_text(character))
    return unicodedata.normalize("NFC", "".join(kept))


def _is_text(character: str) -> bool:
    if unicodedata.category(character) in ("Cc", "Cs"):
        return False
    return not ("\u202a" <= character <= "\u202e" or "\u2066" <= character <= "\u2069" or character == "\ufeff")


def _unfit(body: str, limit: int) -> str | None:
    if not body:
        return "empty body"
    if len(body) > limit:
        return f"body of {len(body)} characters, at most {limit} allowed"
    return _degenerate(body, repeats_its_statements)


def _degenerate(text: str, repeats: Callable[[str], bool]) -> str | None:
    """Return what is broken about a text that no person would have written: None for a sound one."""
    if not any(character.isalnum() for character in text):
        return "no words"
    if _DEBRIS.search(text):
        return "debris of a machine format"
    if repeats(text):
        return "the same phrase over and over"
    return None
