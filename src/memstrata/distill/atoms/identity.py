"""Whether a text calls the user by a name that is not the user's: who the user is comes from identity alone.

Models take the name of whoever is spoken of, or of an example, for the user's (user needs A9, B22). What stands in
brackets behind the word for user is read as a name, so nothing else may stand there. That goes for the mark of a call,
too, which small models take for one.
"""

from __future__ import annotations

import re
import unicodedata

__all__ = ["names_somebody_else", "without_user_name"]

_USER = (
    r"(?:\buser\b|用户|用戶|使用者|ユーザー?|사용자|\busuari[oa]\b|\butilisat(?:eur|rice)\b|\b(?:Be)?nutzer(?:in)?\b"
    r"|\bпользователь\b)"
)
_IN_BRACKETS = re.compile(rf"{_USER}\s{{0,2}}[（(\[【]([^）)\]】]{{1,80}})[）)\]】]", re.IGNORECASE)
_MARK = re.compile(r"#?(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{4}")  # see `calls.new_mark`
_BEHIND = re.compile(r"(?:用户|用戶|\b[Tt]he user )\s?([A-Z][a-z]{1,30})(?![A-Za-z])")


def names_somebody_else(content: str, user_name: str) -> bool:
    """Return whether `content` gives the user a name other than `user_name`. Without one, every name is another."""
    own = _folded(user_name)
    said = [match[1] for match in _BEHIND.finditer(content)]
    said += [match[1] for match in _IN_BRACKETS.finditer(content) if _is_name(match[1].strip())]
    return any(not _is_part(_folded(name), own) for name in said)


def without_user_name(content: str) -> str:
    """Return a text without what stands in brackets behind the word for user."""
    return _IN_BRACKETS.sub(lambda match: match[0][: match.start(1) - match.start() - 1], content)


def _is_name(text: str) -> bool:
    """Say whether text in brackets is a name: it starts with a letter that is no small one and holds no number.

    A mark stands where a name should, so it counts as one.
    """
    if _MARK.fullmatch(text):
        return True
    return text[:1].isalpha() and not text[0].islower() and not any(character.isdigit() for character in text)


def _is_part(name: str, own: str) -> bool:
    return bool(own) and (name == own or set(name.split()) <= set(own.split()))


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
