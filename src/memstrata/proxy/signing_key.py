"""The key that the bridge's tokens are signed with: made once, kept in a file that only its owner can read.

It must outlive the process: a token stands in prompts that are sent again for as long as a conversation goes on.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from memstrata.errors import Misconfigured

__all__ = ["FILE_NAME", "signing_key"]

FILE_NAME = "proxy.key"
_BYTES = 32


def signing_key(folder: Path) -> bytes:
    """Return the key of a data folder, made at the first call. Raises Misconfigured where it cannot be read or written."""
    file = folder / FILE_NAME
    try:
        try:
            descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            key = file.read_bytes()
        else:
            key = secrets.token_bytes(_BYTES)
            with os.fdopen(descriptor, "wb") as out:
                out.write(key)
                out.flush()
                os.fsync(out.fileno())
    except OSError as error:
        raise Misconfigured(f"{file}: the proxy's key cannot be kept there: {error.strerror}") from error
    if len(key) < _BYTES:
        raise Misconfigured(f"{file}: this is no key; remove it, and running sessions lose their recipes")
    return key
