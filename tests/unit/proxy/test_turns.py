from __future__ import annotations

import json
from typing import Any

import pytest

from memstrata.proxy.turns import Step, step_of
from memstrata.proxy.wire.request import ProxyRequest, Reply, ToolCall, Usage
from memstrata.proxy.wire.wires import WIRES

CALL = ToolCall("c1", "Bash", "{}")


def request(*messages: dict[str, Any]) -> ProxyRequest:
    return WIRES["anthropic"].read(json.dumps({"model": "m", "messages": messages}).encode())


def reply(text: str = "done", stop: str = "end_turn", *calls: ToolCall, complete: bool = True) -> Reply:
    return Reply(text, stop, calls, Usage(), complete, "msg", thinking=False)


ASKED = request({"role": "user", "content": "fix it"})


@pytest.mark.parametrize("stop", ["end_turn", "stop_sequence", "stop", "completed", "refusal", "content_filter", "new"])
def test_an_answer_that_came_to_its_end_is_final(stop: str) -> None:
    assert step_of(ASKED, reply(stop=stop)) == Step("done", final=True)


@pytest.mark.parametrize(
    "stop", ["pause_turn", "tool_use", "max_tokens", "length", "max_output_tokens", "incomplete", "failed", "error"]
)
def test_an_answer_that_was_cut_or_waits_is_not_final(stop: str) -> None:
    assert step_of(ASKED, reply(stop=stop)) == Step("done", final=False)


def test_an_answer_with_a_tool_for_the_client_is_not_final_whatever_it_says_of_its_stop() -> None:
    assert not step_of(ASKED, reply("I will look", "stop", CALL)).final


def test_a_stream_that_broke_off_is_not_final() -> None:
    assert step_of(ASKED, reply("half an ans", "", complete=False)) == Step("half an ans", final=False)


def test_an_answer_that_goes_on_after_the_providers_own_tools_begins_with_what_was_said_before_them() -> None:
    paused = [
        {"type": "text", "text": "I search."},
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
    ]
    asked = request({"role": "user", "content": "look"}, {"role": "assistant", "content": paused})
    assert step_of(asked, reply("Found it.")) == Step("I search.\n\nFound it.", final=True)


def test_a_sentence_that_the_client_began_is_one_sentence() -> None:
    asked = request({"role": "user", "content": "how many"}, {"role": "assistant", "content": "There are"})
    assert step_of(asked, reply(" 42.")).answer == "There are 42."
