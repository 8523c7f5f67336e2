from __future__ import annotations

import pytest

from memstrata.distill.rules.statements import MAX_SENTENCE_LENGTH, MAX_SENTENCES, sentences


def texts(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I am Maya. I live in Berlin!", ["I am Maya.", "I live in Berlin!"]),
        ("我叫小林。我住在杭州！", ["我叫小林。", "我住在杭州！"]),
        ("I see Dr. Okafor at 5 p.m. on Fridays.", ["I see Dr. Okafor at 5 p.m. on Fridays."]),
        ("I use v1.2 of it", ["I use v1.2 of it"]),
        ('He said "I am here. I stay." and left.', ['He said "I am here. I stay." and left.']),
        ("他说“我在。我不走。”然后走了。", ["他说“我在。我不走。”然后走了。"]),
        ('My screen is 27" wide. I like it.', ['My screen is 27" wide.', "I like it."]),
        ("我最上心😂 我喜欢牛排", ["我最上心😂", "我喜欢牛排"]),
        ("- I like tea\n2. I like coffee\n• 我喜欢茶", ["I like tea", "I like coffee", "我喜欢茶"]),
    ],
)
def test_text_is_split_at_ends_of_sentences_outside_of_quotes(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    "text",
    ["Where do I live?", "我住在哪里", "你喜欢什么", "好吃吗", "食べますか",
     "> quoted", "| a | b |", "const x = 1;", "foo(bar) {", "// I am", "{", "$ ls -l", ""],
)  # fmt: skip
def test_questions_and_what_is_no_prose_are_left_out(text: str) -> None:
    assert texts(text) == []


@pytest.mark.parametrize("text", ["我什么都吃", "无论什么时候都要先给结论", "我没什么忌口", "以后不管怎样都先问我"])
def test_a_question_word_that_asks_nothing_is_no_question(text: str) -> None:
    assert texts(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "If I lived here",
        "Suppose I am a nurse",
        "如果我住在这里",
        "要是下雨",
        "もし雨なら",
        "When I ask, answer",
        "每次我问",
    ],
)
def test_suppositions_are_marked(text: str) -> None:
    assert [sentence.supposed for sentence in sentences(text)] == [True]


def test_what_comes_before_a_text_to_work_on_is_kept() -> None:
    assert texts("I am a nurse.\nPlease translate this: I live in Rome. I like tea.") == ["I am a nurse."]
    assert texts("我是护士。\n翻译下面这段话：我住在罗马。") == ["我是护士。"]


def test_a_colon_alone_hands_nothing_over() -> None:
    assert texts("About me: I live in Rome.") == ["About me: I live in Rome."]
    assert texts("以后总结要分三段：背景、结论、行动") == ["以后总结要分三段：背景、结论、行动"]


def test_long_stretches_and_endless_messages_are_bounded() -> None:
    assert texts("ab " * MAX_SENTENCE_LENGTH) == []
    assert len(texts("I am. " * (MAX_SENTENCES * 2))) == MAX_SENTENCES
