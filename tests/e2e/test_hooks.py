"""Hooks as coding agents call them: a process, JSON on standard input, a real server or none."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memstrata.client import MemoryClient, Message

from .shell import DEADLINE_SECONDS, EXECUTABLE, Finished, Shell

Serve = Callable[..., dict[str, Any]]
Hook = Callable[..., Finished]

SESSION = "5f0c1a52-3d1c-4c0e-9a55-0d7a3c1f2b10"
COMMON = {"session_id": SESSION, "transcript_path": None, "cwd": "/home/lin/app", "permission_mode": "default"}
NOWHERE = "http://127.0.0.1:9"


@pytest.fixture
def hook(memstrata: Shell) -> Hook:
    """Return a way to call a hook: `hook(url, "Stop", last_assistant_message="…")`; `client` and `raw` are not fields."""

    def call(url: str, event: str, *, client: str = "claude-code", raw: bytes | None = None, **fields: Any) -> Finished:
        text = json.dumps({**COMMON, "hook_event_name": event, **fields}).encode() if raw is None else raw
        done = subprocess.run(
            [EXECUTABLE, "hook", client, "--url", url],
            cwd=memstrata.folder,
            env=memstrata.environment({"HOME": str(memstrata.folder), "MEMSTRATA_LOG_LEVEL": "debug"}),
            input=text,
            capture_output=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        return Finished(done.returncode, done.stdout.decode(), done.stderr.decode())

    return call


@pytest.fixture
def silent_url() -> Iterator[str]:
    """A server that accepts and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


def context(done: Finished, event: str) -> str:
    assert done.code == 0, done
    output = done.json
    assert set(output) == {"hookSpecificOutput"}
    assert set(output["hookSpecificOutput"]) == {"hookEventName", "additionalContext"}
    assert output["hookSpecificOutput"]["hookEventName"] == event
    return str(output["hookSpecificOutput"]["additionalContext"])


def remembered(url: str, session: str = SESSION) -> list[Message]:
    with MemoryClient(url, team="personal", agent="assistant", user="me") as memory:
        return list(reversed(memory.messages(session=session).items))


def said(url: str, session: str = SESSION) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in remembered(url, session)]


def status(memstrata: Shell, language: str = "C.UTF-8") -> Finished:
    return memstrata("hook", "status", env={"HOME": str(memstrata.folder), "LC_ALL": language})


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_a_session_starts_with_persona_and_scenes(imported: Shell, serve: Serve, hook: Hook, client: str) -> None:
    url = serve("data")["url"]
    text = context(hook(url, "SessionStart", client=client, source="startup", model="m"), "SessionStart")
    assert "<user-persona" in text
    assert "<scene-navigation" in text
    assert "<relevant-memories" not in text


def test_a_resumed_session_is_not_told_again(imported: Shell, serve: Serve, hook: Hook) -> None:
    done = hook(serve("data")["url"], "SessionStart", source="resume")
    assert (done.code, done.out) == (0, "")
    assert "resumed" in done.err


@pytest.mark.parametrize(("prompt", "known"), [("Where do I live?", "Lisbon"), ("我对什么过敏？", "花生")])
def test_a_prompt_recalls_what_bears_on_it(imported: Shell, serve: Serve, hook: Hook, prompt: str, known: str) -> None:
    text = context(hook(serve("data")["url"], "UserPromptSubmit", prompt=prompt), "UserPromptSubmit")
    assert known in text
    assert "<user-persona" not in text


def test_a_prompt_that_nothing_bears_on_recalls_nothing(imported: Shell, serve: Serve, hook: Hook) -> None:
    done = hook(serve("data")["url"], "UserPromptSubmit", prompt="refactor the websocket reconnect backoff")
    assert (done.code, done.out) == (0, "")
    assert "nothing that bears on this" in done.err


def test_a_turn_is_captured_once_in_the_users_own_words(memstrata: Shell, serve: Serve, hook: Hook) -> None:
    url = serve("data")["url"]
    transcript = memstrata.write(
        "transcript.jsonl",
        json.dumps({"type": "user", "message": {"role": "user", "content": "INJECTED I moved to Porto."}}) + "\n",
    )
    hook(url, "UserPromptSubmit", prompt="I moved to Porto.")
    for _ in range(2):
        done = hook(
            url, "Stop", transcript_path=str(transcript), last_assistant_message="Noted.", stop_hook_active=False
        )
        assert (done.code, done.out) == (0, "")
    assert said(url) == [("user", "I moved to Porto."), ("assistant", "Noted.")]


