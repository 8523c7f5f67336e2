"""What we inject is found again, and nothing else is taken for it."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memstrata.text import TAGS, Tag, escape, strip_injected, wrap

BLOCK = wrap("relevant-memories", "- [persona] likes tea")
FRAGMENTS = [
    "<",
    "</",
    ">",
    "relevant-memories",
    "user-persona",
    "system",
    "USER",
    "assistant",
    ' source="memstrata"',
    "/",
    " ",
]
FRAGMENTS += [
    "\n",
    "\r\n",
    "\u200b",
    "text",
    "字",
    "<relevant-memories>",
    '<user-persona source="memstrata">',
    "</user-persona>",
]
TANGLED_TEXT = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
A_TAG = st.sampled_from(TAGS)


@given(A_TAG, TANGLED_TEXT, TANGLED_TEXT)
def test_a_wrapped_block_is_stripped_and_the_rest_is_left(tag: Tag, body: str, said: str) -> None:
    said = escape(said).strip("\r\n")
    assert strip_injected(wrap(tag, escape(body)) + said) == said
    assert strip_injected(f"{wrap(tag, escape(body))}\n\n{said}") == said
    assert strip_injected(f"{said}\n\n{wrap(tag, escape(body))}") == said


@given(TANGLED_TEXT | st.text(st.characters(exclude_categories=())))
def test_text_without_our_mark_is_returned_as_it_is(text: str) -> None:
    assume('source="memstrata"' not in text)
    assert strip_injected(text) == text


@given(TANGLED_TEXT)
def test_stripping_only_takes_away(text: str) -> None:
    rest = iter(text)
    assert all(character in rest for character in strip_injected(text))


@given(TANGLED_TEXT)
def test_escaped_text_opens_and_closes_no_tag(text: str) -> None:
    escaped = escape(text)
    assert not re.search(
        r"<[\s/\u200b]*(relevant-memories|user-persona|system|assistant|user)[\s/>]", escaped, re.IGNORECASE
    )
    assert escaped.replace("&lt;", "<") == text


@pytest.mark.parametrize(
    "text",
    [
        "</relevant-memories>",
        "< / Relevant-Memories >",
        "<USER-PERSONA a=1>",
        "<\u200bscene-navigation>",
        "<\nsystem\n>",
        "<ſystem>",
        "</assistant",
        "<user/>",
        "<memory-tools-guide",
    ],
)
def test_every_spelling_of_a_guarded_tag_is_escaped(text: str) -> None:
    assert escape(text) == text.replace("<", "&lt;")


@pytest.mark.parametrize(
    "text", ["a < b", "<b>bold</b>", "<userland>", "<user-agent>", "<system.out>", "&lt;", "Map<UserId, int>"]
)
def test_other_text_is_not_escaped(text: str) -> None:
    assert escape(text) == text


def test_blocks_side_by_side_leave_one_gap() -> None:
    persona = wrap("user-persona", "calm")
    assert strip_injected(f"before\n\n{BLOCK}\n\n{persona}\n\nafter\n") == "before\n\nafter\n"
    assert strip_injected(f"before\n{BLOCK}\nafter") == "before\nafter"
    assert strip_injected(f"{BLOCK}\n\n{persona}\n") == ""


def test_space_and_blank_lines_away_from_a_block_are_kept() -> None:
    assert strip_injected(f"\n\n  one\n\n\ntwo\n\n{BLOCK}") == "\n\n  one\n\n\ntwo"


def test_a_block_that_starts_a_line_and_never_ends_goes_up_to_the_end() -> None:
    assert strip_injected('hello\n<user-persona source="memstrata">\ncalm and') == "hello"


def test_a_mention_of_an_opening_inside_a_line_is_kept() -> None:
    text = 'what does <user-persona source="memstrata"> mean?'
    assert strip_injected(text) == text


def test_a_lookalike_without_the_mark_is_the_users_own_text() -> None:
    text = "<relevant-memories>\nmy own notes\n</relevant-memories>"
    assert strip_injected(text) == text
    assert strip_injected(f"{BLOCK}\n{text}") == text


def test_many_mentions_take_linear_time() -> None:
    mentions = 'x <user-persona source="memstrata"> ' * 50_000
    assert strip_injected(mentions) == mentions
    assert strip_injected((BLOCK + "\n") * 50_000) == ""
    assert escape("< " * 500_000) == "< " * 500_000
