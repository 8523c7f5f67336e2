from __future__ import annotations

import pytest

from memstrata.clock import from_iso
from memstrata.errors import InvalidRequest
from memstrata.transfer import ImportFile, read_data


def read(text: str) -> ImportFile:
    return read_data(text.encode(), "chat.txt")


def said(file: ImportFile) -> list[list[tuple[str, str]]]:
    return [[(message.role, message.content) for message in session.messages] for session in file.sessions]


def fault(text: str) -> str:
    with pytest.raises(InvalidRequest) as caught:
        read_data(text.encode(), "chat.txt", "plain")
    return str(caught.value)


@pytest.mark.parametrize(
    ("user", "assistant"),
    [
        ("User:", "Assistant:"),
        ("Human:", "AI:"),
        ("用户：", "助手："),
        ("我：", "助理："),
        ("USER：", "assistant :"),
        ("**User:**", "**ChatGPT**:"),
    ],
)
def test_labels_name_the_roles(user: str, assistant: str) -> None:
    assert said(read(f"{user} hello\n{assistant} hi\n")) == [[("user", "hello"), ("assistant", "hi")]]


def test_a_message_goes_on_until_the_next_label() -> None:
    text = "User: one\n\ntwo\n  three: four\n\nAssistant:\nfive\n"
    assert said(read(text)) == [[("user", "one\n\ntwo\n  three: four"), ("assistant", "five")]]


def test_dashes_separate_sessions() -> None:
    assert said(read("User: a\n---\nUser: b\n\n=====\n\nUser: c")) == [
        [("user", "a")],
        [("user", "b")],
        [("user", "c")],
    ]


def test_a_title_opens_a_session() -> None:
    file = read("# First\n---\nUser: a\n\n## 第二次\n\n用户：b\n")
    assert [session.title for session in file.sessions] == ["First", "第二次"]


def test_headings_and_rules_inside_an_answer_belong_to_the_answer() -> None:
    answer = "# Plan\n\nfirst\n\n---\n\nsecond"
    assert said(read(f"User: plan?\nAssistant: {answer}\nUser: ok")) == [
        [("user", "plan?"), ("assistant", answer), ("user", "ok")]
    ]


def test_nothing_in_a_code_block_is_a_label() -> None:
    code = "```text\nUser: not me\n---\nAssistant: nor me\n```"
    assert said(read(f"User: look\n{code}\nAssistant: seen")) == [[("user", f"look\n{code}"), ("assistant", "seen")]]


def test_a_code_block_that_is_never_closed_hides_no_turn() -> None:
    assert said(read("User: a\n```python\nAssistant: b")) == [[("user", "a\n```python"), ("assistant", "b")]]


@pytest.mark.parametrize(
    "line",
    [
        "[2026-01-02 03:04] User: hi",
        "【2026/1/2 3:04】用户：hi",
        "User [2026-01-02T03:04:00Z]: hi",
        "[2026-01-02 03:04]\nUser: hi",
        "[2026-01-02 11:04 +08:00]\n\nUser: hi",
    ],
)
def test_a_stamp_is_the_time_of_its_message(line: str) -> None:
    file = read(f"{line}\nAssistant: hello")
    assert [message.said_at for message in file.sessions[0].messages] == [from_iso("2026-01-02T03:04:00Z"), None]


def test_a_stamp_inside_a_message_is_text() -> None:
    assert said(read("User: log\n[2026-01-02 03:04] started\nok")) == [
        [("user", "log\n[2026-01-02 03:04] started\nok")]
    ]


def test_system_turns_are_left_out_with_all_their_lines() -> None:
    file = read("System: be\nkind\nUser: hi\n系统：x\n助手：hello")
    assert said(file) == [[("user", "hi"), ("assistant", "hello")]]
    assert file.skipped == {"system message": 2}


def test_lines_may_end_in_any_way() -> None:
    assert said(read("User: a\r\nb\r\nAssistant: c\rUser: d")) == [
        [("user", "a\nb"), ("assistant", "c"), ("user", "d")],
    ]


def test_text_before_the_first_label_is_an_error_that_names_its_line() -> None:
    assert fault("\nhello there\nUser: hi") == (
        "chat.txt line 2: nobody says this: expected a label such as `User:` or `助手：` before it"
    )


def test_text_between_a_separator_and_a_title_belongs_to_the_turn_before() -> None:
    assert said(read("User: a\n---\nstill a\n---\nUser: b")) == [[("user", "a\n---\nstill a")], [("user", "b")]]


@pytest.mark.parametrize("stamp", ["[2026-13-02 03:04] User: hi", "[2026-02-30 03:04]\nUser: hi"])
def test_a_stamp_that_is_no_time_is_an_error_that_names_its_line(stamp: str) -> None:
    assert fault(f"User: a\n{stamp}").startswith("chat.txt line 2: no such date or time: '2026-")
