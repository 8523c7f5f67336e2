"""The clients that are known by name, and what is assumed of any other. One row each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from memstrata.proxy.clients.client import Client, QuestionTool

__all__ = ["CLIENTS", "client_named"]

_CLAUDE = frozenset(
    {
        "system-reminder",
        "persisted-output",
        "tool_use_error",
        "local-command-stdout",
        "local-command-stderr",
        "local-command-caveat",
        "bash-input",
        "bash-stdout",
        "bash-stderr",
        "ide_selection",
        "ide_opened_file",
        "ide_diagnostics",
        "task-notification",
        "new-diagnostics",
    }
)
_BUDDY = frozenset(
    {
        "system-reminder",
        "system_reminder",
        "additional_data",
        "user_info",
        "open_and_recently_viewed_files",
        "session",
        "question_answer",
        "persisted-output",
        "persisted_output",
        "tool_use_error",
        "tool-use-error",
        "tool_result",
        "tool-result",
    }
)
_CODEX = frozenset(
    {"environment_context", "user_instructions", "turn_aborted", "permissions instructions", "INSTRUCTIONS"}
)
_USER_INPUT = QuestionTool(
    "request_user_input", "codex", "call_memstrata_form_", most_options=3, several_questions=True
)

_ROWS = (
    Client(
        "claude-code",
        _CLAUDE,
        session_headers=("x-claude-code-session-id",),
        questions=(
            QuestionTool("AskUserQuestion", "claude", "toolu_memstrata_form_", most_options=4, several_questions=True),
        ),
        always_has_tools=True,
        marks_conversation=True,
    ),
    Client(
        "codebuddy",
        _BUDDY,
        questions=(QuestionTool("ask_followup_question", "codebuddy", "call_memstrata_form_", several_questions=True),),
        always_has_tools=True,
    ),
    Client(
        "codex",
        _CODEX,
        session_headers=("session-id", "session_id", "thread-id"),
        questions=(_USER_INPUT,),
    ),
    Client(
        "workbuddy",
        _BUDDY | _CODEX,
        session_headers=("session-id", "session_id"),
        questions=(QuestionTool("AskUserQuestion", "claude", "call_memstrata_form_", most_options=4), _USER_INPUT),
    ),
    Client(
        "dsh",
        _CLAUDE,
        session_headers=("x-deepseek-harness-session-id",),
        questions=(QuestionTool("ask_user_question", "dsh", "call_memstrata_form_"),),
    ),
    Client("openclaw"),
    Client("hermes"),
    Client("cursor", frozenset({"additional_data", "user_info", "open_and_recently_viewed_files", "system_reminder"})),
)

CLIENTS: Mapping[str, Client] = MappingProxyType({row.name: row for row in _ROWS})


def client_named(agent: str) -> Client:
    """Return the row of a path's agent; for a name that has none, a client of which nothing is assumed.

    Such a client may not send its history again, so nothing is put into messages that it would have to carry on.
    """
    known = CLIENTS.get(agent.lower())
    return known if known is not None else Client(agent.lower(), frozenset({"system-reminder"}), resends_history=False)
