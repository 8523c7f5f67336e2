"""The server in the foreground, from its one line to its end."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Callable
from typing import Any

import pytest

from .shell import DEADLINE_SECONDS, Shell


def test_it_says_one_line_logs_json_and_ends_well_on_a_signal(memstrata: Shell) -> None:
    assert memstrata("init-admin", "--data-dir", "data").code == 0
    with memstrata.start("serve", "--port", "0", "--data-dir", "data", "--log-format", "json") as server:
        assert server.stdout is not None
        line = server.stdout.readline()
        server.send_signal(signal.SIGINT)
        rest, logs = server.communicate(timeout=DEADLINE_SECONDS)
    assert server.returncode == 0
    assert "http://127.0.0.1:" in line
    assert "store data" in line
    assert "distilling by rules" in line
    assert rest == ""
    assert "received SIGINT" in " ".join(json.loads(entry)["message"] for entry in logs.splitlines())


def test_it_can_be_quiet(memstrata: Shell) -> None:
    with memstrata.start("serve", "--port", "0", "--data-dir", "data", "--quiet") as server:
        stopped = None
        while stopped is None and server.poll() is None:
            stopped = memstrata("stop", "--data-dir", "data", "--json").json["stopped"]
        output, logs = server.communicate(timeout=DEADLINE_SECONDS)
    assert (server.returncode, output, logs) == (0, "", "")


@pytest.mark.parametrize(
    ("locale", "words"), [("C.UTF-8", "is in use by another program"), ("zh_CN.UTF-8", "配置有误")]
)
def test_a_port_that_is_taken_is_3_and_leaves_no_folder(memstrata: Shell, locale: str, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = memstrata("serve", "--port", str(taken.getsockname()[1]), "--data-dir", "data", env={"LC_ALL": locale})
    assert (done.code, done.out) == (3, "")
    assert done.err.count("\n") == 1
    assert words in done.err
    assert not (memstrata.folder / "data").exists()


def test_an_address_for_everybody_needs_a_key(memstrata: Shell) -> None:
    done = memstrata("serve", "--host", "0.0.0.0", "--port", "0")
    assert done.code == 3
    assert "MEMSTRATA_API_KEY" in done.err


def test_commands_find_the_server_of_their_folder_and_present_its_key(
    memstrata: Shell, serve: Callable[..., dict[str, Any]]
) -> None:
    key = {"MEMSTRATA_API_KEY": "sesame"}
    url = serve("data", env=key)["url"]
    memstrata.write("chat.txt", "User: Remember that I live in Lisbon.\n")
    report = memstrata("import", "chat.txt", "--data-dir", "data", "--json", env=key).json
    assert report["distilled"]["memories"] == 1
    assert "Lisbon" in memstrata("search", "Lisbon", "--url", url, "--api-key", "sesame").out
    refused = memstrata("search", "Lisbon", "--url", url)
    assert (refused.code, refused.out) == (3, "")
    assert "--api-key" in refused.err
    checks = memstrata("doctor", "--data-dir", "data", "--json", env=key).json["checks"]
    assert url in next(check["text"] for check in checks if check["name"] == "port")
