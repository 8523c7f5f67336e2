"""What MCP clients are shown, in both languages, and that the room is cheap until it is used."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields

import pytest

from memstrata.client._tool_words import ToolWords
from memstrata.mcp.tools import tools
from memstrata.mcp.words import ToolLanguage, mcp_words

NAMES = ["memory_search", "conversation_search", "read_scene", "recall", "remember", "forget"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_there_are_six_tools_with_closed_schemas(language: ToolLanguage) -> None:
    shown = tools(mcp_words(language))

    assert [one.name for one in shown] == NAMES
    assert all(one.input_schema["additionalProperties"] is False for one in shown)
    assert all(one.description and "{" not in one.description for one in shown)


def test_only_forget_is_destructive_and_only_reading_tools_say_that_they_read() -> None:
    hints = {one.name: one.annotations for one in tools(mcp_words("en"))}

    assert {name for name, one in hints.items() if one and one.destructive_hint} == {"forget"}
    assert {name for name, one in hints.items() if one and one.read_only_hint} == set(NAMES[:4])


def test_both_languages_have_the_same_places_to_fill() -> None:
    english, chinese = mcp_words("en"), mcp_words("zh")
    for one in fields(english):
        said, translated = getattr(english, one.name), getattr(chinese, one.name)
        if isinstance(said, ToolWords):
            continue
        assert said.count("{}") == translated.count("{}"), one.name
        assert said != translated, one.name


def test_neither_the_server_nor_the_command_line_loads_the_sdk_before_it_is_used() -> None:
    code = "import sys, memstrata.server, memstrata.cli.mcp_serving; print('mcp' in sys.modules, 'pydantic' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.split() == ["False", "False"]
