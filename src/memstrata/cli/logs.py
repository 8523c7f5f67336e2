"""Log lines of the house's loggers, on stderr: plain text, or one JSON object a line. Contents of memories are never logged."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Literal

__all__ = ["LogFormat", "write_logs"]

LogFormat = Literal["plain", "json"]

_PLAIN = "%(asctime)s %(levelname)-7s %(name)s: %(message)s"
# Their information is ours as well (the address, each request that our own client makes) and says it a second time.
_TALKATIVE = ("uvicorn", "httpx", "httpcore", "asyncio")


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def write_logs(level: str, form: LogFormat = "plain") -> None:
    """Send what is at least as severe as `level` to stderr."""
    handler = logging.StreamHandler()
    handler.setFormatter(_JsonLines() if form == "json" else logging.Formatter(_PLAIN))
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(max(logging.WARNING, logging.getLogger().level))
