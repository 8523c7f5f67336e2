"""`memstrata setup` on configuration that somebody has written: a diff, a question, files, and the way back."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from .shell import DEADLINE_SECONDS, EXECUTABLE, Finished, Shell

Setup = Callable[..., Finished]

SETTINGS = """\
{
    // mine
    "model": "opus", // fast
    "permissions": {"allow": ["Bash(ls:*)"], "deny": []},
    "hooks": {
        "Stop": [
            {"hooks": [{"type": "command", "command": "say done"}]}, // keep
        ]
    }
}
"""
CONFIG = 'model = "gpt-5"  # mine\n\n[mcp_servers.docs]\ncommand = "docs"\n# the end'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the configuration of both clients in it."""
    for name, text in ((".claude/settings.json", SETTINGS), (".codex/config.toml", CONFIG)):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    return tmp_path


def files_of(home: Path) -> dict[str, bytes]:
    return {str(file.relative_to(home)): file.read_bytes() for file in home.rglob("*") if file.is_file()}


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor"])
def test_what_is_set_up_is_undone_to_the_byte(home: Path, setup: Setup, client: str) -> None:
    before = files_of(home)
    done = setup(client, "--with", "mcp", "--yes")
    assert done.code == 0, done
    assert done.out.startswith("--- ")
    between = files_of(home)
    assert between != before
    again = setup(client, "--with", "mcp", "--yes")
    assert f"nothing to change for {client}" in again.out
    assert files_of(home) == between
    assert setup(client, "--undo", "--yes").code == 0
    assert files_of(home) == before
    assert "nothing to change" in setup(client, "--undo", "--yes").out


def test_the_usual_setup_of_a_client_with_hooks_is_hooks_alone(home: Path, setup: Setup) -> None:
    setup("claude-code", "--yes")
    assert not (home / ".claude.json").exists()
    text = (home / ".claude" / "settings.json").read_text()
    assert text.count("hook claude-code --url http://127.0.0.1:8420") == 3
    assert '{"hooks": [{"type": "command", "command": "say done"}]}, // keep' in text
    assert "mcpServers" not in text


def test_the_diff_is_that_of_the_files_and_nothing_is_written_without_consent(home: Path, setup: Setup) -> None:
    before = files_of(home)
    done = setup("codex", "--with", "mcp")
    assert done.code == 1
    assert "--yes" in done.out
    assert f"+++ {home}/.codex/config.toml" in done.out
    assert "+[mcp_servers.memstrata]" in done.out
    assert "\\ No newline at end of file" in done.out
    assert files_of(home) == before
    assert "没有写入" in setup("codex", env={"LC_ALL": "zh_CN.UTF-8"}).out


