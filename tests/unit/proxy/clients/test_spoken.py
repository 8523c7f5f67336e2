import pytest

from memstrata.proxy.clients.spoken import spoken
from memstrata.proxy.clients.table import CLIENTS, client_named
from memstrata.proxy.wire.request import Block, Said, Span

NOWHERE = Span(0, 0)


def message(*blocks: tuple[str, str], role: str = "user") -> Said:
    return Said(role, tuple(Block(kind, text, "t1", NOWHERE) for kind, text in blocks), NOWHERE, NOWHERE, plain=False)


def said(text: str, client: str = "claude-code") -> tuple[str, str]:
    found = spoken(message(("text", text)), CLIENTS[client])
    return found.text, found.runtime


REMINDER = "<system-reminder>\nThe date is today.\n\n- a list\n</system-reminder>"


@pytest.mark.parametrize(
    ("client", "text", "expected"),
    [
        ("claude-code", f"{REMINDER}\nFix the login bug", "Fix the login bug"),
        ("claude-code", f"Fix it\n\n{REMINDER}\n\n{REMINDER}\nand test it", "Fix it\n\nand test it"),
        ("claude-code", "<ide_opened_file>The user opened a.py</ide_opened_file>\n修复登录", "修复登录"),
        (
            "claude-code",
            "<command-message>review</command-message>\n<command-name>/review</command-name>\n<command-args>PR 7</command-args>",
            "/review PR 7",
        ),
        (
            "claude-code",
            "<bash-input>ls</bash-input>\n<bash-stdout>a</bash-stdout>\nwhy is it there?",
            "why is it there?",
        ),
        ("claude-code", "[Request interrupted by user]\nuse tabs instead", "use tabs instead"),
        ("claude-code", "     1\timport os\nwhat does line 1 do?", "what does line 1 do?"),
        ("claude-code", "```\n     1\tkept in a fence\n```", "```\n     1\tkept in a fence\n```"),
        ("codebuddy", "<user_info>OS: x</user_info>\n<user_query>\n你好\n</user_query>", "你好"),
        ("codebuddy", "<user_query>a</user_query> x <user_query>b</user_query>", "a\n\nb"),
        ("codex", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>\nadd a test", "add a test"),
        (
            "codex",
            "# AGENTS.md instructions for /x\n<INSTRUCTIONS>\nbe brief\n</INSTRUCTIONS>\nadd a test",
            "add a test",
        ),
        ("codex", "<turn_aborted>\nx\n</turn_aborted>\ngo on", "go on"),
        ("dsh", f"{REMINDER}\ngo", "go"),
    ],
)
def test_wrappers_of_a_client_are_taken_off(client: str, text: str, expected: str) -> None:
    assert said(text, client) == (expected, "")


@pytest.mark.parametrize(
    "text",
    [
        "What does the <system-reminder> tag do in <b>HTML</b>?",
        "[TODO] ask @lin about /etc/hosts",
        "/path/to/file is missing",
        "[x] done, [ ] open",
        "1. first\n2. second",
        "<session>my own xml</session>",
        "<system-reminder>\nnever closed, so it is text",
        "```xml\n<system-reminder>\npasted\n</system-reminder>\n```",
        "请解释 <user_info> 标签",
        "My title mode is [TITLE]",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert said(text) == (text, "")


@pytest.mark.parametrize(
    ("text", "runtime"),
    [
        ("[SUGGESTION MODE: Suggest what the user might type next]", "mode"),
        ("This session is being continued from a previous conversation that ran out of context.", "summary"),
        ('User has answered your questions: "Q"="A".', "receipt"),
        ('Your questions have been answered: "Q"="A"', "receipt"),
        ("The user stepped away and is coming back. Recap in under 40 words.", "recap"),
        ('{"parentUuid": null, "type": "user"}', "transcript"),
        ("[2026-01-01T10:00:00Z] [user] hello", "transcript"),
        (REMINDER, "empty"),
        ("[Request interrupted by user for tool use]", "empty"),
        ("", "empty"),
        ("/clear", "empty"),
    ],
)
def test_what_a_runtime_writes_is_nobodys(text: str, runtime: str) -> None:
    assert said(text) == ("", runtime)


def test_tool_results_are_no_question_and_never_walk_back() -> None:
    loop = message(("tool_result", "README.md"))
    with_reminder = message(("tool_result", "README.md"), ("text", REMINDER))
    with_words = message(("tool_result", "README.md"), ("text", "stop, do it otherwise"))

    assert spoken(loop, CLIENTS["claude-code"]).runtime == "tool results"
    assert spoken(with_reminder, CLIENTS["claude-code"]).runtime == "tool results"
    assert spoken(with_words, CLIENTS["claude-code"]).text == "stop, do it otherwise"


def test_media_become_placeholders() -> None:
    assert (
        spoken(message(("image", ""), ("text", "what is this?")), CLIENTS["claude-code"]).text
        == "[image]\nwhat is this?"
    )
    assert spoken(message(("image", "")), CLIENTS["claude-code"]).text == "[image]"
    assert spoken(message(("tool_result", ""), ("image", "")), CLIENTS["claude-code"]).text == ""


def test_other_speakers_say_nothing() -> None:
    assert spoken(message(("text", "hello"), role="assistant"), client_named("cursor")).runtime == "not a user"


def test_an_unknown_client_sends_no_history_that_could_be_relied_on() -> None:
    assert not client_named("my-agent").resends_history
    assert client_named("Claude-Code") is CLIENTS["claude-code"]


@pytest.mark.parametrize("opening", ["<system-reminder>\n", "<persisted-output>\n", "<user_query>", "<command-name>"])
def test_a_hundred_thousand_tags_that_never_close_are_read_in_one_go(opening: str) -> None:
    text = (opening * 100_000).strip()  # quadratic time would be minutes

    assert said(text, "codebuddy" if "query" in opening else "claude-code") == (text, "")
