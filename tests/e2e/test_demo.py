"""The demo: the first five minutes, on real parts. One server for most tests of this module."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from .shell import Finished, Shell


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("demo"))


@pytest.fixture(scope="module")
def first(shell: Shell) -> Iterator[Finished]:
    """The first run. Its server goes on until the end of the module."""
    yield shell("demo")
    shell("stop")


def test_it_shows_every_layer_what_is_recalled_and_why(first: Finished) -> None:
    assert (first.code, first.err) == (0, "")
    lines = first.out.splitlines()
    assert any("96/96 messages · 9 sessions" in line for line in lines)
    assert "L0 96 messages, 9 sessions, 2025-11-03 → 2026-04-18" in lines
    assert any(line.startswith("L1 ") and "superseded" in line for line in lines)
    assert any(line.startswith("L2 ") and "(heat " in line for line in lines)
    assert any(line.startswith("L3 persona, ") for line in lines)
    questions = [at for at, line in enumerate(lines) if line.startswith("? ")]
    assert len(questions) == 2
    for start, end in zip(questions, [*questions[1:], len(lines)], strict=True):
        answer = lines[start + 1 : end]
        assert answer[0].startswith("  [")
        chain = [line.split()[1] for line in answer if line.startswith("    ←")]
        assert chain[:2] == ["scene", "memory"]
        assert chain[-1] == "message"
    assert any("replaces “" in line for line in lines)


def test_without_a_terminal_there_are_no_control_codes_and_no_boxes(first: Finished) -> None:
    assert not {"\x1b", "\r", "━", "╭"} & set(first.out)


def test_it_runs_again_on_the_same_server_and_doubles_nothing(shell: Shell, first: Finished) -> None:
    again = shell("demo", "--json")
    assert again.code == 0
    report = again.json
    assert report["server"]["url"] in first.out
    assert report["import"] == {"new": 0, "already_there": 96, "sessions": 9}
    assert f"L1 {report['layers']['l1']['memories']} memories" in first.out
    assert report["distilled"]["unfinished"] is None
    assert all(answer["prepend_context"] and answer["why"]["messages"] for answer in report["questions"])


@pytest.mark.usefixtures("first")
def test_a_chinese_terminal_is_spoken_to_in_chinese(shell: Shell) -> None:
    done = shell("demo", env={"LC_ALL": "zh_CN.UTF-8"})
    assert done.code == 0
    for words in ("已经在运行", "96/96 条消息 · 9 个会话", "条记忆", "画像", "为什么？", "← 场景", "服务继续运行"):
        assert words in done.out
    for words in ("server on", "memories", "persona,", "why?", "It keeps running"):
        assert words not in done.out


def test_its_server_is_the_one_that_other_commands_use(shell: Shell, first: Finished) -> None:
    status = shell("status", "--data-dir", ".memstrata/demo", "--json").json
    assert status["server"]["url"] in first.out
    assert status["components"]["pipeline"]["state"] == "ok"
    found = shell("search", "牛排", "--url", status["server"]["url"], "--json").json
    assert any("牛排" in hit["content"] for hit in found["hits"])


@pytest.mark.usefixtures("first")
def test_where_the_memories_are_is_said_when_they_are_looked_for_elsewhere(shell: Shell) -> None:
    done = shell("search", "牛排")
    assert done.code == 1
    assert "--data-dir .memstrata/demo" in done.err


def test_a_second_server_on_its_folder_is_refused_in_one_line(shell: Shell, first: Finished) -> None:
    url = shell("status", "--data-dir", ".memstrata/demo", "--json").json["server"]["url"]
    done = shell("serve", "--port", "0", "--data-dir", ".memstrata/demo")
    assert (done.code, done.out) == (3, "")
    assert done.err.count("\n") == 1
    assert "is in use by process" in done.err
    assert url in done.err


@pytest.mark.usefixtures("first")  # so that the usual port is taken
def test_a_conversation_of_ones_own_is_kept_apart_and_asked_about(memstrata: Shell) -> None:
    turns = [
        {"role": "user", "content": "记住，我对芒果过敏。"},
        {"role": "assistant", "content": "好的。"},
        {"role": "user", "content": "I live in Lisbon and I work at Acme."},
        {"role": "assistant", "content": "Noted."},
    ]
    memstrata.write("我的对话.json", json.dumps(turns, ensure_ascii=False))
    done = memstrata("demo", "我的对话.json", "--json")
    try:
        report = done.json
        assert report["scope"]["instance"] == "我的对话"
        assert report["layers"]["l0"]["messages"] == 4
        assert len(report["questions"]) == 2
        assert all(answer["memories"] for answer in report["questions"])
        found = memstrata("search", "芒果", "--data-dir", ".memstrata/demo", "--json").json
        assert found["hits"] == []
    finally:
        stopped = memstrata("stop", "--json")
    assert stopped.json["stopped"]["url"] == report["server"]["url"]


def test_a_port_that_was_asked_for_must_be_free(memstrata: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = memstrata("demo", "--port", str(port))
    assert done.code == 3
    assert f"127.0.0.1:{port} is in use" in done.err
    assert not list(memstrata.folder.rglob("memstrata.db"))


def test_a_server_that_cannot_start_is_one_line_with_its_reason(memstrata: Shell) -> None:
    folder = memstrata.folder / ".memstrata" / "demo"
    folder.mkdir(parents=True)
    (folder / "memstrata.db").write_text("this is no database" * 100, encoding="utf-8")
    done = memstrata("demo")
    assert done.code == 3
    assert done.err.count("\n") == 1
    assert "is damaged" in done.err
    assert "server.log" in done.err


def test_a_file_without_messages_starts_no_server(memstrata: Shell) -> None:
    memstrata.write("empty.json", '[{"role": "system", "content": "You are helpful."}]')
    done = memstrata("demo", "empty.json")
    assert (done.code, done.out) == (2, "")
    assert "no user or assistant messages" in done.err
    assert not list(memstrata.folder.rglob("memstrata.db"))


def test_stopping_says_what_was_stopped_and_then_that_nothing_runs(shell: Shell, first: Finished) -> None:
    done = shell("stop", "--data-dir", ".memstrata/demo")
    assert (done.code, done.err) == (0, "")
    assert "stopped http://127.0.0.1:" in done.out
    again = shell("stop")
    assert (again.code, again.out) == (0, "no server is running on .memstrata\n")