@pytest.mark.parametrize(("answer", "writes"), [(b"y\n", True), (b"n\n", False)])
def test_at_a_terminal_it_asks(home: Path, memstrata: Shell, answer: bytes, writes: bool) -> None:
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answer)
        done = subprocess.run(
            [EXECUTABLE, "setup", "cursor"],
            cwd=home,
            env=memstrata.environment({"HOME": str(home)}),
            stdin=theirs,
            capture_output=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert b"Write this?" in done.stdout
    assert done.returncode == (0 if writes else 1)
    assert (home / ".cursor" / "mcp.json").exists() is writes


def test_a_file_that_was_changed_since_keeps_the_change_and_loses_ours(home: Path, setup: Setup) -> None:
    setup("claude-code", "--yes")
    file = home / ".claude" / "settings.json"
    file.write_text(file.read_text().replace('"opus"', '"sonnet"'))
    setup("claude-code", "--undo", "--yes")
    text = file.read_text()
    assert text == SETTINGS.replace('"opus"', '"sonnet"')


def test_a_second_setup_after_a_change_by_hand_does_not_bring_the_older_file_back(home: Path, setup: Setup) -> None:
    setup("claude-code", "--yes")
    file = home / ".claude" / "settings.json"
    file.write_text(file.read_text().replace('"opus"', '"sonnet"'))
    setup("claude-code", "--yes", "--team", "acme")
    assert file.read_text().count("--team acme") == 3
    setup("claude-code", "--undo", "--yes")
    assert file.read_text() == SETTINGS.replace('"opus"', '"sonnet"')


def test_more_that_is_set_up_later_is_undone_with_the_rest(home: Path, setup: Setup) -> None:
    before = files_of(home)
    setup("codex", "--yes")
    setup("codex", "--with", "mcp", "--yes")
    setup("codex", "--undo", "--yes")
    assert files_of(home) == before


def test_a_link_into_dotfiles_stays_a_link_and_a_mode_stays_a_mode(home: Path, setup: Setup) -> None:
    real = home / "dotfiles.json"
    real.write_text(SETTINGS)
    real.chmod(0o640)
    file = home / ".claude" / "settings.json"
    file.unlink()
    file.symlink_to(real)
    setup("claude-code", "--yes")
    assert file.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert "hook claude-code" in real.read_text()


def test_folders_of_ones_own_are_where_the_client_looks(home: Path, setup: Setup) -> None:
    setup("codex", "--with", "mcp", "--yes", env={"CODEX_HOME": str(home / "cx")})
    setup("claude-code", "--with", "mcp", "--yes", env={"CLAUDE_CONFIG_DIR": str(home / "cl")})
    assert {"cx/hooks.json", "cx/config.toml", "cl/settings.json", "cl/.claude.json"} <= set(files_of(home))


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', "\xff"])
def test_a_file_that_is_not_what_the_client_reads_is_left_alone(home: Path, setup: Setup, text: str) -> None:
    (home / ".claude" / "settings.json").write_text(text, encoding="latin-1")
    before = files_of(home)
    done = setup("claude-code", "--with", "mcp", "--yes")
    assert done.code == 3
    assert "settings.json" in done.err
    assert files_of(home) == before


def test_backups_are_for_their_owner_alone(home: Path, setup: Setup) -> None:
    setup("claude-code", "--yes")
    file = home / ".local" / "state" / "memstrata" / "setup" / "claude-code.json"
    assert file.stat().st_mode & 0o077 == 0


def test_backups_that_cannot_be_read_are_said_so_before_anything_is_written(home: Path, setup: Setup) -> None:
    setup("claude-code", "--yes")
    (home / ".local" / "state" / "memstrata" / "setup" / "claude-code.json").write_text("{}}")
    before = files_of(home)
    done = setup("claude-code", "--undo", "--yes")
    assert done.code == 3
    assert files_of(home) == before


def test_what_is_not_known_is_wrong_usage(setup: Setup) -> None:
    assert setup("vim").code == 2
    assert setup("cursor", "--with", "hooks").code == 2
    assert setup("codex", "--url", "nowhere").code == 2


def test_a_program_gets_the_diff_and_whether_it_was_written(home: Path, setup: Setup) -> None:
    looked, written = setup("cursor", "--json"), setup("cursor", "--json", "--yes")
    assert (looked.code, looked.json["written"], written.code, written.json["written"]) == (1, False, 0, True)
    assert looked.json["diff"] == written.json["diff"]
    server = json.loads((home / ".cursor" / "mcp.json").read_text())["mcpServers"]["memstrata"]
    assert server["args"] == ["mcp", "--url", "http://127.0.0.1:8420"]
    assert Path(server["command"]).is_absolute()


def test_the_hooks_that_are_written_are_answered(home: Path, memstrata: Shell, setup: Setup) -> None:
    setup("codex", "--yes", "--url", "http://127.0.0.1:9")
    command = json.loads((home / ".codex" / "hooks.json").read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
    done = subprocess.run(
        command,
        shell=True,
        env=memstrata.environment({"HOME": str(home)}),
        input='{"hook_event_name": "Stop", "session_id": "s"}',
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "codex → http://127.0.0.1:9" in memstrata("hook", "status", env={"HOME": str(home)}).out
