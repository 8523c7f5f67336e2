import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.proxy.forms.pages import MORE, NONE, Choice, page_count, page_of
from memstrata.proxy.forms.words import form_words

EN = form_words("en")


@given(count=st.integers(1, 60), most=st.sampled_from((0, 3, 4)))
def test_every_choice_is_on_exactly_one_page_and_each_page_fits(count: int, most: int) -> None:
    choices = [Choice(f"agent-{at:04}", f"name {at}") for at in range(count)]
    pages = [page_of(choices, page, most, EN) for page in range(page_count(count, most))]

    assert [option.id for page in pages for option in page if option.id != MORE] == [choice.id for choice in choices]
    assert all(len(page) <= (most or 20) for page in pages)
    assert all(len(page) >= 2 for page in pages) or count == 1
    assert all(page[-1].id == MORE for page in pages[:-1])


def test_eleven_agents_need_four_pages_where_four_options_fit() -> None:
    choices = [Choice(f"agt-{at:08}", f"agent {at}") for at in range(11)]

    assert page_count(11, 4) == 4
    assert [len(page_of(choices, page, 4, EN)) for page in range(4)] == [4, 4, 4, 3]
    assert page_of(choices, 4, 4, EN) == page_of(choices, 0, 4, EN)


def test_a_label_tells_two_of_one_name_apart_and_breaks_no_form() -> None:
    one, other = page_of([Choice("agt-11111111", 'A "b"\nc'), Choice("agt-22222222", 'A "b"\nc')], 0, 4, EN)

    assert one.label == "A 'b' c (11111111)"
    assert one.label != other.label


@pytest.mark.parametrize(("language", "label"), [("en", "No task"), ("zh", "不关联任务")])
def test_no_task_is_a_choice_in_words(language: str, label: str) -> None:
    words = form_words("zh" if language == "zh" else "en")

    assert page_of([Choice(NONE, ""), Choice("t1", "Ship")], 0, 4, words)[0].label == label
