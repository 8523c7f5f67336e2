"""L3 by rules: what every conversation should know, on one short page.

Orders come first, because they hold for every answer; then what must not be overlooked, who the user is, likes, plans
that are still ahead, and what changed lately. The text depends on the memories and on the day alone, and its sources are
exactly the memories that it shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import tzinfo
from typing import Final

from memstrata.clock import Instant
from memstrata.distill.protocol import PersonaDraft, PersonaRequest
from memstrata.distill.rules.consolidate import by_weight, changed_from, dated, in_order, is_over, is_plan, section
from memstrata.distill.rules.prose import as_sentence, order_only, weave
from memstrata.distill.rules.slots import DIET, TASTE
from memstrata.distill.rules.words import Words, words_in
from memstrata.distill.validate import MAX_PERSONA
from memstrata.records import MemoryRecord
from memstrata.text.graphemes import cut
from memstrata.text.language import language_of

__all__ = ["portray_by_rules"]

_CARE_PRIORITY = 85
_RECENT = 5  # changes and events shown
_SLOT_ORDER: Final = {
    slot: place
    for place, slot in enumerate(
        (
            "name",
            "english_name",
            "form_of_address",
            "age",
            "birthday",
            "hometown",
            "residence",
            "occupation",
            "employer",
            "manager",
        )
    )
}
_LIKING = re.compile(
    r"喜欢|喜爱|热爱|偏|爱(?:吃|喝|看|玩|听|用)|讨厌|不吃|不喝|习惯|更愿意|每(?:天|周|晚|早)|一般|通常"
    r"|\b(?:like|love|enjoy|prefer|hate|dislike|avoid|favou?rite|fond|usually|often|every)s?\b|can't stand"
    r"|doesn't (?:like|eat|drink)"
    r"|好き|嫌い|苦手|好む|毎(?:日|朝|晩|週)|趣味|좋아|싫어|люб|нрав",
    re.IGNORECASE,
)
_HEALTH = re.compile(
    r"过敏|病|症|不耐|伤|膝|手术|allerg|intoleran|injur|surgery|knee|diabet|asthma|coeliac|celiac|epilep|migraine"
    r"|blood pressure|アレルギー|病|알레르기|аллерги|alérgic",
    re.IGNORECASE,
)


def portray_by_rules(request: PersonaRequest, zone: tzinfo) -> PersonaDraft:
    """Return the portrait; an empty body when no scene rests on any memory."""
    memories = {memory.seq: memory for view in request.scenes for memory in view.memories}
    words = words_in(request.language)
    ranked = [memory for memory in by_weight(memories.values()) if _still_matters(memory, request.now)]
    shown = _within(ranked, MAX_PERSONA)
    while shown:
        body, used = _page(ranked[:shown], request.language, words, zone)
        if len(body) <= MAX_PERSONA:
            return PersonaDraft(body, tuple(sorted(used)))
        if shown == 1:
            return PersonaDraft(cut(body, MAX_PERSONA, "…"), tuple(sorted(used)))
        shown -= 1
    return PersonaDraft("", ())


def _within(ranked: Sequence[MemoryRecord], limit: int) -> int:
    """Return how many memories could fit at all: a bound from their lengths, so that fitting takes few attempts."""
    length = 0
    for count, memory in enumerate(ranked):
        length += len(order_only(memory.content))
        if length > limit:
            return max(1, count)
    return len(ranked)


def _still_matters(memory: MemoryRecord, now: Instant) -> bool:
    """Leave out plans whose day is over: what became of them is a memory of its own, or unknown."""
    return not (is_plan(memory) and is_over(memory, now))


def _page(memories: Sequence[MemoryRecord], language: str, words: Words, zone: tzinfo) -> tuple[str, set[int]]:
    memories = in_order(memories)
    standing = [memory for memory in memories if memory.type == "instruction"]
    facts = [memory for memory in memories if memory.type not in ("instruction", "episodic")]
    care = [memory for memory in facts if memory.priority >= _CARE_PRIORITY and _HEALTH.search(memory.content)]
    likes = [memory for memory in facts if memory not in care and _is_liking(memory)]
    who = [memory for memory in facts if memory not in care and memory not in likes]
    plans = sorted((memory for memory in memories if is_plan(memory)), key=_when)
    lately = sorted((memory for memory in memories if _is_news(memory)), key=_when)[-_RECENT:]
    parts = [f"# {words.portrait}"]
    parts += section(words.standing, [f"- {as_sentence(order_only(memory.content))}" for memory in standing])
    parts += section(words.care, _prose(care, language))
    parts += section(words.who, _prose(sorted(who, key=_place), language))
    parts += section(words.preferences, _prose(likes, language))
    parts += section(words.plans, [f"- {dated(memory, words, zone)}" for memory in plans])
    parts += section(words.recent, [f"- {_news(memory, words, zone)}" for memory in lately])
    return "\n".join(parts), {memory.seq for memory in (*standing, *facts, *plans, *lately)}


def _prose(memories: Sequence[MemoryRecord], language: str) -> list[str]:
    """Return one paragraph per language, the portrait's own first."""
    paragraphs: dict[str, list[str]] = {language: []}
    for memory in memories:
        paragraphs.setdefault(language_of(memory.content), []).append(memory.content)
    return [weave(texts) for texts in paragraphs.values() if texts]


def _is_liking(memory: MemoryRecord) -> bool:
    if memory.slot in _SLOT_ORDER:
        return False
    return (
        memory.slot == DIET
        or memory.slot.startswith((f"{TASTE} ", "favourite "))
        or bool(_LIKING.search(memory.content))
    )


def _is_news(memory: MemoryRecord) -> bool:
    return bool(memory.metadata.get("replaced")) or (memory.type == "episodic" and not is_plan(memory))


def _news(memory: MemoryRecord, words: Words, zone: tzinfo) -> str:
    return changed_from(memory, words) if memory.metadata.get("replaced") else dated(memory, words, zone)


def _when(memory: MemoryRecord) -> tuple[Instant, int]:
    return memory.happened_from or memory.updated_at, memory.seq


def _place(memory: MemoryRecord) -> tuple[int, int, int]:
    return _SLOT_ORDER.get(memory.slot, len(_SLOT_ORDER)), -memory.priority, memory.seq
