"""What a change of an agent or a task makes of it: what is not said stays, what is no text is made one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memstrata.directory.agents import AgentChange
from memstrata.directory.tasks import TaskChange
from memstrata.errors import InvalidRequest
from memstrata.records.agents import Agent, Task

AGENT = Agent("agt-1", "team-1", "lin", "cook", "cooks", "You cook.", "restricted", "inactive", "[1]", 1, 1)
TASK = Task("task-1", "team-1", "lin", "t", "d", "tapd", "u", "completed", True, "low", "[1]", 1, 1)


def test_what_is_not_said_stays_and_only_the_time_moves() -> None:
    assert AgentChange().of(AGENT, 9) == replace(AGENT, updated_at=9)
    assert TaskChange().of(TASK, 9) == replace(TASK, updated_at=9)


def test_what_is_said_is_taken_even_if_it_is_empty_or_false() -> None:
    agent = AgentChange("chef", "", "", "private", "active", '""').of(AGENT, 9)
    assert agent == Agent("agt-1", "team-1", "lin", "chef", "", "", "private", "active", '""', 1, 9)

    task = TaskChange("u", "", "other", "", "running", False, "", '""').of(TASK, 9)
    assert task == Task("task-1", "team-1", "lin", "u", "", "other", "", "running", False, "", '""', 1, 9)


def test_half_a_character_is_replaced_before_it_reaches_a_store() -> None:
    assert AgentChange(name="a\ud800", prompt="b\udfff").of(AGENT, 9).name == "a\ufffd"
    assert TaskChange(title="a\ud800", risk_level="b\udfff").of(TASK, 9).risk_level == "b\ufffd"


@pytest.mark.parametrize("blank", ["", " ", "\u3000\n"])
def test_a_blank_name_is_no_name(blank: str) -> None:
    with pytest.raises(InvalidRequest, match="name: must not be empty"):
        AgentChange(name=blank).of(AGENT, 9)
    with pytest.raises(InvalidRequest, match="title: must not be empty"):
        TaskChange(title=blank).of(TASK, 9)
