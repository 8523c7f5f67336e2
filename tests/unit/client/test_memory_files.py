from __future__ import annotations

import pytest

from memstrata.client._memory_files import (
    MAX_FILE,
    MAX_VIEW,
    Refused,
    body_of,
    inserted,
    listing,
    numbered,
    replaced,
    scene_path,
)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ("/memories", ""),
        ("/memories/", ""),
        ("/memories/notes.txt", "notes.txt"),
        ("/memories/work/plan.md", "work/plan.md"),
        ("/memories/work/", "work"),
        ("/memories/小林 的笔记.md", "小林 的笔记.md"),
        ("/memories/100% sure.md", "100% sure.md"),
        ("/memories/cafe\u0301.md", "café.md"),
    ],
)
def test_a_path_below_the_root_is_that_of_a_scene(given: str, path: str) -> None:
    assert scene_path({"path": given}) == path


@pytest.mark.parametrize(
    "given",
    [
        "",
        "/",
        "notes.txt",
        "/etc/passwd",
        "/memoriesX/a",
        "memories/a",
        "/memories/..",
        "/memories/../etc/passwd",
        "/memories/a/../../b",
        "/memories/./a",
        "/memories//a",
        "/memories//",
        "/memories/a\\..\\b",
        "/memories/%2e%2e/etc/passwd",
        "/memories/%252e%252e/a",
        "/memories/..%2fa",
        "/memories/%c0%ae%c0%ae/a",
        "/memories/\uff0e\uff0e/a",
        "/memories/..\uff0fa",
        "/memories/a\uff3c..",
        "/memories/\u2025/a",
        "/memories/a\x00.md",
        "/memories/a\nb",
        "/memories/\ud800",
        "/memories/a\u2028b",
        "/memories/ .. /a",
        "/memories/" + "a" * 300,
        None,
        7,
        ["/memories/a"],
    ],
)
def test_any_other_path_is_refused(given: object) -> None:
    with pytest.raises(Refused):
        scene_path({"path": given})


def test_lines_are_numbered_from_one_in_six_columns_before_a_tab() -> None:
    body = "".join(f"line {number}\n" for number in range(1, 101))

    lines = numbered("notes.txt", body, None).split("\n")

    assert lines[0] == "Here's the content of /memories/notes.txt with line numbers:"
    assert (lines[1], lines[10], lines[100]) == ("     1\tline 1", "    10\tline 10", "   100\tline 100")
    assert len(lines) == 101


@pytest.mark.parametrize(
    ("view_range", "seen"),
    [([2, 3], ["b", "c"]), ([2, -1], ["b", "c"]), ([3, 9], ["c"]), ([1, 1], ["a"])],
)
def test_a_range_shows_its_lines_with_their_own_numbers(view_range: list[int], seen: list[str]) -> None:
    _, *lines = numbered("n.md", "a\nb\nc", view_range).split("\n")

    assert [line.partition("\t")[2] for line in lines] == seen
    assert int(lines[0].partition("\t")[0]) == view_range[0]


@pytest.mark.parametrize("view_range", [[0, 1], [3, 2], [4, 5], [1], [1, 2, 3], ["1", "2"], [True, True], "1-2", {}, 3])
def test_a_range_that_is_none_is_refused(view_range: object) -> None:
    with pytest.raises(Refused, match="Invalid `view_range` parameter"):
        numbered("n.md", "a\nb\nc", view_range)


def test_a_long_file_is_cut_and_says_where_to_read_on() -> None:
    body = "\n".join("x" * 99 for _ in range(1_000))

    answer = numbered("n.md", body, None)

    last = answer.rsplit("\n", 1)[1]
    assert len(answer) < MAX_VIEW + 200
    number = int(last.removesuffix(")").rsplit(" ", 1)[1])
    assert numbered("n.md", body, [number, number]).endswith(f"{number:>6}\t{'x' * 99}")


def test_a_folder_shows_two_levels_with_sizes_and_without_what_is_hidden() -> None:
    sizes = {"b.md": 0, "a.md": 1_536, "work/plan.md": 2_048, "work/old/x/y.md": 10, ".secret": 5, "node_modules/m": 5}

    assert listing(sizes, "").split("\n") == [
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:",
        "3.5K\t/memories",
        "1.5K\t/memories/a.md",
        "0B\t/memories/b.md",
        "2.0K\t/memories/work",
        "10B\t/memories/work/old",
        "2K\t/memories/work/plan.md",
    ]
    assert listing(sizes, "work/old").split("\n")[1:] == [
        "10B\t/memories/work/old",
        "10B\t/memories/work/old/x",
        "10B\t/memories/work/old/x/y.md",
    ]


def test_a_text_that_is_there_once_is_replaced_and_shown_with_the_lines_around_it() -> None:
    after, answer = replaced("n.md", "1\n2\n3\nblue\n5\n6\n7\n", "blue", "green\nred")

    assert after == "1\n2\n3\ngreen\nred\n5\n6\n7\n"
    assert answer.split("\n") == [
        "The memory file has been edited.",
        "     2\t2",
        "     3\t3",
        "     4\tgreen",
        "     5\tred",
        "     6\t5",
        "     7\t6",
    ]


def test_a_text_that_is_not_there_or_more_than_once_is_not_replaced() -> None:
    with pytest.raises(Refused) as missing:
        replaced("n.md", "a", "b", "c")
    with pytest.raises(Refused) as doubled:
        replaced("n.md", "x\nab ab\nab", "ab", "c")
    with pytest.raises(Refused):
        replaced("n.md", "aaa", "aa", "b")
    with pytest.raises(Refused):
        replaced("n.md", "a", "", "b")

    assert str(missing.value) == "No replacement was performed, old_str `b` did not appear verbatim in /memories/n.md."
    assert str(doubled.value) == (
        "No replacement was performed. Multiple occurrences of old_str `ab` in lines: 2, 3. Please ensure it is unique"
    )


@pytest.mark.parametrize(
    ("body", "at", "after"),
    [
        ("a\nb\n", 0, "new\na\nb\n"),
        ("a\nb\n", 1, "a\nnew\nb\n"),
        ("a\nb\n", 2, "a\nb\nnew\n"),
        ("a", 1, "a\nnew"),
        ("", 0, "new\n"),
    ],
)
def test_a_text_goes_behind_the_line_that_is_named(body: str, at: int, after: str) -> None:
    assert inserted("n.md", body, at, "new") == inserted("n.md", body, at, "new\n") == after


@pytest.mark.parametrize("at", [-1, 3])
def test_a_line_that_is_not_there_is_refused(at: int) -> None:
    with pytest.raises(Refused) as refusal:
        inserted("n.md", "a\nb\n", at, "new")

    assert str(refusal.value) == (
        f"Error: Invalid `insert_line` parameter: {at}. It should be within the range of lines of the file: [0, 2]"
    )


def test_no_edit_makes_a_file_longer_than_it_may_be() -> None:
    full = "a" * (MAX_FILE - 1) + "b"

    with pytest.raises(Refused, match="8,193 characters"):
        replaced("n.md", full, "b", "cc")
    with pytest.raises(Refused, match="a file may have 8,192"):
        inserted("n.md", full, 0, "x")


def test_only_the_block_at_the_start_is_taken_for_the_servers() -> None:
    block = "-----META-START-----\nsummary: x\n-----META-END-----\n"

    assert body_of(f"{block}\nbody\n{block}") == f"body\n{block}"
    assert body_of(f"body\n{block}") == f"body\n{block}"
