"""Where the service of an asset is that lives elsewhere: a skill, a wiki, a code graph.

Whoever registers it says so in `metadata_json`, an object or the text of one with `service_url`, or in `content_ref`. Agents
are handed the address, so it is one of HTTP, or none.
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from memstrata.records.assets import Asset

__all__ = ["MAX_URL", "service_url"]

MAX_URL = 2_048


def service_url(asset: Asset) -> str | None:
    """Return the address of an asset's service; None where none is given that could be called."""
    for given in (_in_metadata(asset.metadata), asset.content_ref):
        if isinstance(given, str) and _is_address(given):
            return given
    return None


def _in_metadata(metadata: str) -> object:
    try:
        value = json.loads(metadata)
        value = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None  # any JSON is allowed there, and text that is none: it says nothing of a service
    return value.get("service_url") if isinstance(value, dict) else None


def _is_address(text: str) -> bool:
    if len(text) > MAX_URL or any(c.isspace() or not c.isprintable() for c in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