def test_the_same_prompt_in_two_turns_is_two_messages_and_twice_in_one_is_one(serve: Serve, hook: Hook) -> None:
    url = serve("data")["url"]
    for answer in ("first", "second"):
        hook(url, "UserPromptSubmit", prompt="继续")
        hook(url, "UserPromptSubmit", prompt="继续")  # the same hook from another settings file
        hook(url, "Stop", last_assistant_message=answer)
    assert said(url) == [("user", "继续"), ("assistant", "first"), ("user", "继续"), ("assistant", "second")]


def test_an_interrupted_prompt_goes_with_the_next_turn(serve: Serve, hook: Hook) -> None:
    url = serve("data")["url"]
    hook(url, "UserPromptSubmit", prompt="Use tabs, please.", turn_id="t-1", client="codex")
    hook(url, "UserPromptSubmit", prompt="No, spaces.", turn_id="t-2", client="codex")
    hook(url, "Stop", turn_id="t-2", last_assistant_message="Spaces it is.", client="codex")
    assert said(url) == [("user", "Use tabs, please."), ("user", "No, spaces."), ("assistant", "Spaces it is.")]


def test_an_agent_that_another_hook_sent_back_to_work_is_captured_with_its_last_word(serve: Serve, hook: Hook) -> None:
    url = serve("data")["url"]
    hook(url, "UserPromptSubmit", prompt="Add a test.")
    hook(url, "Stop", last_assistant_message="Added.", stop_hook_active=False)
    for _ in range(2):
        hook(url, "Stop", last_assistant_message="Added, and it passes.", stop_hook_active=True)
    assert said(url) == [("user", "Add a test."), ("assistant", "Added."), ("assistant", "Added, and it passes.")]


def test_a_turn_without_a_server_waits_and_is_delivered_with_a_later_one(
    memstrata: Shell, serve: Serve, hook: Hook
) -> None:
    url = serve("data")["url"]
    assert memstrata("stop", "--data-dir", "data").code == 0
    hook(url, "UserPromptSubmit", prompt="I am allergic to cashews.")
    done = hook(url, "Stop", last_assistant_message="I will remember.")
    assert (done.code, done.out) == (0, "")
    assert "no server answered; none was started" in status(memstrata).out
    assert "1 turns wait" in status(memstrata).out
    assert "1 轮对话在等待服务" in status(memstrata, "zh_CN.UTF-8").out
    port = url.rstrip("/").rsplit(":", 1)[1]
    with memstrata.start("serve", "--json", "--port", port, "--data-dir", "data") as server:
        assert server.stdout is not None
        server.stdout.readline()
        hook(url, "UserPromptSubmit", prompt="And you?", session_id="another")
        hook(url, "Stop", last_assistant_message="I am not.", session_id="another")
        kept, other = said(url), said(url, "another")
        server.terminate()
        server.communicate(timeout=DEADLINE_SECONDS)
    assert kept == [("user", "I am allergic to cashews."), ("assistant", "I will remember.")]
    assert other == [("user", "And you?"), ("assistant", "I am not.")]
    assert "wait" not in status(memstrata).out


def test_a_prompt_of_a_session_that_never_ended_its_turn_is_sent_by_another(
    memstrata: Shell, serve: Serve, hook: Hook
) -> None:
    url = serve("data")["url"]
    hook(url, "UserPromptSubmit", prompt="I moved to Braga.")
    (folder,) = (memstrata.folder / ".local" / "state" / "memstrata" / "hooks").glob("*/sessions/*")
    hook(url, "Stop", last_assistant_message="?", session_id="too early")
    assert said(url) == []
    for file in (*folder.iterdir(), folder):
        os.utime(file, (1_000.0, 1_000.0))
    hook(url, "Stop", last_assistant_message="?", session_id="a day later")
    assert said(url) == [("user", "I moved to Braga.")]


def test_what_hooks_keep_is_for_its_owner_alone_and_says_nothing_of_contents_in_status(
    memstrata: Shell, hook: Hook
) -> None:
    hook(NOWHERE, "UserPromptSubmit", prompt="my secret plan")
    files = [file for file in (memstrata.folder / ".local").rglob("*") if file.is_file()]
    assert any("my secret plan" in file.read_text() for file in files)
    assert {file.stat().st_mode & 0o077 for file in files} == {0}
    assert "secret plan" not in status(memstrata).out


