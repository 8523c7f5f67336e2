"""The names of a generation: its log id, its key among files, and the cursor that a listing goes on from.

All are derived from the run, so nothing has to be kept for them, and a log id leads back to its run even after the rows
that it was named for were deleted. Source: wire contract §1.6, §4.3; pipeline reference §9.2.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Literal, cast, get_args

from memstrata.clock import Instant, to_iso
from memstrata.errors import InvalidRequest
from memstrata.records import Layer, RunRecord

__all__ = ["GenerationStatus", "LogId", "key_of", "next_cursor", "parse_log_id", "read_cursor", "status_of"]

GenerationStatus = Literal["succeeded", "failed"]

NO_ANCHOR = "none"
_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,128}")
_LOG_ID = re.compile(
    rf"mgl_(?P<layer>{'|'.join(get_args(Layer))})_(?P<status>{'|'.join(get_args(GenerationStatus))})"
    r"_(?P<finished>[0-9]{1,15})_(?P<anchor>[A-Za-z0-9._-]{1,128})_(?P<run>[0-9a-f]{16})"
)
_LAST_RUN = 2**63 - 1  # what a row number can be
_REVERSED_FROM = 9_999_999_999_999


@dataclass(frozen=True, slots=True)
class LogId:
    """The parts of a log id. `anchor` is the record that stands for the run, as far as a name can hold it."""

    layer: Layer
    status: GenerationStatus
    finished_ms: Instant
    anchor: str
    run_id: int

    @classmethod
    def of(cls, run_id: int, run: RunRecord, record_id: str | None) -> LogId:
        """Return the id of a run whose first output is the record of that id, None if it has none."""
        anchor = NO_ANCHOR if record_id is None else _anchor(record_id)
        return cls(run.kind, status_of(run), max(run.finished_at, 0), anchor, run_id)

    def __str__(self) -> str:
        return f"mgl_{self.layer}_{self.status}_{self.finished_ms}_{self.anchor}_{self.run_id:016x}"

    def generation_id(self, instance: str) -> str:
        """Return `mg_` and 32 hex digits, which stay the same when the anchor is deleted."""
        parts = (instance, self.layer, self.status, str(self.finished_ms), str(self.run_id))
        return f"mg_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"

    def names(self, run: RunRecord) -> bool:
        """Whether this is the id of that run; the anchor may have gone since."""
        return (self.layer, self.status, self.finished_ms) == (run.kind, status_of(run), max(run.finished_at, 0))


def status_of(run: RunRecord) -> GenerationStatus:
    """Return whether a run came to an end, be it with nothing to write."""
    return "succeeded" if run.outcome in ("items", "nothing") else "failed"


def parse_log_id(text: str) -> LogId | None:
    """Return the parts of a log id, None if the text is none."""
    match = _LOG_ID.fullmatch(text)
    if match is None or (run_id := int(match["run"], 16)) > _LAST_RUN:
        return None
    layer, status = cast("Layer", match["layer"]), cast("GenerationStatus", match["status"])
    return LogId(layer, status, int(match["finished"]), match["anchor"], run_id)


def key_of(log_id: LogId) -> str:
    """Return where the record would lie among files: by layer, UTC date and hour, the newest first."""
    at = to_iso(log_id.finished_ms)
    place = f"memory-generation-logs/v1/layer={log_id.layer}/date={at[:10]}/hour={at[11:13]}"
    reverse = max(_REVERSED_FROM - log_id.finished_ms, 0)
    return f"{place}/{reverse:013d}__mid={log_id.anchor}__lid={log_id}.json"


def next_cursor(last: LogId) -> str:
    """Return what a listing that ended with this record goes on from."""
    place = json.dumps({"beforeMs": last.finished_ms, "afterLogId": str(last)}, separators=(",", ":"))
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def read_cursor(cursor: str) -> tuple[Instant, int]:
    """Return time and run that a listing goes on behind. Raises InvalidRequest for what was never handed out."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        place = json.loads(raw)
    except (binascii.Error, ValueError, RecursionError):
        raise _bad_cursor() from None
    match place:
        case {"beforeMs": int(before), "afterLogId": str(text)} if (log_id := parse_log_id(text)) is not None:
            if before == log_id.finished_ms:
                return before, log_id.run_id
    raise _bad_cursor()


def _bad_cursor() -> InvalidRequest:
    return InvalidRequest("INVALID_GENERATION_LOG_CURSOR: go on with the next_cursor of an answer, as it was given")


def _anchor(record_id: str) -> str:
    if _PLAIN.fullmatch(record_id):
        return record_id
    return f"h_{hashlib.sha256(record_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
