"""Text that every store and every wire can carry."""

from __future__ import annotations

__all__ = ["well_formed"]


def well_formed(text: str) -> str:
    """Return `text` with each lone surrogate, which is no character and cannot be UTF-8, as U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
