import pytest

from memstrata.proxy.commands.parsing import Command, parse


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("mem:help", Command("help", "help", "")),
        ("mem:", Command("help", "", "")),
        ("  MEM: Status\n", Command("status", "status", "")),
        ("mem：off", Command("off", "off", "")),
        ("mem:forget 我住在里斯本", Command("forget", "forget", "我住在里斯本")),
        ("mem:bind team-1/agt-2", Command("bind", "bind", "team-1/agt-2")),
        ("mem:dance", Command(None, "dance", "")),
    ],
)
def test_a_command_is_read(text: str, command: Command) -> None:
    assert parse(text) == command


@pytest.mark.parametrize(
    "text",
    [
        "",
        "what does mem:help do?",
        "memory: on",
        "mem:status of the build?",
        "mem:dance with me",
        "mem:forget " + "x" * 2_000,
    ],
)
def test_an_ordinary_message_is_none(text: str) -> None:
    assert parse(text) is None
