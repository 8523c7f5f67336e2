"""Folders to run `memstrata` in: empty, with a conversation in it, with servers."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from .shell import DEADLINE_SECONDS, Finished, Shell


@pytest.fixture
def memstrata(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.fixture(scope="session")
def conversation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `data` holds a short conversation, distilled. Made once, copied for each test."""
    shell = Shell(tmp_path_factory.mktemp("conversation"))
    shell.write("chat.txt", "User: Remember that I live in Lisbon.\n\nAssistant: Noted.\n\nUser: 我对花生过敏。\n")
    done = shell("import", "chat.txt", "--data-dir", "data")
    assert done.code == 0, done
    return shell.folder


@pytest.fixture
def imported(memstrata: Shell, conversation: Path) -> Shell:
    """A folder with that conversation, and no server running."""
    shutil.copytree(conversation, memstrata.folder, dirs_exist_ok=True)
    return memstrata


Serve = Callable[..., dict[str, Any]]


@pytest.fixture
def serve(memstrata: Shell) -> Iterator[Serve]:
    """Start servers on free ports, `serve(folder, …)`; they are stopped with the test. Returns what a server announces."""
    servers: list[subprocess.Popen[str]] = []

    def start(folder: str, *arguments: str, env: Mapping[str, str] | None = None) -> dict[str, Any]:
        server = memstrata.start("serve", "--json", "--port", "0", "--data-dir", folder, *arguments, env=env)
        servers.append(server)
        assert server.stdout is not None
        announced: dict[str, Any] = json.loads(server.stdout.readline())
        return announced

    yield start
    for server in servers:
        server.terminate()
        server.communicate(timeout=DEADLINE_SECONDS)


@pytest.fixture
def setup(memstrata: Shell) -> Callable[..., Finished]:
    """Return a way to run `setup` with that folder as the home: `setup("codex", "--yes")`."""

    def run(*arguments: str, env: Mapping[str, str] | None = None) -> Finished:
        home = {"HOME": str(memstrata.folder), "CODEX_HOME": "", "CLAUDE_CONFIG_DIR": "", **(env or {})}
        return memstrata("setup", *arguments, env=home)

    return run
