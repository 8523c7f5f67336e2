from __future__ import annotations

import pytest

from memstrata.distill.rules.themes import OTHER, THEMES, theme_named, theme_of


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("用户对花生过敏", "food-health"), ("The user drinks oat milk flat whites", "food-health"),
        ("ユーザーは寿司が好きです", "food-health"),
        ("The user works as a site reliability engineer at Spotify", "work"), ("用户在准备下周的面试", "work"),
        ("用户用的是MacBook Pro", "study-code"), ("The user is learning Portuguese", "study-code"),
        ("The user's wife works as a paediatrician", "family"), ("用户的母亲患有高血压", "family"),
        ("The user is flying to Tokyo", "travel"), ("用户每周三打羽毛球", "hobbies"),
        ("The user works out every morning", "hobbies"),
        ("用户每个月定投指数基金", "money"), ("用户今年28岁", "about"), ("The user hums", "other"),
    ],
)  # fmt: skip
def test_a_memory_goes_to_its_theme(content: str, key: str) -> None:
    assert theme_of(content).key == key


def test_a_slot_decides_before_words() -> None:
    assert theme_of("The user lives above a bakery", slot="residence").key == "home"


def test_an_order_goes_to_its_subject_and_without_one_to_working_together() -> None:
    assert theme_of("用户要求AI以后推荐菜谱都要注明过敏原", type="instruction").key == "food-health"
    assert theme_of("The user asks the AI to keep its answers short", type="instruction").key == "together"
    assert theme_of("The user asks the AI to be kind", type="instruction").key == "together"


def test_what_no_word_knows_follows_its_scene_name() -> None:
    assert theme_of("The user hums", scene_name="Work").key == "work"
    assert theme_of("The user hums", scene_name="I am helping the user") is OTHER


def test_every_title_of_every_language_is_known_as_a_name_and_as_a_file() -> None:
    for theme in THEMES:
        for title in theme.titles.values():
            assert theme_named(title) is theme
            assert theme_named(f"{title.replace(' ', '-')}-2.md") is theme
    assert theme_named("Quarterly-Plans.md") is None


def test_a_language_without_titles_has_english_ones() -> None:
    assert OTHER.title("de") == "Other"
