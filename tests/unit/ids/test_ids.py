"""Ids in the forms of the wire contract, and names that are safe on any file system."""

from __future__ import annotations

import re

import pytest

from memstrata.ids import (
    directory_id,
    document_id,
    file_name,
    memory_id,
    message_id,
    prompt_id,
    relation_id,
    request_id,
    setting_id,
    setting_log_id,
)

HOSTILE = [
    *(
        "",
        ".",
        "..",
        "../../x",
        "/",
        "a/b",
        "a\\b",
        "a:b",
        "a\x00b",
        "a\nb",
        " ",
        "a ",
        "a.",
        "~",
        "~x",
        "%2f",
        "a%2fb",
    ),
    *("Twin", "twin", "TWIN", "ß", "ss", "SS", "é", "e\u0301", "🙂", "👩‍👩‍👧‍👦", "\ud83d", "con", "x" * 100, "x" * 101),
    *("x" * 300, "y" * 299 + "z", "y" * 300, "漢" * 33, "漢" * 34, "漢" * 300, "\u202eevil", '*?<>|"'),
]


def test_ids_have_the_form_of_the_contract_and_do_not_repeat() -> None:
    assert re.fullmatch(r"msg-[0-9a-f]{16}", message_id())
    assert re.fullmatch(r"req-[0-9a-f]{16}", request_id())
    assert re.fullmatch(r"m_1767603600000_[0-9a-f]{8}", memory_id(1_767_603_600_000))
    assert len({message_id() for _ in range(1_000)}) == len({memory_id(0) for _ in range(1_000)}) == 1_000


def test_a_memory_id_has_thirteen_digits_whatever_the_clock_says() -> None:
    assert memory_id(0).startswith("m_1000000000000_")


@pytest.mark.parametrize("text", ["home", "team-1", "a_b", "里斯本", "λ"])
def test_an_ordinary_id_stays_readable(text: str) -> None:
    assert file_name(text) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_any_id_becomes_one_safe_component(text: str) -> None:
    name = file_name(text)

    assert 0 < len(name.encode()) <= 150
    assert name not in (".", "..")
    assert not set(name) & set('/\\:*?"<>|\x00\n ')
    assert not name.endswith(".")
    assert file_name(text) == name


def test_different_ids_have_different_names_even_where_case_and_form_do_not_count() -> None:
    names = [file_name(text) for text in HOSTILE]
    assert len({name.casefold() for name in names}) == len(HOSTILE)


def test_a_name_that_was_made_is_not_another_ids_name() -> None:
    made = file_name("a/b")
    assert file_name(made) != made


def test_prompts_have_random_ids_and_their_bindings_those_of_their_targets() -> None:
    assert re.fullmatch(r"mp-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", prompt_id())
    assert len({prompt_id() for _ in range(1_000)}) == 1_000
    assert setting_id("", "", "l1") == "mps:i:l1"
    assert setting_id("home", "", "l2") == "mps:t:4ea140588150773ce3aace786aeef7f4:l2"
    assert setting_id("home", "assistant", "l3") == "mps:a:05aba397c9aeee59052d946a5f4352a2:l3"


def test_a_line_of_the_bindings_history_keeps_its_id() -> None:
    assert setting_log_id("default", 7) == setting_log_id("default", 7)
    assert re.fullmatch(r"mpsl-[0-9a-f-]{36}", setting_log_id("default", 7))
    assert len({setting_log_id(instance, seq) for instance in ("a", "b") for seq in (1, 2)}) == 4


def test_a_document_has_one_id_and_no_other_document_has_it() -> None:
    parts = ("default", "home", "assistant", "", "scene", "home.md")
    others = [
        tuple(part + "x" if place == changed else part for place, part in enumerate(parts)) for changed in range(6)
    ]

    assert re.fullmatch(r"profile:v1:[0-9a-f]{64}", document_id(*parts))
    assert document_id(*parts) == document_id(*parts)
    assert len({document_id(*parts), *(document_id(*other) for other in others)}) == 7


@pytest.mark.parametrize(
    ("seconds", "digits"), [(0, "0000"), (35, "000z"), (36, "0010"), (36**4 - 1, "zzzz"), (36**4 + 1, "0001")]
)
def test_ids_of_the_directory_begin_with_their_kind_and_second(seconds: int, digits: str) -> None:
    found = directory_id("agt", seconds * 1000 + 999)

    assert re.fullmatch(f"agt-{digits}[a-z0-9]{{6}}", found)
    assert len({directory_id("usr", 0) for _ in range(100)}) == 100


def test_relations_have_random_uuids() -> None:
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", relation_id())
    assert relation_id() != relation_id()
