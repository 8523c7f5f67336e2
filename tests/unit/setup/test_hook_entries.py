"""Our commands among the hooks of somebody who has their own."""

from __future__ import annotations

import json

import pytest

from memstrata.setup.change import Launch, is_hook_command
from memstrata.setup.hook_entries import put_hooks, take_hooks
from memstrata.setup.json_text import EMPTY

LAUNCH = Launch(("/opt/my tools/memstrata",), ("--url", "http://127.0.0.1:8420"))
THEIRS = """\
{
    "model": "opus", // mine
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": []
    }
}
"""


def test_each_event_has_our_command_once_beside_theirs() -> None:
    changed = put_hooks(EMPTY, "codex", LAUNCH)
    hooks = json.loads(changed)["hooks"]
    assert set(hooks) == {"SessionStart", "UserPromptSubmit", "Stop"}
    command = "'/opt/my tools/memstrata' hook codex --url http://127.0.0.1:8420"
    assert hooks["Stop"] == [{"hooks": [{"type": "command", "command": command, "timeout": 5}]}]
    assert hooks["SessionStart"][0]["matcher"] == "startup|clear|compact"
    assert put_hooks(changed, "codex", LAUNCH) == changed


def test_theirs_stay_to_the_byte() -> None:
    changed = put_hooks(THEIRS, "claude-code", LAUNCH)
    assert '"model": "opus", // mine' in changed
    assert '{"hooks": [{"type": "command", "command": "say done"}]}' in changed
    assert json.loads(take_hooks(changed).replace("// mine", "")) == json.loads(THEIRS.replace("// mine", ""))


def test_another_installation_of_ours_is_replaced() -> None:
    older = put_hooks(THEIRS, "claude-code", Launch(("/usr/bin/python3", "-m", "memstrata.cli"), ("--team", "old")))
    assert put_hooks(older, "claude-code", LAUNCH) == put_hooks(THEIRS, "claude-code", LAUNCH)


def test_a_group_that_others_have_joined_is_left_to_its_owner() -> None:
    shared = '{"hooks": {"Stop": [{"hooks": [{"command": "memstrata hook codex"}, {"command": "say done"}]}]}}'
    with pytest.raises(ValueError, match=r"hooks\.Stop"):
        take_hooks(shared)


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("memstrata hook claude-code", True),
        ("'/a b/memstrata' hook codex --url http://x", True),
        ("python -m memstrata.cli hook codex", True),
        ('"C:\\x\\memstrata.exe" hook codex', True),
        ("memstrata hook codexes", False),
        ("echo memstrata", False),
        ("my-hook claude-code", False),
        (None, False),
    ],
)
def test_our_commands_are_known_by_their_words(command: object, ours: bool) -> None:
    assert is_hook_command(command) is ours
