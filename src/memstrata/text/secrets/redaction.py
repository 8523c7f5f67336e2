"""Putting a placeholder in the place of every secret of a text.

What is left says that there was a secret and of which kind, because a sentence without it would lie. A text is read
again after a change until nothing is found: so redacting twice is redacting once, whatever a placeholder comes to stand
next to. Each pass is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from memstrata.text.secrets.assignments import assigned
from memstrata.text.secrets.carriers import carried
from memstrata.text.secrets.pem import private_keys
from memstrata.text.secrets.place import Place
from memstrata.text.secrets.prose import told
from memstrata.text.secrets.shapes import keys

__all__ = ["Redacted", "Secret", "placeholders", "redact", "secrets_of"]

_PLACEHOLDER = re.compile(r"\[redacted:[a-z_]+\]")
_FINDERS = (private_keys, keys, carried, assigned, told)
_MOST_PASSES = 6


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and the kind of each that was taken out."""

    text: str
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Secret:
    """What was taken out. It is for looking for the same elsewhere, and never for an answer or a log."""

    kind: str
    value: str = field(repr=False)


def redact(text: str) -> Redacted:
    """Return the text with `[redacted:<kind>]` for each secret. A text without secrets comes back as it is."""
    cleaned, secrets = secrets_of(text)
    return Redacted(cleaned, tuple(one.kind for one in secrets))


def secrets_of(text: str) -> tuple[str, tuple[Secret, ...]]:
    """Return what `redact` returns as text, and what it took out."""
    secrets: list[Secret] = []
    for _ in range(_MOST_PASSES):
        found = list(_apart(text))
        if not found:
            break
        pieces: list[str] = []
        end = 0
        for place in found:
            pieces += (text[end : place.start], f"[redacted:{place.kind}]")
            end = place.end
        secrets += (Secret(place.kind, text[place.start : place.end]) for place in found)
        text = "".join((*pieces, text[end:]))
    return text, tuple(secrets)


def placeholders(text: str) -> int:
    """Return how many secrets were taken out of a text before."""
    return sum(1 for _ in _PLACEHOLDER.finditer(text))


def _apart(text: str) -> Iterator[Place]:
    """Yield the secrets in order; of those that overlap one, named by the first, and cut off at older placeholders."""
    old = [match.span() for match in _PLACEHOLDER.finditer(text)]
    found = [place for finder in _FINDERS for place in finder(text)]
    found.sort(key=lambda place: (place.start, -place.end))
    merged: list[Place] = []
    for place in found:
        if merged and place.start < merged[-1].end:
            if place.end > merged[-1].end:
                merged[-1] = merged[-1]._replace(end=place.end)
        else:
            merged.append(place)
    at = 0
    for place in merged:
        while at < len(old) and old[at][1] <= place.start:
            at += 1
        if at == len(old) or old[at][0] >= place.end:
            yield place
        elif old[at][0] > place.start:
            yield place._replace(end=old[at][0])
