"""What the demo asks: two prepared questions for the example, two made of memories for a conversation of one's own."""

from __future__ import annotations

from collections.abc import Iterable

from memstrata.cli.words import say
from memstrata.client import Memory
from memstrata.text.graphemes import cut
from memstrata.text.language import language_of

__all__ = ["EXAMPLE_QUESTIONS", "questions_about"]

EXAMPLE_QUESTIONS = ("推荐个晚饭菜谱，我现在还吃肉吗？", "Where do I work now?")

_ASKED = 2
_TOPIC_CHARACTERS = 40


def questions_about(memories: Iterable[Memory]) -> tuple[str, ...]:
    """Return questions about the most important memories, of different languages where there are some.

    They quote the memory, because search by keyword answers in the words that were used.
    """
    ranked = sorted(memories, key=lambda memory: -memory.priority)
    chosen: list[Memory] = []
    for memory in ranked:
        if language_of(memory.content) not in {language_of(one.content) for one in chosen}:
            chosen.append(memory)
    chosen += [memory for memory in ranked if memory not in chosen]
    return tuple(say("demo.about", topic=cut(one.content, _TOPIC_CHARACTERS, "…")) for one in chosen[:_ASKED])
