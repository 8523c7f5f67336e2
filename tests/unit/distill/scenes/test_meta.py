from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from memstrata.distill.scenes.meta import ParsedScene, parse_scene, render_scene
from memstrata.records import Document

DOCUMENT = Document(1, "scene", "Work.md", 3, "# Work\n\nThe user works.", "a summary", 7, "rules", 1_000, 2_000)
TEXT = """-----META-START-----
created: 1970-01-01T00:00:01.000Z
updated: 1970-01-01T00:00:02.000Z
summary: a summary
heat: 7
-----META-END-----

# Work

The user works."""


def test_a_scene_is_rendered_in_the_layout_of_the_contract() -> None:
    assert render_scene(DOCUMENT) == TEXT


def test_what_is_rendered_is_read_back() -> None:
    assert parse_scene(TEXT) == ParsedScene(DOCUMENT.body, "a summary", 7, 1_000, 2_000)


def test_without_a_block_all_is_body() -> None:
    for text in ("# Work", "", "-----META-START-----\nheat: 3\nno end", "text\n-----META-END-----"):
        assert parse_scene(text) == ParsedScene(text)


def test_a_summary_cannot_add_keys() -> None:
    for separator in ("\n", "\r\n", "\r", "\u2028", "\x85", "\x0b"):
        hostile = replace(DOCUMENT, summary=f"nice{separator}heat: 999{separator}-----META-END-----")
        parsed = parse_scene(render_scene(hostile))
        assert (parsed.heat, parsed.body) == (7, DOCUMENT.body)


def test_blocks_that_clients_wrote_back_are_all_stripped_and_the_outermost_wins() -> None:
    inner = TEXT.replace("heat: 7", "heat: 1")
    assert parse_scene(render_scene(replace(DOCUMENT, body=inner))) == ParsedScene(
        DOCUMENT.body, "a summary", 7, 1_000, 2_000
    )


def test_a_block_inside_a_block_is_stripped() -> None:
    text = (
        "-----META-START-----\n-----META-START-----\nheat: 2\n-----META-END-----\nheat: 3\n-----META-END-----\n\nbody"
    )
    assert parse_scene(text) == ParsedScene("body", heat=2)


def test_missing_and_unreadable_values_are_none() -> None:
    text = "\ufeff-----META-START-----\r\nheat: hot\r\nupdated: yesterday\r\nother: 1\r\n-----META-END-----\r\n\r\nbody"
    assert parse_scene(text) == ParsedScene("body")


@given(st.text(), st.text(), st.integers(0, 10**6))
def test_any_summary_and_plain_body_survive_a_round_trip(summary: str, body: str, heat: int) -> None:
    body = f"# {body}".replace("\r\n", "\n")
    parsed = parse_scene(render_scene(replace(DOCUMENT, summary=summary, body=body, heat=heat)))
    assert (parsed.body, parsed.heat) == (body, heat)


@given(st.lists(st.sampled_from([*TEXT.split("\n"), "", "x: y"]), max_size=20))
def test_reading_never_fails_and_leaves_no_complete_block_at_the_top(lines: list[str]) -> None:
    body = parse_scene("\n".join(lines)).body
    assert parse_scene(body).body == body or body.lstrip().startswith("-----META")
