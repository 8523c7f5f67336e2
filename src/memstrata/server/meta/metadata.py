"""`metadata_json`, which callers keep with what they make: any JSON, returned as it was given.

It is stored as text, so a number keeps its digits and an object its order. Source: wire contract §5.
"""

from __future__ import annotations

import msgspec

from memstrata.errors import InvalidRequest

__all__ = ["NO_METADATA", "given_metadata", "shown_metadata"]

NO_METADATA = "null"


def given_metadata(metadata: msgspec.Raw) -> str | None:
    """Return the JSON text of a request's field, which is of type `Raw` with the default `Raw()`; None where it is absent.

    Raises InvalidRequest for what the reading of the body skipped over: broken text, and nesting past any use.
    """
    raw = bytes(metadata)
    if raw in (b"", NO_METADATA.encode()):
        return None
    try:
        msgspec.json.decode(raw)
        return raw.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidRequest("is no JSON", field="metadata_json") from None


def shown_metadata(metadata: str) -> msgspec.Raw:
    """Return stored metadata as it stands in an answer."""
    return msgspec.Raw(metadata.encode())
