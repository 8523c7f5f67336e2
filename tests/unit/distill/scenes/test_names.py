from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstrata.distill.scenes.names import MAX_NAME_LENGTH, check_path, check_prefix, fold_path, scene_file_name
from memstrata.errors import InvalidRequest


@pytest.mark.parametrize("path", ["a.md", "饮食与健康.md", "dir/a.md", "dir/", "a..b.md", ".hidden", "a b.md"])
def test_relative_paths_are_safe(path: str) -> None:
    assert check_path(path) == path


@pytest.mark.parametrize(
    "path", ["", "/a.md", "../a.md", "a/../b.md", "a/..", "..", "a\\b.md", "a\0.md", "a\nb.md", "a\u2028b.md"]
)
def test_unsafe_paths_are_refused_in_the_words_of_the_contract(path: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_path(path)
    assert str(refused.value) == "path: Path must be relative (no '..', no leading '/', no backslash/NUL)"


def test_a_prefix_may_be_empty_or_partial_but_not_leave_the_directory() -> None:
    assert check_prefix("") == ""
    assert check_prefix("饮") == "饮"
    for prefix in ("../", "/", "a/../../b", "\\"):
        with pytest.raises(InvalidRequest) as refused:
            check_prefix(prefix)
        assert refused.value.field == "path_prefix"


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Food and Health", "Food-and-Health.md"), ("饮食与健康", "饮食与健康.md"),
        ("やりとりの約束", "やりとりの約束.md"),
        ("C++ / Rust!", "C-Rust.md"), ("v1.2 notes", "v1.2-notes.md"), ("a__b--c", "a_b-c.md"), ("../../etc", "etc.md"),
        ("Work.md", "Work.md"), ("WORK.MD ", "WORK.md"), ("", "scene.md"), ("😀", "scene.md"),
        ("re\u0301sume\u0301", "r\u00e9sum\u00e9.md"),
    ],
)  # fmt: skip
def test_a_title_becomes_a_file_name(title: str, name: str) -> None:
    assert scene_file_name(title, ()) == name


def test_a_taken_name_is_numbered_whatever_its_case() -> None:
    assert scene_file_name("Work", ("work.md",)) == "Work-2.md"
    assert scene_file_name("Work", ("WORK.md", "work-2.md")) == "Work-3.md"
    assert scene_file_name("Ｗｏｒｋ", ("Work.md",)) == "Ｗｏｒｋ-2.md"


@given(st.text(max_size=200), st.lists(st.text(max_size=20).map(lambda title: scene_file_name(title, ())), max_size=5))
def test_every_title_gives_a_free_safe_name(title: str, taken: list[str]) -> None:
    name = scene_file_name(title, taken)
    assert check_path(name) == name
    assert name.endswith(".md")
    assert len(name) <= MAX_NAME_LENGTH
    assert "/" not in name
    assert fold_path(name) not in {fold_path(path) for path in taken}
