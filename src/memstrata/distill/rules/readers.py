"""Which readers look at a sentence of a language. A language without one is left to a model."""

from __future__ import annotations

from functools import cache

from memstrata.distill.rules.reading import Reader

__all__ = ["readers_for"]


@cache
def readers_for(language: str) -> tuple[Reader, ...]:
    """Return the readers of a language as `language_of` names it, in the order in which they are asked.

    Latin script counts as English there, so every reader of a language in Latin script is asked after it. A language is
    loaded when it is first met: its patterns take longer to compile than the server to start.
    """
    match language:
        case "zh":
            from memstrata.distill.rules import zh

            return (zh.READER,)
        case "en":
            from memstrata.distill.rules import brief, en

            return (en.READER, brief.SPANISH)
        case "ja":
            from memstrata.distill.rules import ja

            return (ja.READER,)
        case "ko" | "ru":
            from memstrata.distill.rules import brief

            return (brief.KOREAN if language == "ko" else brief.RUSSIAN,)
        case _:
            return ()
