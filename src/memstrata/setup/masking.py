"""A diff for eyes: what looks like a key in it is cut short. The files themselves hold what they held. Pure.

Configuration of others holds their keys, and a diff shows the lines beside ours.
"""

from __future__ import annotations

import re

__all__ = ["masked"]

_NAMED = re.compile(
    r"""([\w-]*(?:key|token|secret|password|authorization)"?[ \t]*[:=][ \t]*"?(?:sk-mem-|bearer[ ])?)"""
    r"""(?:[^"\\\n]|\\[^nr])+""",
    re.IGNORECASE,
)
_PREFIXED = re.compile(r"\b(sk-(?:mem-|ant-)?)[\w-]{8,}")


def masked(text: str) -> str:
    """Return a text with `…` in the place of keys, known by what they are called or by how they begin.

    A value ends with its string, or, among headers in one string, with its line.
    """
    return _PREFIXED.sub(r"\1…", _NAMED.sub(r"\1…", text))
