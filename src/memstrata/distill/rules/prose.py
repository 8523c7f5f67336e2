"""From single statements to sentences a person reads: one subject, several predicates.

"用户叫小林" and "用户住在杭州" become "用户叫小林，住在杭州。"; "The user lives in Berlin" and "The user loves hiking" become
"The user lives in Berlin and loves hiking." The words stay as they were stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from memstrata.text.language import language_of

__all__ = ["as_sentence", "order_only", "weave"]

_STOP = re.compile(r"[.。!！?？…]$")
_SUBJECTS = (
    ("zh", re.compile(r"用户(?!的|要求|名|与|和|（)(?=.)")),
    ("ja", re.compile(r"ユーザーは、?")),
    ("en", re.compile(r"The user (?!asks |asked )")),
)
_ORDER = re.compile(r"(?:用户要求AI|The user asks the AI (?:to |that )?|The user asks the AI (?=not |for ))")
_MOST_PREDICATES = 4
_LONGEST_SENTENCE = 140


def weave(texts: Sequence[str]) -> str:
    """Return the statements as running text in their order. Neighbours with the same subject share it."""
    sentences = list(_sentences(texts))
    return "".join(
        sentence if index == 0 or sentences[index - 1][-1] in "。！？…" else f" {sentence}"
        for index, sentence in enumerate(sentences)
    )


def as_sentence(text: str) -> str:
    """Return a statement with the full stop of its language."""
    text = text.strip()
    if not text or _STOP.search(text):
        return text
    return f"{text}{'。' if language_of(text) in ('zh', 'ja') else '.'}"


def order_only(text: str) -> str:
    """Return what is ordered, without the words that say who orders it: for lists under a heading that says so."""
    order = _ORDER.match(text)
    if order is None:
        return text
    rest = text[order.end() :]
    return rest[:1].upper() + rest[1:]


def _sentences(texts: Sequence[str]) -> Iterator[str]:
    index = 0
    while index < len(texts):
        language, head = _subject(texts[index])
        if not language:
            yield as_sentence(texts[index])
            index += 1
            continue
        predicates: list[str] = []
        length = len(head)
        while index < len(texts) and len(predicates) < _MOST_PREDICATES:
            same, also = _subject(texts[index])
            predicate = _STOP.sub("", texts[index][len(also) :].strip())
            fits = not predicates or length + len(predicate) <= _LONGEST_SENTENCE
            if same != language or not fits:
                break
            predicates.append(predicate)
            length += len(predicate)
            index += 1
        yield _sentence(language, head, predicates)


def _subject(text: str) -> tuple[str, str]:
    for language, pattern in _SUBJECTS:
        if (match := pattern.match(text)) is not None:
            return language, match[0]
    return "", ""


def _sentence(language: str, head: str, predicates: Sequence[str]) -> str:
    """Join predicates so that a reader sees where each ends: one with commas of its own is set off by semicolons."""
    if language == "ja":
        return head + "".join(as_sentence(predicate) for predicate in predicates)
    if language == "zh":
        intricate = any("，" in predicate for predicate in predicates)
        return as_sentence(head + ("；" if intricate else "，").join(predicates))
    if len(predicates) == 1:
        return as_sentence(head + predicates[0])
    if any("," in predicate or " and " in predicate for predicate in predicates):
        return as_sentence(head + "; ".join(predicates))
    return as_sentence(f"{head}{', '.join(predicates[:-1])} and {predicates[-1]}")
