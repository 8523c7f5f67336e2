"""Which paths a scene may have, and how a title becomes a file name.

A path comes from clients and from models, ends up in mirror files and in lines that clients parse, so it is checked at
the edge and built in one place. Sources: wire contract §3.3 (safe path), pipeline reference §5.5 (letters of a name).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from memstrata.errors import InvalidRequest

__all__ = ["MAX_NAME_LENGTH", "check_path", "check_prefix", "fold_path", "scene_file_name"]

MAX_NAME_LENGTH = 80
"""Code points of a file name, `.md` and a collision's number included."""

_SUFFIX = ".md"
_UNNAMED = "scene"
_REFUSAL = "Path must be relative (no '..', no leading '/', no backslash/NUL)"
_REPEATS = re.compile(r"([-_.])[-_.]+")
_MARKDOWN_SUFFIX = re.compile(r"\.md\s*$", re.IGNORECASE)


def check_path(path: str) -> str:
    """Return `path` when it is safe to read, write and remove. Raises InvalidRequest(field="path") otherwise.

    Refused besides what the contract lists: control characters, because a path stands on a line of its own in the
    scene index. A trailing slash is allowed: it names a directory.
    """
    if not path or not _is_safe(path):
        raise InvalidRequest(_REFUSAL, field="path")
    return path


def check_prefix(prefix: str) -> str:
    """Return `prefix` when paths may be filtered by it; empty means all. Raises InvalidRequest(field="path_prefix")."""
    if not _is_safe(prefix):
        raise InvalidRequest(_REFUSAL, field="path_prefix")
    return prefix


def scene_file_name(title: str, taken: Collection[str]) -> str:
    """Return a file name for `title` that none of `taken` equals, not even on a case-insensitive file system.

    Letters, marks and digits of any script stay, so do `-`, `_` and inner dots; everything else separates words. NFC,
    at most MAX_NAME_LENGTH code points, ends in `.md`; a collision is numbered from `-2`.
    """
    stem = _stem(title)
    folded = {fold_path(path) for path in taken}
    name = _shortened(stem, "")
    number = 2
    while fold_path(name) in folded:
        name = _shortened(stem, f"-{number}")
        number += 1
    return name


def fold_path(path: str) -> str:
    """Return what two paths share when a file system may take one for the other."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFKC", path).casefold())


def _is_safe(path: str) -> bool:
    if path.startswith("/") or "\\" in path:
        return False
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in path):
        return False
    return ".." not in path.split("/")


def _stem(title: str) -> str:
    text = _MARKDOWN_SUFFIX.sub("", unicodedata.normalize("NFC", title))
    words = "".join(character if _belongs_in_a_name(character) else "-" for character in text)
    return _REPEATS.sub(r"\1", words).strip("-_.") or _UNNAMED


def _belongs_in_a_name(character: str) -> bool:
    return character in "-_." or unicodedata.category(character)[0] in "LMN"


def _shortened(stem: str, number: str) -> str:
    room = MAX_NAME_LENGTH - len(number) - len(_SUFFIX)
    return (stem[:room].rstrip("-_.") or _UNNAMED) + number + _SUFFIX
