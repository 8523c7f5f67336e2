"""What becomes of a draft when similar memories exist: decided by equal words and equal slots, never by likeness.

In this order:
- the same words, whatever their case and punctuation → skip, its sources join the stored memory;
- the same slot with the same value → skip, or update when the new text tells more;
- the same slot with another value → update: the new text takes the place of the old and notes what it replaced;
- a statement that takes back an earlier one, an event that ends a slot's value or fulfils a plan → update of the memory
  concerned;
- anything else → store.

A memory that a human wrote is pinned. A draft that contradicts one through its slot is skipped with no target at all, so
nothing changes and no evidence is attached to what it does not support; other drafts leave it alone. Every target is one
of the draft's own candidates, and no target is decided on twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from memstrata.distill.protocol import Decision, Decisions
from memstrata.distill.rules.extract import normal_form
from memstrata.distill.rules.slots import contradict
from memstrata.records import MemoryDraft, MemoryRecord
from memstrata.text.graphemes import cut

__all__ = ["resolve_by_rules"]

_MAX_REPLACED = 300
_ENOUGH_SHARED = 0.6

_COMMON = re.compile(r"用户|今天|昨天|明天|\d+[年月日]|上周|下周|报名|参加|计划|打算|准备")
_COMMON_WORD = re.compile(
    r"their|there|about|going|plan(?:ning|s)|yesterday|today|tomorrow|january|february|march|april|august|september"
    r"|october|november|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday|after|before|which|finally"
    r"|bought|booked|finished"
)
_HAN_RUN = re.compile(r"[\u3400-\u9fff]+")
_LONG_WORD = re.compile(r"[^\W\d_\u3400-\u9fff]{5,}")


def resolve_by_rules(drafts: Sequence[MemoryDraft], candidates: Sequence[Sequence[MemoryRecord]]) -> Decisions:
    """Return one decision per draft. `candidates[i]` are the live memories that may concern `drafts[i]`."""
    taken: set[int] = set()
    decisions: list[Decision] = []
    for place, (draft, near) in enumerate(zip(drafts, candidates, strict=True)):
        decision = _decide(draft, near, drafts[place + 1 :], drafts, taken)
        if decision.action == "update":
            taken.update(decision.target_seqs)
        decisions.append(decision)
    return Decisions(tuple(decisions))


def _decide(
    draft: MemoryDraft,
    near: Sequence[MemoryRecord],
    later: Sequence[MemoryDraft],
    drafts: Sequence[MemoryDraft],
    taken: set[int],
) -> Decision:
    form = normal_form(draft.content)
    for record in near:
        if normal_form(record.content) == form:
            return Decision("skip", draft, (record.seq,))
    if any(normal_form(other.content) == form or _takes_over(other, draft) for other in later):
        return Decision("skip", draft)
    value = str(draft.metadata.get("value", ""))
    rivals = [
        record
        for record in near
        if draft.slot
        and record.slot == draft.slot
        and contradict(draft.slot, value, str(record.metadata.get("value", "")))
    ]
    if any(record.origin == "human" for record in rivals):
        return Decision("skip", draft)
    if not rivals:
        rivals = [record for record in _concerned(draft, near, drafts) if record.origin != "human"]
    rivals = [record for record in rivals if record.seq not in taken]
    if not rivals:
        return Decision("store", draft)
    newest = max(rivals, key=lambda record: record.seq)
    targets = tuple(sorted(record.seq for record in rivals))
    if draft.slot and newest.slot == draft.slot and _same_value(draft, newest):
        if len(form) <= len(normal_form(newest.content)):
            return Decision("skip", draft, (newest.seq,))
        return Decision("update", draft, targets)
    metadata = {**draft.metadata, "replaced": cut(newest.content, _MAX_REPLACED, "…")}
    if not draft.slot and "corrects" in draft.metadata and newest.slot:
        # It still speaks of the same thing, so the next change of mind must find it there.
        metadata = {"value": newest.metadata.get("value", ""), **metadata}
        draft = replace(draft, slot=newest.slot)
    return Decision("update", replace(draft, metadata=metadata), targets)


def _takes_over(other: MemoryDraft, draft: MemoryDraft) -> bool:
    """Say whether a later draft of the batch holds the newer value, so that this one is over before it is stored."""
    if not draft.slot or other.slot != draft.slot or other.type != draft.type:
        return False
    return contradict(draft.slot, str(other.metadata.get("value", "")), str(draft.metadata.get("value", "")))


def _same_value(draft: MemoryDraft, record: MemoryRecord) -> bool:
    value = draft.metadata.get("value")
    return bool(value) and record.metadata.get("value") == value


def _concerned(draft: MemoryDraft, near: Sequence[MemoryRecord], drafts: Sequence[MemoryDraft]) -> list[MemoryRecord]:
    """Return the memories that a draft makes untrue although they are in no slot of its own."""
    if former := draft.metadata.get("replaced"):
        return [record for record in near if normal_form(record.content) == normal_form(str(former))]
    if wrong := draft.metadata.get("corrects"):
        closest = max(near, key=lambda record: (_shared(str(wrong), record.content), record.seq), default=None)
        return [closest] if closest and _shared(str(wrong), closest.content) >= _ENOUGH_SHARED else []
    if ended := draft.metadata.get("ends"):
        if any(other.slot == ended for other in drafts):
            return []  # the new value of the same batch takes the old one's place
        said = draft.content.casefold()
        return [record for record in near if record.slot == ended and str(record.metadata.get("value") or "\0") in said]
    if draft.type == "episodic" and not draft.metadata.get("plan") and draft.happened_from is not None:
        return [record for record in near if _fulfils(draft, record)]
    return []


def _fulfils(draft: MemoryDraft, record: MemoryRecord) -> bool:
    """Say whether an event is what a plan was about: on a day of the plan, and the same thing by name."""
    if record.metadata.get("plan") is not True or record.happened_from is None or record.happened_to is None:
        return False
    if draft.happened_from is None or not record.happened_from <= draft.happened_from <= record.happened_to:
        return False
    return bool(_names(draft.content) & _names(record.content))


def _names(content: str) -> set[str]:
    """Return what a text may share with another about the same thing: Han runs of three, words of five letters."""
    runs = _HAN_RUN.findall(_COMMON.sub(" ", content))
    words = (word.casefold() for word in _LONG_WORD.findall(content))
    pieces = {run[start : start + 3] for run in runs for start in range(len(run) - 2)}
    return pieces | {word for word in words if not _COMMON_WORD.fullmatch(word)}


def _shared(wrong: str, content: str) -> float:
    """Return how much of the retracted words' letter pairs a content has, from 0 to 1."""
    words, text = normal_form(wrong), normal_form(content)
    pairs = {words[start : start + 2] for start in range(len(words) - 1)}
    return sum(pair in text for pair in pairs) / len(pairs) if pairs else 0.0