def test_a_turn_that_the_server_will_never_take_does_not_hold_up_the_next(
    memstrata: Shell, serve: Serve, hook: Hook
) -> None:
    url = serve("data")["url"]
    hook(url, "UserPromptSubmit", prompt="hello", session_id="s" * 5_000)
    hook(url, "Stop", last_assistant_message="hi", session_id="s" * 5_000)
    hook(url, "UserPromptSubmit", prompt="I like tea.")
    hook(url, "Stop", last_assistant_message="Tea it is.")
    assert said(url) == [("user", "I like tea."), ("assistant", "Tea it is.")]
    assert "refused for good" in status(memstrata).out


@pytest.mark.parametrize("event", ["UserPromptSubmit", "Stop"])
def test_sub_agents_are_left_alone(serve: Serve, hook: Hook, event: str) -> None:
    url = serve("data")["url"]
    hook(url, "UserPromptSubmit", prompt="Look into the cache.")
    done = hook(url, event, prompt="Read cache.py", last_assistant_message="done", agent_id="a1", agent_type="Explore")
    assert "sub-agent" in done.err
    assert hook(url, "SubagentStop", last_assistant_message="done").out == ""
    hook(url, "Stop", last_assistant_message="It is stale.")
    assert said(url) == [("user", "Look into the cache."), ("assistant", "It is stale.")]


def test_a_client_that_does_not_say_its_answer_is_read_from_its_transcript(
    memstrata: Shell, serve: Serve, hook: Hook
) -> None:
    url = serve("data")["url"]
    lines = [
        '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"an old answer"}]}}',
        '{"type":"user","message":{"role":"user","content":"Which port?"}}',
        '{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"It is 8420."}]}}',
        '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","content":"x"}]}}',
        '{"type":"assistant","isSidechain":true,"message":{"role":"assistant","content":"from a sub-agent"}}',
        '{"type":"assistant","message":{"role":"assis',
    ]
    transcript = memstrata.write("transcript.jsonl", "\n".join(lines))
    hook(url, "UserPromptSubmit", prompt="Which port?")
    hook(url, "Stop", transcript_path=str(transcript))
    assert said(url) == [("user", "Which port?"), ("assistant", "It is 8420.")]


def test_without_an_answer_anywhere_the_users_words_are_captured_all_the_same(serve: Serve, hook: Hook) -> None:
    url = serve("data")["url"]
    hook(url, "UserPromptSubmit", prompt="I use zsh.")
    done = hook(url, "Stop", transcript_path="/nowhere/at-all.jsonl")
    assert "transcript cannot be read" in done.err
    assert said(url) == [("user", "I use zsh.")]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'{"hook_event_name":"Stop"}',
        b'{"hook_event_name":"Stop","session_id":7}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_input_that_is_no_event_is_answered_with_nothing(hook: Hook, raw: bytes) -> None:
    done = hook(NOWHERE, "", raw=raw)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("memstrata hook: failed")


@pytest.mark.parametrize(
    "arguments", [["claude-code", "--what", "x"], ["vim"], ["codex", "--url"], ["codex", "--url", "ftp://x"]]
)
def test_wrong_flags_never_end_with_a_code_that_throws_a_prompt_away(memstrata: Shell, arguments: list[str]) -> None:
    done = memstrata("hook", *arguments)
    assert (done.code, done.out, done.err) == (0, "", "")


def test_a_server_that_says_nothing_does_not_hold_up_the_agent(memstrata: Shell, silent_url: str, hook: Hook) -> None:
    done = hook(silent_url, "UserPromptSubmit", prompt="Where do I live?")
    assert (done.code, done.out) == (0, "")
    assert "no server" in done.err


def test_a_client_that_never_closes_its_end_does_not_hold_up_itself(memstrata: Shell) -> None:
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [EXECUTABLE, "hook", "codex"], stdin=reading, capture_output=True, timeout=DEADLINE_SECONDS, check=False
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert (done.returncode, done.stdout) == (0, b"")


def test_a_hook_loads_no_more_than_it_must() -> None:
    heavy = ("httpx", "typer", "rich", "asyncio", "msgspec", "apsw", "memstrata.client._calls", "memstrata.memory")
    code = f"import sys, memstrata.hooks.command; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_before_any_hook_has_run_status_says_so(memstrata: Shell) -> None:
    assert status(memstrata).out == "no hook has run yet\n"
    assert status(memstrata, "zh_CN.UTF-8").out == "还没有钩子运行过\n"
    done = memstrata("hook", "status", "--json", env={"HOME": str(memstrata.folder)})
    assert done.json == {"hooks": []}
    assert not (memstrata.folder / ".local").exists()


def test_nothing_is_made_where_a_hook_is_given_no_event(memstrata: Shell, hook: Hook) -> None:
    hook(NOWHERE, "", raw=b"{")
    assert not Path(memstrata.folder / ".local").exists()
