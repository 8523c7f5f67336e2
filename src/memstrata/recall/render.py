"""The two blocks that go into a prompt.

The dynamic one holds memories and goes in front of the newest user message. The stable one holds persona, scene index and
tool guide, goes to the end of the system prompt, and is the same to the byte until L2 or L3 really change, so that the
provider's prompt cache holds. Everything in them is data: escaped, cut at grapheme boundaries, within the budget.
"""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.clock import to_iso
from memstrata.recall.words import words_for
from memstrata.records import Document, Hit, MemoryRecord
from memstrata.settings import RecallSettings
from memstrata.text.graphemes import cut
from memstrata.text.language import main_language
from memstrata.text.markers import escape, wrap

__all__ = ["render_memories", "render_profile"]

_LEAST_USEFUL = 40  # a memory cut shorter than this says nothing
_DAY_ENDS = ("T00:00:00.000Z", "T23:59:59.999Z")


def render_memories(hits: Sequence[Hit[MemoryRecord]], settings: RecallSettings) -> str:
    """Return the dynamic block; instructions first, because they rule the answer. Empty without hits."""
    if not hits:
        return ""
    words = words_for(main_language(hit.item.content for hit in hits))
    lines: list[str] = []
    left = settings.max_characters
    for hit in sorted(hits, key=lambda hit: hit.item.type != "instruction"):
        allowed = min(left, settings.max_characters_per_memory)
        if allowed < _LEAST_USEFUL:
            break
        line = f"- [{_label(hit.item)}] {cut(_one_line(hit.item.content), allowed, words.more)}{_time(hit.item)}"
        lines.append(line)
        left -= len(line)
    return wrap("relevant-memories", "\n".join([words.memories_intro, *lines]))


def render_profile(persona: Document | None, scenes: Sequence[Document], settings: RecallSettings) -> str:
    """Return the stable block. Empty when nothing is known, so that nothing is injected."""
    texts = [persona.body] if persona else [scene.summary for scene in scenes]
    words = words_for(main_language(texts))
    blocks: list[str] = []
    if persona and persona.body.strip():
        body = cut(escape(persona.body.strip()), settings.max_persona_characters, words.more)
        blocks.append(wrap("user-persona", f"{words.persona_intro}\n\n{body}"))
    if index := [_scene_line(scene, words.heat) for scene in scenes[: settings.max_scenes]]:
        blocks.append(wrap("scene-navigation", "\n".join([words.scenes_intro, *index])))
    if blocks:
        blocks.append(wrap("memory-tools-guide", words.guide))
    return "\n\n".join(blocks)


def _label(memory: MemoryRecord) -> str:
    return _one_line(f"{memory.type}|{memory.scene_name}") if memory.scene_name else memory.type


def _time(memory: MemoryRecord) -> str:
    """Return when it happened, if that is known. The time of writing is no substitute for it."""
    if memory.happened_from is None:
        return ""
    start = _moment(memory.happened_from)
    end = start if memory.happened_to is None else _moment(memory.happened_to)
    return f" ({start})" if start == end else f" ({start} – {end})"


def _moment(instant: int) -> str:
    text = to_iso(instant)
    return text[:10] if text.endswith(_DAY_ENDS) else f"{text[:16]}Z"


def _scene_line(scene: Document, heat: str) -> str:
    return f"- {_one_line(scene.path)} ({heat} {scene.heat}): {_one_line(scene.summary)}"


def _one_line(text: str) -> str:
    return escape(" ".join(text.split()))
