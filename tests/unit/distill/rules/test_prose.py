from __future__ import annotations

import pytest

from memstrata.distill.rules.prose import as_sentence, order_only, weave


@pytest.mark.parametrize(
    ("statements", "text"),
    [
        (["用户叫小林", "用户住在杭州"], "用户叫小林，住在杭州。"),
        (["用户喜欢茶，特别是乌龙", "用户不吃香菜"], "用户喜欢茶，特别是乌龙；不吃香菜。"),
        (["用户叫小林", "用户的猫叫年糕", "用户住在杭州"], "用户叫小林。用户的猫叫年糕。用户住在杭州。"),
        (["The user lives in Berlin", "The user loves hiking"], "The user lives in Berlin and loves hiking."),
        (
            ["The user lives in Berlin", "The user loves hiking", "The user is a nurse"],
            "The user lives in Berlin, loves hiking and is a nurse.",
        ),
        (["The user has a cat and a dog", "The user is a nurse"], "The user has a cat and a dog; is a nurse."),
        (["The user's dog is Rex", "用户叫小林"], "The user's dog is Rex. 用户叫小林。"),
        (["ユーザーは東京に住んでいます", "ユーザーは看護師です"], "ユーザーは東京に住んでいます。看護師です。"),
        ([], ""),
    ],
)
def test_statements_about_one_subject_share_it(statements: list[str], text: str) -> None:
    assert weave(statements) == text


def test_a_sentence_does_not_grow_without_end() -> None:
    statements = [f"The user likes number {number}" for number in range(6)]
    assert weave(statements).count("The user") == 2


def test_a_statement_ends_in_the_stop_of_its_language() -> None:
    assert as_sentence("用户叫 Lin") == "用户叫 Lin。"
    assert as_sentence("The user's cat is 年糕") == "The user's cat is 年糕."
    assert as_sentence("Really!") == "Really!"


def test_an_order_is_shown_without_who_gives_it() -> None:
    assert order_only("用户要求AI以后注明过敏原") == "以后注明过敏原"
    assert order_only("The user asks the AI to never use emojis") == "Never use emojis"
    assert order_only("The user asks the AI not to call the user sir") == "Not to call the user sir"
    assert order_only("The user prefers short answers") == "The user prefers short answers"
