"""What the command line says, in the language of the terminal: Chinese where the locale is, English elsewhere.

One table, so that a sentence and its translation are changed together. What other rooms report (a file's error, a
component's reason) is English; it is framed by a sentence from here.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

from memstrata.cli.phrases import NOUNS, PHRASES

__all__ = ["Language", "Words", "say", "terminal_language"]

Language = Literal["en", "zh"]

# What the C library looks at, in its order; the first that is set decides.
_LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")


def terminal_language(environ: Mapping[str, str]) -> Language:
    """Return the language that the environment asks for."""
    locale = next((environ[name] for name in _LOCALE_VARIABLES if environ.get(name)), "")
    return "zh" if locale.lower().startswith("zh") else "en"


class Words:
    """The table in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._column = 0 if language == "en" else 1

    def __call__(self, phrase: str, /, **values: object) -> str:
        """Return a phrase with its places filled."""
        return PHRASES[phrase][self._column].format(**values)

    def count(self, noun: str, number: int) -> str:
        """Return a number with what it counts: `1 message`, `96 messages`, `96 条消息`."""
        one, many, chinese = NOUNS[noun]
        if self.language == "zh":
            return f"{number:,} {chinese}"
        return f"{number:,} {one if number == 1 else many}"


say = Words(terminal_language(os.environ))
"""The words of this process."""
