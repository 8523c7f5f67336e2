"""`trace`, `history` and `undo` on a folder, for people and for programs."""

from __future__ import annotations

import pytest

from .shell import Shell

pytestmark = pytest.mark.slow

DATA = ("--data-dir", "data")


def found(memstrata: Shell, query: str) -> str:
    return str(memstrata("search", query, *DATA, "--json").json["hits"][0]["id"])


def test_a_memory_tells_what_was_said_and_how_it_was_made(imported: Shell) -> None:
    memory_id = found(imported, "Lisbon")

    shown = imported("trace", memory_id, *DATA)
    assert shown.code == 0
    assert "Remember that I live in Lisbon." in shown.out
    assert "v0 store · by rules" in shown.out

    report = imported("trace", memory_id, *DATA, "--json").json
    assert report["memory"]["id"] == memory_id
    assert [(made["action"], made["model"], made["id"]) for made in report["generation"]] == [("store", "", memory_id)]


def test_a_history_lists_versions_and_where_nothing_changed_there_is_nothing_to_undo(imported: Shell) -> None:
    memory_id = found(imported, "Lisbon")

    assert "v0 [holds]" in imported("history", memory_id, *DATA).out
    (version,) = imported("history", memory_id, *DATA, "--json").json["versions"]
    assert (version["live"], version["proposal"], version["valid_to"]) == (True, False, None)

    refused = imported("undo", memory_id, *DATA)
    assert (refused.code, refused.out) != (0, "")
    assert "nothing to undo" in refused.err


def test_a_change_that_was_distilled_is_taken_back(memstrata: Shell) -> None:
    memstrata.write("one.txt", "User: Remember that I live in Lisbon.\n")
    memstrata.write("two.txt", "User: I moved to Porto. I live in Porto now.\n")
    for name in ("one.txt", "two.txt"):
        assert memstrata("import", name, *DATA).code == 0
    memory_id = found(memstrata, "Porto")
    assert len(memstrata("history", memory_id, *DATA, "--json").json["versions"]) > 1

    undone = memstrata("undo", memory_id, *DATA)

    assert undone.code == 0
    assert "holds again" in undone.out
    assert "Lisbon" in undone.out
    assert "v2 [holds]" in memstrata("history", memory_id, *DATA).out


def test_an_unknown_memory_is_said_to_be_unknown(imported: Shell) -> None:
    for command in ("trace", "history", "undo"):
        refused = imported(command, "m_unknown", *DATA)
        assert refused.code != 0
        assert "m_unknown" in refused.err


def test_where_an_unknown_memory_was_sought_is_said_in_the_language_of_the_terminal(imported: Shell) -> None:
    for command in ("trace", "history", "undo"):
        english = imported(command, "m_unknown", *DATA, "--user", "lin")
        chinese = imported(command, "m_unknown", *DATA, "--user", "lin", env={"LC_ALL": "zh_CN.UTF-8"})
        assert (english.code, chinese.code) == (1, 1)
        assert "no memory m_unknown" in english.err
        assert "没有记忆 m_unknown" in chinese.err
        for refused in (english, chinese):
            assert "--user lin" in refused.err
            assert "`memstrata search`" in refused.err
