"""Which readers look at a sentence of a language. A language without one is left to a model."""

from __future__ import annotations

from memstrata.distill.rules import brief, en, ja, zh
from memstrata.distill.rules.reading import Reader

__all__ = ["readers_for"]

_READERS: dict[str, tuple[Reader, ...]] = {
    "zh": (zh.READER,),
    "en": (en.READER, brief.SPANISH),
    "ja": (ja.READER,),
    "ko": (brief.KOREAN,),
    "ru": (brief.RUSSIAN,),
}


def readers_for(language: str) -> tuple[Reader, ...]:
    """Return the readers of a language as `language_of` names it, in the order in which they are asked.

    Latin script counts as English there, so every reader of a language in Latin script is asked after it.
    """
    return _READERS.get(language, ())
