"""Hooks in the JSON that Claude Code and Codex share: lists of groups by event, each a matcher and its commands.

Sources: Claude Code's hooks reference; Codex's hooks page and `codex-rs/hooks`. A group with a command of ours is ours;
where somebody has added commands of their own to it, it is theirs to change.
"""

from __future__ import annotations

from collections.abc import Mapping

from memstrata.setup.change import Launch, is_hook_command
from memstrata.setup.json_text import Value, plain, with_appended, without_items
from memstrata.setup.json_tree import Array, Object, parse

__all__ = ["put_hooks", "take_hooks"]

_TIMEOUT_SECONDS = 5  # the command itself takes at most two
_MATCHERS: Mapping[str, str] = {"SessionStart": "startup|clear|compact", "UserPromptSubmit": "", "Stop": ""}


def put_hooks(text: str, client: str, launch: Launch) -> str:
    """Return the text with our command at each of the three events, once. Raises ValueError."""
    for event, matcher in _MATCHERS.items():
        group: dict[str, Value] = {"matcher": matcher} if matcher else {}
        command: dict[str, Value] = {
            "type": "command",
            "command": launch.line("hook", client),
            "timeout": _TIMEOUT_SECONDS,
        }
        group["hooks"] = [command]
        if [one for one in _groups(text, event) if _ours(one)] != [group]:
            text = with_appended(_take(text, event), ("hooks", event), group)
    return text


def take_hooks(text: str) -> str:
    """Return the text without our commands, and without what this leaves empty. Raises ValueError."""
    for event in _MATCHERS:
        text = _take(text, event)
    return text


def _take(text: str, event: str) -> str:
    text = without_items(
        text, ("hooks", event), lambda group: bool(_ours(group)) and len(_commands(group)) == len(_ours(group))
    )
    for group in [one for one in _groups(text, event) if _ours(one)]:
        raise ValueError(
            f"hooks.{event}: our command shares a group with {len(_commands(group)) - 1} others; take it out by hand"
        )
    return text


def _groups(text: str, event: str) -> list[object]:
    root = parse(text)
    hooks = root.get("hooks") if isinstance(root, Object) else None
    groups = hooks.get(event) if isinstance(hooks, Object) else None
    return [plain(item) for item in groups.items] if isinstance(groups, Array) else []


def _commands(group: object) -> list[object]:
    commands = group.get("hooks") if isinstance(group, dict) else None
    return commands if isinstance(commands, list) else []


def _ours(group: object) -> list[object]:
    return [one for one in _commands(group) if isinstance(one, dict) and is_hook_command(one.get("command"))]
