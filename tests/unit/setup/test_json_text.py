"""Changes of a JSON text that leave everything else as it was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.setup.json_text import EMPTY, Value, with_appended, with_member, without_items, without_member
from memstrata.setup.json_tree import parse

COMMENTED = """\
{
\t// who I am
\t"name": "lin", /* inline */ "list": [1, 2], // two
\t"deep": {"kept": {"a": 1}}, // here
}
"""

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text().filter(lambda name: name != "ours"), VALUES, max_size=4)
INDENTS = st.sampled_from([None, 1, 2, 4, "\t"])


def test_a_member_is_added_in_the_indentation_of_the_file_and_comments_stay() -> None:
    changed = with_member(COMMENTED, ("deep", "ours"), {"x": True})
    assert changed == COMMENTED.replace(
        '{"kept": {"a": 1}}', '{"kept": {"a": 1},\n\t\t"ours": {\n\t\t\t"x": true\n\t\t}\n\t}'
    )
    assert without_member(changed, ("deep", "ours")) == COMMENTED.replace(
        '{"kept": {"a": 1}}', '{"kept": {"a": 1}\n\t}'
    )


def test_an_element_goes_behind_the_comment_of_the_one_before_it() -> None:
    text = '{\n  "hooks": [\n    "theirs" // keep\n  ]\n}\n'
    changed = with_appended(text, ("hooks",), "ours")
    assert changed == '{\n  "hooks": [\n    "theirs", // keep\n    "ours"\n  ]\n}\n'
    assert without_items(changed, ("hooks",), lambda item: item == "ours") == text


def test_a_comma_behind_the_last_element_is_neither_doubled_nor_lost() -> None:
    text = '{\n  "hooks": [\n    "theirs",\n  ],\n}\n'
    changed = with_appended(text, ("hooks",), "ours")
    assert changed == '{\n  "hooks": [\n    "theirs",\n    "ours",\n  ],\n}\n'
    assert without_items(changed, ("hooks",), lambda item: item == "ours") == text


def test_line_ends_and_a_mark_at_the_start_are_kept() -> None:
    text = '\ufeff{\r\n  "a": 1\r\n}\r\n'
    changed = with_member(text, ("b",), [1])
    assert changed == '\ufeff{\r\n  "a": 1,\r\n  "b": [\r\n    1\r\n  ]\r\n}\r\n'
    assert without_member(changed, ("b",)) == text


def test_what_is_left_empty_goes_as_well_and_what_was_empty_stays() -> None:
    text = '{\n  "other": {},\n  "hooks": {\n    "Stop": [\n      1\n    ]\n  }\n}\n'
    assert without_items(text, ("hooks", "Stop"), lambda item: item == 1) == '{\n  "other": {}\n}\n'


def test_a_value_that_stands_there_already_changes_nothing() -> None:
    assert with_member(COMMENTED, ("deep", "kept"), {"a": 1}) == COMMENTED


def test_the_last_of_two_members_of_one_name_counts_as_it_does_for_those_who_read_it() -> None:
    assert with_member('{"a": 1, "a": 2}', ("a",), 3) == '{"a": 1, "a": 3}'


@pytest.mark.parametrize(
    "text",
    ["", "{", '{"a"}', '{"a":1 "b":2}', "[1,,2]", '{"a":1}x', "{'a':1}", '{"a":NaN_}', "[" * 200, '{"a":"\n"}', "/* "],
)
def test_what_is_no_json_is_refused_and_not_mended(text: str) -> None:
    with pytest.raises(ValueError, match="is no JSON"):
        parse(text)


@pytest.mark.parametrize("text", ["[]", '"x"', '{"hooks": 7}'])
def test_something_else_in_the_way_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no (object|list)"):
        with_appended(text, ("hooks", "Stop") if text.startswith("{") else ("hooks",), 1)


@given(OBJECTS, INDENTS, VALUES)
def test_any_object_with_ours_in_it_says_the_same_and_ours(
    theirs: dict[str, Value], indent: int | str | None, ours: Value
) -> None:
    text = json.dumps(theirs, indent=indent, ensure_ascii=False)
    changed = with_member(text, ("ours",), ours)
    assert json.loads(changed) == {**theirs, "ours": ours}
    assert with_member(changed, ("ours",), ours) == changed
    assert json.loads(without_member(changed, ("ours",))) == theirs


@given(st.lists(VALUES, max_size=4), INDENTS)
def test_any_list_gives_back_what_was_put_into_it(theirs: list[Value], indent: int | str | None) -> None:
    text = json.dumps({"list": theirs, "z": 1}, indent=indent, ensure_ascii=False)
    changed = with_appended(text, ("list",), {"ours": 1})
    assert json.loads(changed) == {"list": [*theirs, {"ours": 1}], "z": 1}
    taken = json.loads(without_items(changed, ("list",), lambda item: item == {"ours": 1}))
    left = [one for one in theirs if one != {"ours": 1}]
    assert taken == ({"list": left, "z": 1} if left else {"z": 1})


def test_a_file_that_does_not_exist_is_taken_for_an_empty_object() -> None:
    assert with_member(EMPTY, ("a",), 1) == '{\n  "a": 1\n}\n'
