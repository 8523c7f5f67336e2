"""What is printed for people in a pipe, and for programs."""

import json

import pytest

from memstrata.cli.screen import Screen


def test_in_a_pipe_a_line_is_a_line_however_long(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().item("L1", "吃素 " * 60, indent=2)
    assert capsys.readouterr().out == "  L1 " + ("吃素 " * 60) + "\n"


def test_labels_of_one_list_are_padded_by_what_they_take_up(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen()
    screen.item("scene", "a", width=8)
    screen.item("场景", "b", width=8)
    assert capsys.readouterr().out == "scene    a\n场景     b\n"


def test_text_is_never_read_as_markup(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().line("[persona] [/] :tea:")
    assert capsys.readouterr().out == "[persona] [/] :tea:\n"


def test_work_under_way_is_told_once_at_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen().step("importing", 2) as step:
        step.show("1/2", 1, 2)
        step.show("2/2", 2, 2)
    assert capsys.readouterr().out.split() == ["●", "importing", "2/2"]


def test_a_program_gets_json_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(as_json=True)
    with screen.step("importing", 1) as step:
        step.show("1/1", 1, 1)
    screen.line("for people")
    screen.document("# 画像", "L3")
    screen.json({"名": "小林"})
    assert json.loads(capsys.readouterr().out) == {"名": "小林"}
