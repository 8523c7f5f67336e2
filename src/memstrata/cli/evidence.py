"""Why a memory was recalled, as a chain down to what was said: persona ← scene ← memory ← message."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from memstrata.cli.screen import Screen
from memstrata.cli.times import iso, minute
from memstrata.cli.words import say
from memstrata.client import Evidence, Message
from memstrata.text.graphemes import cut

__all__ = ["chain_as_json", "quote_of", "show_chain"]

_MESSAGES = 2
_MESSAGE_CHARACTERS = 160
_LABEL_WIDTH = 9
_LEAST_QUOTE = 4


def show_chain(screen: Screen, evidence: Evidence) -> None:
    """Show the chain of one memory. A layer that was not built from it is not in it."""
    links: list[tuple[str, str]] = []
    if evidence.persona is not None:
        quote = quote_of(evidence.persona.content, evidence.memory.content)
        links.append((say("demo.chain.persona"), say("demo.chain.quote", text=quote) if quote else "✓"))
    links += [(say("demo.chain.scene"), scene.path) for scene in evidence.scenes]
    statement = say("demo.chain.quote", text=evidence.memory.content)
    links.append((say("demo.chain.memory"), f"{statement} {evidence.memory.id}"))
    links += [("", say("demo.chain.replaces", content=old.content)) for old in evidence.replaced]
    for message in _newest(evidence):
        said = say("demo.chain.quote", text=cut(" ".join(message.content.split()), _MESSAGE_CHARACTERS, "…"))
        links.append((say("demo.chain.message"), f"{minute(message.said_at)} {said}"))
    screen.line(say("demo.why"), "dim", indent=2)
    for label, text in links:
        screen.item(label, text, indent=4, width=_LABEL_WIDTH, style="dim")


def chain_as_json(evidence: Evidence) -> Mapping[str, Any]:
    """Return the chain for a program."""
    return {
        "memory": {"id": evidence.memory.id, "type": evidence.memory.type, "content": evidence.memory.content},
        "persona": evidence.persona is not None,
        "scenes": [scene.path for scene in evidence.scenes],
        "replaced": [old.content for old in evidence.replaced],
        "messages": [
            {
                "id": message.id,
                "said_at": iso(message.said_at),
                "role": message.role,
            }
            | {"content": message.content}
            for message in evidence.messages
        ],
    }


def quote_of(text: str, statement: str) -> str:
    """Return what a text has of a statement word for word; empty when that is less than half of it."""
    match = SequenceMatcher(None, text, statement, autojunk=False).find_longest_match()
    found = text[match.a : match.a + match.size].strip(" \n-，。,.")
    return found if len(found) >= max(_LEAST_QUOTE, len(statement) // 2) else ""


def _newest(evidence: Evidence) -> list[Message]:
    """The messages that say it as it is now; what it replaced was said in earlier ones."""
    return list(reversed(evidence.messages[-_MESSAGES:]))
