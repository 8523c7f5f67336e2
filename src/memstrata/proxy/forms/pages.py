"""Choices cut into questions that a client's tool takes: so many options at a time, each with a label of its own. Pure.

Every choice is on some page. A page but the last one ends in "more"; the last one does too where there is room, and then
leads back to the first. Source: `reference/proxy.md` §4.4, §4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.proxy.forms.words import FormWords

__all__ = ["LARGEST_PAGE", "MORE", "NONE", "Choice", "Option", "page_count", "page_of"]

MORE = "\x01more"
"""The id of the option that turns the page; no id of a team, an agent or a task has a control character."""
NONE = ""
"""The id of "no task"."""

LARGEST_PAGE = 20  # where a client sets no limit; longer lists are hard to read
_LABEL_CHARACTERS = 60
_ABOUT_CHARACTERS = 200
_ID_TAIL = 8


@dataclass(frozen=True, slots=True)
class Choice:
    """A team, an agent or a task."""

    id: str
    name: str
    about: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer as it is shown: what it stands for, and its words."""

    id: str
    label: str
    about: str = ""


def page_count(choices: int, most: int) -> int:
    """Return how many pages so many choices need."""
    most = most or LARGEST_PAGE
    return 1 if choices <= most else -(-(choices - most) // (most - 1)) + 1


def page_of(choices: Sequence[Choice], page: int, most: int, words: FormWords) -> tuple[Option, ...]:
    """Return the options of a page; pages count from 0 and start again after the last one.

    `most` is how many options one question may have, 0 for a client that sets no limit.
    """
    most = most or LARGEST_PAGE
    pages = page_count(len(choices), most)
    shown = [_option(choice, words) for choice in choices]
    if pages == 1:
        return tuple(shown)
    page %= pages
    start = page * (most - 1)
    last = page == pages - 1
    cut = shown[start:] if last else shown[start : start + most - 1]
    if not last or len(cut) < most:
        cut.append(Option(MORE, words.more, words.more_about))
    return tuple(cut)


def _option(choice: Choice, words: FormWords) -> Option:
    if choice.id == NONE:
        return Option(NONE, words.no_task, words.no_task_about)
    name = _one_line(choice.name, _LABEL_CHARACTERS) or choice.id[:_LABEL_CHARACTERS]
    return Option(choice.id, f"{name} ({choice.id[-_ID_TAIL:]})", _one_line(choice.about, _ABOUT_CHARACTERS))


def _one_line(text: str, most: int) -> str:
    """Return a text that cannot break a form apart: one line, without quotation marks, cut."""
    line = " ".join(text.replace('"', "'").split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
