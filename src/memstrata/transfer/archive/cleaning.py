"""The lines of an import without their secrets: an export may come from where nobody took them out.

An import is a way in like every other, so the same rule holds: that of the owner whom a line names, here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from memstrata.records import Profile, Scope
from memstrata.records.archive import DocumentLine, LayerLine, MemoryLine, MessageLine, ProfileLine, SessionLine
from memstrata.records.archive_directory import PolicyLine, PromptLine, TableLine

__all__ = ["Clean", "cleaned", "has_texts", "sets_rules"]

Clean = Callable[[Scope | Profile, Sequence[str]], Awaitable[tuple[str, ...]]]

_TEXTS: Final[Mapping[type, tuple[str, ...]]] = {
    PromptLine: ("name", "text"),
    ProfileLine: ("persona_request",),
    SessionLine: ("scene_name",),
    MessageLine: ("content",),
    MemoryLine: ("content", "scene_name", "slot"),
    DocumentLine: ("body", "summary"),
}


def has_texts(line: TableLine | LayerLine) -> bool:
    """Say whether a line holds what may hold a secret."""
    return type(line) in _TEXTS


def sets_rules(line: TableLine | LayerLine) -> bool:
    """Say whether a line decides about the secrets of lines after it."""
    return isinstance(line, PolicyLine)


async def cleaned(lines: Sequence[TableLine | LayerLine], instance: str, clean: Clean) -> list[TableLine | LayerLine]:
    """Return the lines as they may be written to an instance. `clean` is asked once for each owner."""
    said: defaultdict[Profile, list[str]] = defaultdict(list)
    for line in lines:
        said[_owner(line, instance)] += (getattr(line, name) for name in _TEXTS.get(type(line), ()))
    answers = {owner: iter(await clean(owner, texts)) for owner, texts in said.items() if texts}
    return [_rewritten(line, answers[_owner(line, instance)]) if has_texts(line) else line for line in lines]


def _rewritten(line: TableLine | LayerLine, texts: Iterator[str]) -> TableLine | LayerLine:
    """Return the line with the next texts in the place of its own."""
    new = {name: next(texts) for name in _TEXTS[type(line)]}
    if all(getattr(line, name) == text for name, text in new.items()):
        return line
    return msgspec.structs.replace(line, **new)


def _owner(line: TableLine | LayerLine, instance: str) -> Profile:
    """Return whose rule holds for a line; of a prompt, which is sent for everybody, that of the instance."""
    match line:
        case MessageLine() | SessionLine() | MemoryLine() | ProfileLine() | DocumentLine():
            return Profile(instance, line.team, line.agent, line.user)
        case _:
            return Profile(instance, "", "")
