"""The questions of the demo about a conversation of one's own."""

from typing import Any

from memstrata.cli.questions import questions_about
from memstrata.client import Memory


def memory(content: str, priority: int) -> Memory:
    row: dict[str, Any] = {"id": content, "type": "persona", "content": content, "priority": priority}
    return Memory.read(row)


def test_they_are_about_the_most_important_memory_of_each_language() -> None:
    memories = [memory("用户住在杭州", 70), memory("The user likes tea", 60), memory("用户对花生过敏", 90)]
    questions = questions_about(memories)
    assert len(questions) == 2
    assert "用户对花生过敏" in questions[0]
    assert "The user likes tea" in questions[1]


def test_one_language_gives_two_questions_and_one_memory_gives_one() -> None:
    tea, coffee = memory("The user likes tea", 60), memory("The user likes coffee", 50)
    assert ["tea" in question for question in questions_about([coffee, tea])] == [True, False]
    assert len(questions_about([tea])) == 1
    assert questions_about([]) == ()


def test_a_long_memory_is_quoted_in_part() -> None:
    (question,) = questions_about([memory("tea " * 60, 60)])
    assert "…" in question
    assert len(question) < 120
