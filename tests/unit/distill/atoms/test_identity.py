"""The user is called by no other name than the one from identity."""

from __future__ import annotations

import pytest

from memstrata.distill.atoms.identity import names_somebody_else


@pytest.mark.parametrize(
    "content",
    [
        "User (Lina) freezes merges on Thursdays",
        "The user (Lina Berg) lives in Oslo",
        "用户（Lina）每周四冻结合并",
        "用户(李娜)住在杭州",
        "用户Lina每周四冻结合并",
        "The user Lina owns the release",
        "ユーザー（リナ）は京都に住む",
        "User (3f2a) likes tea",
        "用户（#9c0e）喜欢喝茶",
    ],
)
@pytest.mark.parametrize("user_name", ["Arun", ""])
def test_another_name_for_the_user_is_found(content: str, user_name: str) -> None:
    assert names_somebody_else(content, user_name)


@pytest.mark.parametrize(
    "content",
    [
        "User (Arun) lives in Pune",
        "The user (arun patel) lives in Pune",
        "用户（Ａｒｕｎ）住在浦那",
        "用户Arun住在浦那",
        "Lina owns the release of team Atlas",
        "User works with Lina (Berg)",
        "用户的同事Lina负责发布",
        "用户喜欢 (尤其周末) 爬山",
        "User (since 2021) works at Meridian",
        "User (2021) works at Meridian",
        "User (fade) is the name of a colour",
        "用户ID是42，用户API很慢",
        "The user iPad stand is blue",
    ],
)
def test_other_people_and_the_own_name_are_no_fault(content: str) -> None:
    assert not names_somebody_else(content, "Arun Patel")
