"""The two blocks that go into a prompt.

The dynamic one holds memories and goes in front of the newest user message. The stable one holds persona, scene index and
tool guide, goes to the end of the system prompt, and is the same to the byte until L2 or L3 really change, so that the
provider's prompt cache holds. Everything in them is data: escaped, cut at grapheme boundaries, within the budget.

A budget of tokens is for both blocks with all that stands around the texts. It is given away in the order of use: memories,
persona, scene index, guide. Where it is too small for all of them, the stable block changes with what memories leave it.
"""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.clock import to_iso
from memstrata.recall.words import Words, words_for
from memstrata.records import Document, Hit, MemoryRecord
from memstrata.settings import RecallSettings
from memstrata.text.graphemes import cut
from memstrata.text.language import main_language
from memstrata.text.markers import escape, wrap
from memstrata.text.tokens import count_tokens

__all__ = ["UNLIMITED", "render_memories", "render_profile", "shown_documents", "shown_memories"]

UNLIMITED = 2**53  # tokens
_LEAST_USEFUL = 40  # a memory cut shorter than this says nothing
_LEAST_TOKENS = 10  # likewise, beside the note that stands where it was cut
_LONGEST_NAME = 80  # of an agent
_DAY_ENDS = ("T00:00:00.000Z", "T23:59:59.999Z")


def render_memories(
    hits: Sequence[Hit[MemoryRecord]], settings: RecallSettings, tokens: int = UNLIMITED, *, lender: str = ""
) -> str:
    """Return the dynamic block, at most `tokens` long; instructions first, because they rule the answer.

    It ends before the first memory that has no room, so what is shown is what ranks first. Empty where none has.
    `lender` is the name of the agent whose memories they are, if they are borrowed.
    """
    words = _words([hit.item.content for hit in hits], lender)
    lines: list[str] = []
    characters = settings.max_characters
    per_memory = settings.max_tokens_per_memory or UNLIMITED
    left = tokens - count_tokens(wrap("relevant-memories", words.memories_intro))
    for hit in _in_order(hits):
        allowed = min(characters, settings.max_characters_per_memory)
        if allowed < _LEAST_USEFUL:
            break
        start, end = f"- [{_label(hit.item)}] ", _time(hit.item)
        room = left - count_tokens(f"\n{start}{end}")
        text = _fitted(_one_line(hit.item.content), allowed, room, words.more, most=per_memory)
        if text is None:
            break
        line = f"{start}{text}{end}"
        lines.append(line)
        characters -= len(line)
        left -= count_tokens(f"\n{line}")
    return wrap("relevant-memories", "\n".join([words.memories_intro, *lines])) if lines else ""


def render_profile(
    persona: Document | None,
    scenes: Sequence[Document],
    settings: RecallSettings,
    tokens: int = UNLIMITED,
    *,
    lender: str = "",
) -> str:
    """Return the stable block, at most `tokens` long. Empty when nothing is known, so that nothing is injected.

    Scenes that have no room are not named; one that is named is named whole, or its path could not be read. Of a
    `lender`, an agent whose memory is borrowed, there is no guide: the tools do not reach it.
    """
    words = _words([persona.body] if persona else [scene.summary for scene in scenes], lender)
    index = [_scene_line(scene, words.heat) for scene in scenes[: settings.max_scenes]]
    blocks: list[str] = []
    left = tokens
    if block := _persona_block(persona, words, settings.max_persona_characters, left):
        blocks.append(block)
        left -= count_tokens(f"{block}\n\n")
    if block := _scenes_block(index, words, left):
        blocks.append(block)
        left -= count_tokens(f"{block}\n\n")
    guide = wrap("memory-tools-guide", words.guide)
    if blocks and not lender and count_tokens(guide) <= left:
        blocks.append(guide)
    return "\n\n".join(blocks)


def shown_memories(block: str, hits: Sequence[Hit[MemoryRecord]]) -> tuple[MemoryRecord, ...]:
    """Return the memories that stand in a dynamic block made of these: one on each line but the frame's."""
    return tuple(hit.item for hit in _in_order(hits)[: block.count("\n- [")])


def shown_documents(block: str, persona: Document | None, scenes: Sequence[Document]) -> tuple[Document, ...]:
    """Return the portrait and the scenes that stand in a stable block made of these."""
    _, _, rest = block.partition("<scene-navigation ")
    named = rest.partition("</scene-navigation>")[0].count("\n- ")
    return (*([persona] if persona and "<user-persona " in block else []), *scenes[:named])


def _in_order(hits: Sequence[Hit[MemoryRecord]]) -> list[Hit[MemoryRecord]]:
    return sorted(hits, key=lambda hit: hit.item.type != "instruction")


def _words(texts: Sequence[str], lender: str) -> Words:
    words = words_for(main_language(texts))
    return words.of(cut(_one_line(lender), _LONGEST_NAME, "…")) if lender else words


def _persona_block(persona: Document | None, words: Words, characters: int, tokens: int) -> str:
    if persona is None:
        return ""
    room = tokens - count_tokens(wrap("user-persona", f"{words.persona_intro}\n\n"))
    body = _fitted(escape(persona.body.strip()), characters, room, words.more)
    return wrap("user-persona", f"{words.persona_intro}\n\n{body}") if body else ""


def _scenes_block(index: Sequence[str], words: Words, tokens: int) -> str:
    left = tokens - count_tokens(wrap("scene-navigation", words.scenes_intro))
    named: list[str] = []
    for line in index:
        left -= count_tokens(f"\n{line}")
        if left < 0:
            break
        named.append(line)
    return wrap("scene-navigation", "\n".join([words.scenes_intro, *named])) if named else ""


def _fitted(text: str, characters: int, tokens: int, note: str, *, most: int = UNLIMITED) -> str | None:
    """Return the text, cut where it is longer than `characters`, `tokens` or `most` tokens.

    None if `tokens`, what is left for it, would not leave enough of it to say anything.
    """
    if tokens < count_tokens(note) + _LEAST_TOKENS and tokens < count_tokens(text):
        return None
    return cut(text, characters, note, tokens=min(tokens, most))


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
