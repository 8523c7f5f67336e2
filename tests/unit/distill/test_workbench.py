"""The bench of files: what a model may do with its tools, and what it is told when it may not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memstrata.distill.calls import Aliases
from memstrata.distill.workbench import BenchFile, BenchRules, Workbench
from memstrata.records import PERSONA_PATH

TEA = "# Tea\n\nLin drinks green tea in the morning."
MOVE = "# Move\n\nLin moved to Lisbon."
HUMAN = "a person wrote this file; write a new one beside it"


def bench(*more: BenchFile, most: int = 5) -> Workbench:
    files = [BenchFile("tea.md", TEA, "what Lin drinks"), BenchFile("move.md", MOVE), *more]
    return Workbench(files, BenchRules(1_500, most), Aliases("m", (11, 12)))


async def told(on: Workbench, tool: str, **arguments: Any) -> str:
    """Make a call that must succeed."""
    result = await on.call(tool, arguments)
    assert not result.is_error, result.text
    return result.text


async def refused(on: Workbench, tool: str, **arguments: Any) -> str:
    """Make a call that must be refused, leave everything as it was, and be noted."""
    before = (dict(on.staged), dict(on.removed), len(on.notes))
    result = await on.call(tool, arguments)
    assert result.is_error
    assert (dict(on.staged), dict(on.removed)) == before[:2]
    assert len(on.notes) == before[2] + 1
    assert on.notes[-1].startswith(tool)
    return result.text


async def test_what_was_written_is_read_back_and_cites_what_was_shown() -> None:
    on = bench()
    await told(on, "write", path="work.md", content="# Work\n\nA shop.", summary=" the\nshop ", memories=["m2", "[M1]"])
    assert await told(on, "read", path="work.md") == "# Work\n\nA shop."
    staged = on.staged["work.md"]
    assert (staged.summary, staged.memory_seqs) == ("the shop", (12, 11))
    assert on.live() == ("tea.md", "move.md", "work.md")


async def test_memories_that_were_not_shown_are_noted_and_ignored() -> None:
    on = bench()
    await told(on, "write", path="tea.md", content="Tea.", summary="s", memories=["m1", "m9", "11", "m_abc", 7])
    assert on.staged["tea.md"].memory_seqs == (11,)
    assert on.notes == ["tea.md: 4 names of memories that were not shown"]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("../../x.md", "Path must be relative"),
        ("/etc/passwd.md", "Path must be relative"),
        ("..\\x.md", "Path must be relative"),
        ("x\u2028.md", "Path must be relative"),
        ("notes/x.md", "no slash"),
        ("notes.txt", "ends in .md"),
        ("a b!.md", "use a-b.md"),
        ("Tea.md", "the same file as tea.md"),
        ("ｔｅａ.md", "the same file as tea.md"),
        ("", "must be the name"),
        (["tea.md"], "must be the name"),
        (None, "must be the name"),
    ],
)
async def test_a_name_that_no_scene_may_have_is_refused_with_a_hint(path: object, hint: str) -> None:
    assert hint in await refused(bench(), "write", path=path, content="text", summary="s", memories=["m1"])


async def test_two_new_names_that_are_one_after_normalisation_are_one_file() -> None:
    on = bench()
    await told(on, "write", path="café.md", content="One.", summary="s", memories=["m1"])
    assert "the same file as café.md" in await refused(on, "write", path="cafe\u0301.md", content="Two.", summary="s")


async def test_a_scene_with_a_folder_that_exists_keeps_its_name() -> None:
    on = bench(BenchFile("work/shop.md", "# Shop"))
    await told(on, "write", path="work/shop.md", content="# Shop\n\nOpen.", summary="s", memories=["m1"])
    assert "work/shop.md" in on.staged


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("-----META-START-----\nheat: 900\n-----META-END-----\n\n", "empty"),
        ("x" * 1_501, "1501 characters, at most 1500"),
        ("long " * 400_000, "at most 1500"),
        (None, "`content` must be"),
        (["text"], "`content` must be"),
    ],
)
async def test_a_text_that_cannot_be_a_scene_is_refused(content: object, hint: str) -> None:
    assert hint in await refused(bench(), "write", path="tea.md", content=content, summary="s", memories=["m1"])


async def test_meta_and_navigation_that_a_model_writes_are_taken_off() -> None:
    on = bench()
    text = (
        "-----META-START-----\nheat: 900\n-----META-END-----\n\nTea.\n\n---\n## 🗺️ Scene Navigation (Scene Index)\n- x"
    )
    await told(on, "write", path="tea.md", content=text, summary="s", memories=["m1"])
    assert on.staged["tea.md"].text == "Tea."


@pytest.mark.parametrize("new", ["$&", "$1 and \\1", "\\g<0>", "&amp;", "$$", "`$`"])
async def test_an_edit_puts_in_the_very_letters_it_was_given(new: str) -> None:
    on = bench()
    await told(on, "edit", path="tea.md", edits=[{"old": "green", "new": new}], memories=["m1"])
    assert on.staged["tea.md"].text == TEA.replace("green", new)
    assert on.staged["tea.md"].summary == "what Lin drinks"


@pytest.mark.parametrize(
    ("edits", "hint"),
    [
        ([{"old": "in", "new": "x"}], "more than once"),
        ([{"old": "GREEN", "new": "x"}], "does not stand"),
        ([{"old": "gr.en", "new": "x"}], "does not stand"),
        ([{"old": "", "new": "x"}], "does not stand"),
        ([{"old": "green", "new": "black"}, {"old": "coffee", "new": "x"}], "edit 2"),
        ([{"old": "green", "new": 5}], "not of the form"),
        (["green"], "not of the form"),
        ([{"old": TEA, "new": ""}], "empty"),
        ([{"old": TEA, "new": "[DELETED]"}], "use write"),
        ([], "must be a list"),
        ("green", "must be a list"),
    ],
)
async def test_of_an_edit_that_does_not_fit_nothing_is_done(edits: object, hint: str) -> None:
    assert hint in await refused(bench(), "edit", path="tea.md", edits=edits)


async def test_places_that_overlap_are_more_than_one() -> None:
    on = bench(BenchFile("a.md", "aaa"))
    assert "more than once" in await refused(on, "edit", path="a.md", edits=[{"old": "aa", "new": "b"}])


async def test_an_edit_without_edits_says_that_a_memory_is_told_there_already() -> None:
    on = bench()
    await told(on, "edit", path="tea.md", edits=[], memories=["m2"])
    assert (on.staged["tea.md"].text, on.staged["tea.md"].memory_seqs) == (TEA, (12,))


async def test_edits_of_one_file_add_up() -> None:
    on = bench()
    await told(on, "edit", path="tea.md", edits=[{"old": "green", "new": "black"}], memories=["m1"])
    await told(
        on, "edit", path="tea.md", edits=[{"old": "black", "new": "white"}], memories=["m2"], summary="white tea"
    )
    staged = on.staged["tea.md"]
    assert (staged.text, staged.summary, staged.memory_seqs) == (TEA.replace("green", "white"), "white tea", (11, 12))


async def test_only_the_mark_alone_removes_a_file() -> None:
    on = bench()
    await told(on, "write", path="tea.md", content="Tea. [DELETED]", summary="s", memories=["m1"])
    assert on.live() == ("tea.md", "move.md")
    await told(on, "write", path="tea.md", content=" [DELETED]\n", summary="", memories=[])
    assert on.live() == ("move.md",)
    assert list(on.removed) == ["tea.md"]
    assert "no file" in await refused(on, "edit", path="tea.md", edits=[{"old": "green", "new": "black"}])
    assert "no file" in await refused(on, "write", path="unknown.md", content="[DELETED]")


async def test_a_removed_file_that_is_written_again_lives_on() -> None:
    on = bench()
    await told(on, "write", path="tea.md", content="[DELETED]", summary="", memories=[])
    await told(on, "write", path="tea.md", content="Black tea.", summary="s", memories=["m1"])
    assert (on.live(), list(on.removed)) == (("tea.md", "move.md"), [])


async def test_a_new_file_that_is_dropped_leaves_its_merges_alone() -> None:
    on = bench()
    await told(on, "write", path="life.md", content="Life.", summary="s", memories=["m1"], merges=["tea.md", "move.md"])
    assert on.live() == ("life.md",)
    await told(on, "write", path="life.md", content="[DELETED]", summary="", memories=[])
    assert on.live() == ("tea.md", "move.md")


async def test_beyond_the_most_files_there_is_only_updating_and_merging() -> None:
    on = bench(most=2)
    hint = await refused(on, "write", path="work.md", content="Work.", summary="s", memories=["m1"])
    assert "at most 2 files" in hint
    assert "merges" in hint
    await told(on, "write", path="work.md", content="Work.", summary="s", memories=["m1"], merges=["tea.md"])
    assert set(on.live()) == {"move.md", "work.md"}


async def test_what_is_merged_must_exist_and_be_no_persons() -> None:
    on = bench(BenchFile("hand.md", "By hand.", fixed=HUMAN))
    for merges, hint in ((["unknown.md"], "no file"), (["hand.md"], HUMAN), (["../x.md"], "relative")):
        assert hint in await refused(on, "write", path="tea.md", content="T.", summary="s", merges=merges)


async def test_a_file_that_a_person_wrote_is_only_read() -> None:
    on = bench(BenchFile("hand.md", "By hand.", fixed=HUMAN))
    assert await told(on, "read", path="hand.md") == "By hand."
    assert HUMAN in await refused(on, "write", path="hand.md", content="Mine.", summary="s", memories=["m1"])
    assert HUMAN in await refused(on, "write", path="hand.md", content="[DELETED]")
    assert HUMAN in await refused(on, "edit", path="hand.md", edits=[{"old": "hand", "new": "me"}])


async def test_a_file_that_is_not_there_is_answered_with_those_that_are() -> None:
    assert "tea.md, move.md" in await refused(bench(), "read", path="coffee.md")


async def test_with_one_file_to_write_nothing_else_can_be_written_and_it_cannot_be_removed() -> None:
    on = Workbench([BenchFile("tea.md", TEA)], BenchRules(2_000, 2, frozenset({PERSONA_PATH})))
    assert "only persona.md" in await refused(on, "write", path="tea.md", content="x")
    assert "only persona.md" in await refused(on, "edit", path="tea.md", edits=[{"old": "green", "new": "black"}])
    assert "only persona.md" in await refused(on, "write", path="other.md", content="x")
    await told(on, "write", path=PERSONA_PATH, content="# Portrait")
    await told(on, "edit", path=PERSONA_PATH, edits=[{"old": "Portrait", "new": "Lin"}])
    assert on.staged[PERSONA_PATH].text == "# Lin"
    assert "cannot be removed" in await refused(on, "write", path=PERSONA_PATH, content="[DELETED]")


@pytest.mark.parametrize("value", [None, 7, "m1, m2", ["m1"], {"m1": 1}])
async def test_whatever_stands_for_memories_is_read_or_left(value: object) -> None:
    on = bench()
    await told(on, "write", path="tea.md", content="T.", summary=value, memories=value, merges=None)
    assert set(on.staged["tea.md"].memory_seqs) <= {11, 12}


async def test_the_notes_of_a_run_have_an_end() -> None:
    on = bench()
    for _ in range(100):
        await on.call("read", {"path": "x" * 10_000})
    assert len(on.notes) == 41
    assert max(map(len, on.notes)) < 400


def names(on: Workbench) -> Sequence[str]:
    return [spec.name for spec in on.specs]


def test_both_layers_have_the_same_three_tools() -> None:
    one_file = Workbench([], BenchRules(2_000, 1, frozenset({PERSONA_PATH})))
    assert names(bench()) == names(one_file) == ["read", "write", "edit"]
    assert "merges" not in str(one_file.specs)
