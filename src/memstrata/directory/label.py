"""What people call things: any text that is not blank, kept as it was written."""

from __future__ import annotations

from memstrata.errors import InvalidRequest
from memstrata.text.wellformed import well_formed

__all__ = ["checked_label"]


def checked_label(text: str, field: str = "name") -> str:
    """Return a name or title as it is stored. Raises InvalidRequest for a blank one."""
    if not text.strip():
        raise InvalidRequest("must not be empty", field=field)
    return well_formed(text)
