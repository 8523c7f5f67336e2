from __future__ import annotations

import pytest

from memstrata.distill.gate import readable, worth_reading
from memstrata.records import Message

LOG = """2026-01-06 00:00:03 INFO  orders.sync  batch=413 rows=500
2026-01-06 00:00:04,123 ERROR orders.sync  psycopg.errors.UniqueViolation: duplicate key
[20:14:03] [WARN] cache miss
Traceback (most recent call last):
  File "/app/main.py", line 12, in <module>
ValueError: bad
    at com.example.Foo.bar(Foo.java:12)
Jan  6 10:11:12 host sshd[123]: Accepted
npm ERR! code ELIFECYCLE"""


def message(content: str) -> Message:
    return Message(1, "m", "s", "", "user", content, 0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "ok", "OK!", "Thanks!", "好的", "好的，谢谢！", "嗯嗯，收到", "哈哈", "好嘞", "了解です",
        "спасибо", "gracias", "감사합니다",
        "ok thanks", "😋", "...", "？？", "—", "HEARTBEAT_OK", "ping",
        "Read HEARTBEAT.md if it exists. Follow it strictly.",
        LOG, "```python\nprint(1)\n```", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg==", "", "   ",
    ],
)  # fmt: skip
def test_what_holds_nothing_to_remember_is_not_read(text: str) -> None:
    assert not worth_reading(message(text))


@pytest.mark.parametrize(
    "text",
    [
        "yes", "no", "不是", "对", "42",
        "/etc/hosts 里该写什么？", "/deploy prod", "What is a heartbeat?", "How do I read a log?",
        "Thanks, I moved to Berlin", "好的，我住在杭州", "WARNING: I am allergic to nuts", "Error: I cannot log in",
        f"{LOG}\nI work at Orion.", "```\nx\n```\nMy name is Maya", "2026-02-11 I moved to Berlin",
        "see data:image/png;base64,iVBORw0KGgo= that is my cat",
    ],
)  # fmt: skip
def test_questions_commands_and_anything_with_a_sentence_are_read(text: str) -> None:
    assert worth_reading(message(text))


def test_a_log_with_one_real_sentence_leaves_the_sentence() -> None:
    assert readable(f"{LOG}\nI work at Orion.").strip() == "I work at Orion."


def test_embedded_data_becomes_a_placeholder() -> None:
    assert readable("see data:image/png;base64,iVBORw0KGgo= ok") == "see [base64 image/png] ok"
    assert readable(f"key {'Ab1/' * 60} end") == "key [base64] end"


def test_fenced_code_is_hidden_and_text_around_it_stays() -> None:
    assert readable("before\n```py\nI live in Rome\n```\nafter") == "before\nafter"
    assert readable("before\n~~~\n```\nI live in Rome\n~~~\nafter") == "before\nafter"


def test_a_fence_that_stays_open_hides_the_rest() -> None:
    assert readable("before\n```\nI live in Rome") == "before"
