"""What a coding agent tells its hooks: one JSON object on standard input, read as data that anybody may have written.

Claude Code and Codex send the same names for what is used here (Claude Code: hooks reference; Codex: the schemas in its
`hooks/schema/generated`). Only Codex sends `turn_id`; an `agent_id` says that a sub-agent is speaking.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

__all__ = ["MAX_BYTES", "Event", "read_event"]

MAX_BYTES = 8_000_000  # more is no prompt


@dataclass(frozen=True, slots=True)
class Event:
    """One call of a hook. A field that the event does not have is empty.

    `source` says how a session came to start, `is_continued` that another hook sent the agent back to work.
    """

    name: str
    session: str
    source: str = ""
    prompt: str = ""
    turn: str = ""
    answer: str = ""
    transcript: str = ""
    is_subagent: bool = False
    is_continued: bool = False


def read_event(text: bytes) -> Event:
    """Raises ValueError for what is no event of a session."""
    if len(text) > MAX_BYTES:
        raise ValueError("the event is too large")
    try:
        fields = json.loads(text)
    except RecursionError:
        raise ValueError("the event is nested too deep") from None
    if not isinstance(fields, dict):
        raise ValueError("the event is no object")
    name, session = _text(fields, "hook_event_name"), _text(fields, "session_id")
    if not name or not session.strip():
        raise ValueError("the event names no hook_event_name or no session_id")
    return Event(
        name=name,
        session=session,
        source=_text(fields, "source"),
        prompt=_text(fields, "prompt"),
        turn=_text(fields, "turn_id"),
        answer=_text(fields, "last_assistant_message"),
        transcript=_text(fields, "transcript_path"),
        is_subagent=bool(fields.get("agent_id")),
        is_continued=fields.get("stop_hook_active") is True,
    )


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""
