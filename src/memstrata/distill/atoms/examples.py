"""What of an answer is no memory but an example of the prompt, said back.

A small model takes the examples for the conversation: it gives whole items of theirs, or puts their places, names and
days into its own. The list is read out of the prompt itself, so that it cannot fall behind it. What a cited message
supports is never taken for an echo: people do move to the towns of examples. All of it is pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from memstrata.distill.atoms.extract_prompt import extract_system
from memstrata.distill.atoms.identity import without_user_name
from memstrata.records import Mode
from memstrata.text.analyser import index_terms, query_terms

__all__ = ["Example", "Examples", "examples_of", "may_be_rendered", "stands_in"]

_NEAR = 0.9
_SUPPORT = 0.5
_FIELD = re.compile(r'"(?:value|scene|subject_name|owner|artifact_ref)": "([^"]+)"')
_NAME = re.compile(r'"(?:value|subject_name|owner)": "([^\W\d_]{2,})"')
_DAY = re.compile(r'"(?:start|end|deadline)": "([^"]+)"')
_DIGIT = re.compile(r"\d")
_NUMBER = re.compile(r"[\d\s.,:/%+-]+")
_YES_OR_NO = frozenset({"yes", "no", "true", "false", "none", "是", "否", "有", "无", "はい", "いいえ"})

_ROLES: Final = frozenset(index_terms("User 用户 assistant 助手"))
"""In nearly every memory, so they tell nothing."""


@dataclass(frozen=True, slots=True)
class Example:
    """One item of the prompt's examples: the words of its content, its days as they are written."""

    words: frozenset[str]
    days: frozenset[str]


@dataclass(frozen=True, slots=True)
class Examples:
    """What a prompt shows by way of example: whole items, the values of fields, and the names among them as terms."""

    items: tuple[Example, ...]
    values: frozenset[str]
    names: frozenset[str]

    def like(self, content: str, user_name: str) -> Example | None:
        """Return the example that a content repeats: nine in ten words of either are words of both, the user's name apart."""
        words = _words(content, user_name)
        for item in self.items:
            if len(words & item.words) >= _NEAR * max(len(words), len(item.words)):
                return item
        return None

    def is_echo(self, content: str, user_name: str, cited: str, shown: str) -> bool:
        """Say whether a content comes from an example.

        It does if it repeats one and the cited messages share less than half of its words, or if it holds a name of the
        examples that stands in nothing that was shown.
        """
        words = _words(content, user_name)
        names = words & self.names
        if names and names - frozenset(index_terms(shown)):
            return True
        if self.like(content, user_name) is None:
            return False
        return len(words & frozenset(index_terms(cited))) < _SUPPORT * len(words)

    def has(self, value: str) -> bool:
        """Say whether a field of the prompt has this value."""
        return value.casefold() in self.values


@cache
def examples_of(mode: Mode) -> Examples:
    """Return the examples of a mode's prompt."""
    prompt = extract_system(mode)
    lines = [line for line in prompt.splitlines() if line.startswith('{"memories": [{')]
    items: list[Mapping[str, object]] = [item for line in lines for item in json.loads(line)["memories"]]
    read = (
        Example(_words(str(item["content"]), ""), frozenset(_DAY.findall(json.dumps(item, ensure_ascii=False))))
        for item in items
    )
    names = frozenset(term for name in _NAME.findall(prompt) for term in index_terms(name))
    return Examples(tuple(read), frozenset(value.casefold() for value in _FIELD.findall(prompt)), names)


def stands_in(value: str, content: str, shown: str) -> bool:
    """Say whether half of a value's words, in any form, stand in the memory's own content or in what was shown."""
    words = frozenset(query_terms(value))
    needed = _SUPPORT * len(words)
    there = words & frozenset(index_terms(content))
    return len(there) >= needed or len(there | words & frozenset(index_terms(shown))) >= needed


def may_be_rendered(value: str, content: str) -> bool:
    """Say whether a value may be what was said in another form: a number, a bare yes or no, other letters than the content's."""
    if value.casefold() in _YES_OR_NO or _NUMBER.fullmatch(value):
        return True
    return _beyond_ascii(value) != _beyond_ascii(content)


def _words(content: str, user_name: str) -> frozenset[str]:
    """Return the words that tell one content from another: no numbers, which a model alters, and no name of the user."""
    words = frozenset(query_terms(without_user_name(content))) - _ROLES - frozenset(index_terms(user_name))
    return frozenset(word for word in words if not _DIGIT.search(word))


def _beyond_ascii(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(not letter.isascii() for letter in letters) > len(letters)
