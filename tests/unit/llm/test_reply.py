import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.llm.reply import Read, Unreadable, read_reply
from memstrata.llm.shape import Shape
from memstrata.testing.malformed import MALFORMATIONS, Malformation, malformed


class Note(msgspec.Struct):
    content: str
    targets: list[str | int] = []


NOTES = Shape(Note, name="memories", aliases={"text": "content"})
PARTIAL = Shape(Note, name="memories", partial=True)
ITEMS = [{"content": "likes tea", "targets": ["m1"]}, {"content": "住在里斯本", "targets": ["m2", "m3"]}]
TEA = {"content": "likes tea"}


def contents(found: Read[Note] | Unreadable) -> list[str]:
    assert isinstance(found, Read), found
    return [item.content for item in found.items]


def reason(found: Read[Note] | Unreadable) -> str:
    assert isinstance(found, Unreadable), found
    return found.reason


@pytest.mark.parametrize("case", [c for c in MALFORMATIONS.values() if c.fate == "items"], ids=lambda c: c.name)
def test_what_can_be_read_is_read(case: Malformation) -> None:
    items = ITEMS[:1] if case.name == "single_object" else ITEMS
    found = contents(read_reply(malformed(case.name, items).text, NOTES))
    assert [text.strip() for text in found] == [item["content"] for item in items]


@pytest.mark.parametrize("case", [c for c in MALFORMATIONS.values() if c.fate == "failed"], ids=lambda c: c.name)
def test_what_cannot_be_read_is_no_empty_answer(case: Malformation) -> None:
    assert isinstance(read_reply(malformed(case.name, ITEMS).text, NOTES), Unreadable)


def test_only_an_empty_list_is_nothing() -> None:
    for text in (
        "[]",
        "```json\n[]\n```",
        '{"memories": []}',
        "There is nothing to keep.\n\n[]\n",
        "<think>hm</think>[]",
    ):
        assert contents(read_reply(text, NOTES)) == [], text


def test_empty_brackets_in_the_middle_of_prose_are_not_an_answer() -> None:
    assert reason(read_reply("I made an empty array [] for you and will fill it", NOTES)) == "no_json"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("<think>so much to think</think>", "only_reasoning"),
        ("<think>never done [", "only_reasoning"),
        ("I'm sorry, but I can't assist with that.", "content_filter"),
        ("抱歉，我无法回答这个问题。", "content_filter"),
        ("申し訳ありませんが、お答えできません。", "content_filter"),
        ("There is nothing to remember here.", "no_json"),
        ('{"status": "ok"}', "invalid"),
        ("{}", "invalid"),
        ('[{"content": "a 5" nail"}]', "invalid"),
        ('[{"content": 7}]', "invalid"),
        ('{"$schema": "x", "type": "array", "properties": {}}', "echo"),
        ('[{"role": "user", "content": "hello"}]', "echo"),
    ],
)
def test_an_unreadable_reply_says_why(text: str, why: str) -> None:
    assert reason(read_reply(text, NOTES)) == why


def test_a_value_that_stands_in_the_input_is_an_echo_however_it_is_spaced() -> None:
    shown = 'New messages:\n[{"content": "likes tea", "at": "09:00"}]'
    assert reason(read_reply('[ {"content":"likes tea", "at":"09:00"} ]', NOTES, shown)) == "echo"
    assert contents(read_reply('[{"content": "the user likes tea"}]', NOTES, shown)) == ["the user likes tea"]


def test_the_empty_answer_that_the_prompt_has_told_is_no_echo() -> None:
    told = 'If there is nothing, answer {"scene_name": "", "memories": []}.'
    assert contents(read_reply('{"scene_name": "", "memories": []}', NOTES, told)) == []


def test_the_first_valid_value_counts_and_those_without_a_fault_go_first() -> None:
    assert contents(read_reply('[1] {"x": 1} [{"content": "a"}] [{"content": "b"}]', NOTES)) == ["a"]
    assert contents(read_reply('[{"content": 1}] corrected: [{"content": "b"}]', NOTES)) == ["b"]


def test_parts_of_a_faulty_list_do_not_pass_for_the_whole() -> None:
    text = '[{"content": "a"}, {"content": 5},]'
    assert reason(read_reply(text, NOTES)) == "invalid"
    partial = read_reply(text, PARTIAL)
    assert contents(partial) == ["a"]
    assert isinstance(partial, Read)
    assert partial.problems


def test_a_cut_tail_is_told_and_half_a_sentence_is_never_kept() -> None:
    text = '[{"content": "likes tea"}, {"content": "lives in Lis'
    assert "ends within" in str(read_reply(text, NOTES))
    assert contents(read_reply(text, PARTIAL)) == ["likes tea"]


def test_the_complaint_is_about_the_answer_and_not_about_brackets_in_prose() -> None:
    found = read_reply('as said in [1]: [{"content": 5, "targets": ["m1"]}]', NOTES)
    assert isinstance(found, Unreadable)
    assert "$.content" in found.detail


def test_a_reply_beyond_all_measure_is_not_read() -> None:
    assert reason(read_reply("[" * 400_001, NOTES)) == "too_long"


def test_an_answer_after_much_prose_is_found() -> None:
    prose = "as [one] and {two} say, see [3]; " * 5_000
    assert contents(read_reply(f'{prose}\n[{{"content": "likes tea"}}]', NOTES)) == ["likes tea"]


@settings(max_examples=150, deadline=None)
@given(st.text() | st.text(alphabet="[]{}\",:\\'`<>/thinkT\n\t 0189-.eE\0\ud800我"))
def test_no_text_makes_the_reader_fail(text: str) -> None:
    assert isinstance(read_reply(text, NOTES, text), Read | Unreadable)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(_JSON, st.integers(0, 60))
def test_no_value_whole_or_cut_makes_the_reader_fail(value: object, end: int) -> None:
    text = json.dumps(value)
    assert isinstance(read_reply(text, NOTES), Read | Unreadable)
    assert isinstance(read_reply(text[:end], PARTIAL), Read | Unreadable)


_ITEMS: st.SearchStrategy[list[dict[str, str]]] = st.lists(
    st.fixed_dictionaries({"content": st.text(min_size=1, max_size=20).filter(lambda t: "\0" not in t)}), min_size=1
)
_PROSE = st.text(alphabet=st.characters(exclude_characters="[]{}<>◁\"'`", exclude_categories=["Cs"]), max_size=40)
_JUNK = st.lists(
    st.sampled_from(
        ["[note]", "[1]", "{name}", "(see [2, 3])", "```json\n", "\n```\n", '{"x": 1}', "<think>[{}]</think>"]
    )
    | _PROSE,
    max_size=6,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(_JUNK, _ITEMS, _JUNK, st.booleans(), st.booleans())
def test_a_valid_answer_is_found_in_any_junk(
    before: str, items: list[dict[str, str]], after: str, ascii_only: bool, wrapped: bool
) -> None:
    answer = json.dumps({"memories": items} if wrapped else items, ensure_ascii=ascii_only)
    found = contents(read_reply(f"{before}\n{answer}\n{after}", NOTES))
    assert found == [item["content"] for item in items]


@settings(max_examples=100, deadline=None)
@given(_ITEMS, st.data())
def test_of_an_answer_cut_anywhere_only_whole_items_are_kept(items: list[dict[str, str]], data: st.DataObject) -> None:
    answer = json.dumps(items)
    end = data.draw(st.integers(1, len(answer) - 1))
    found = read_reply(answer[:end], PARTIAL)
    if isinstance(found, Read):
        whole = [item["content"] for item in items]
        assert contents(found) == whole[: len(found.items)]
        assert found.items
