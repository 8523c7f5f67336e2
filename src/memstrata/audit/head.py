"""Where the trail ended, in a small file beside the database: who cuts rows off the end has to forge this one too."""

from __future__ import annotations

import json
from pathlib import Path

from memstrata.errors import Misconfigured
from memstrata.records.audit import AuditHead

__all__ = ["HEAD_NAME", "read_head", "write_head"]

HEAD_NAME = "audit.head"


def read_head(folder: Path) -> AuditHead | None:
    """Return the noted end, None where there is no such file. Raises Misconfigured for a file that is not one of ours."""
    file = folder / HEAD_NAME
    try:
        noted = json.loads(file.read_text(encoding="utf-8"))
        return AuditHead(int(noted["rows"]), bytes.fromhex(noted["hash"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Misconfigured(f"{file} cannot be read: {error}") from error


def write_head(folder: Path, head: AuditHead) -> None:
    """Note an end, in place of the one before. Raises OSError."""
    file = folder / HEAD_NAME
    fresh = file.with_name(f"{HEAD_NAME}.new")
    fresh.write_text(json.dumps({"rows": head.seq, "hash": head.hash.hex()}), encoding="utf-8")
    fresh.replace(file)
