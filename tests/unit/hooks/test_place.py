"""Flags of a hook, and where its state is."""

from __future__ import annotations

from pathlib import Path

import pytest

from memstrata.hooks.place import Place, read_place, state_folder


def test_flags_say_which_server_and_whose_memory_and_the_key_comes_from_the_environment() -> None:
    place = read_place(
        ["codex", "--url", "https://m.example/x", "--team=acme", "--user", "lin"], {"MEMSTRATA_API_KEY": "k"}
    )
    assert place == Place("codex", "https://m.example/x", team="acme", user="lin", api_key="k")


def test_places_that_differ_share_no_folder_but_a_key_makes_no_other_place() -> None:
    names = {
        Place("codex").folder_name,
        Place("claude-code").folder_name,
        Place("codex", team="a", agent="b").folder_name,
        Place("codex", team="b", agent="a").folder_name,
        Place("codex", instance="other").folder_name,
    }
    assert len(names) == 5
    assert Place("codex", api_key="x").folder_name == Place("codex").folder_name


@pytest.mark.parametrize(
    "arguments",
    [[], ["vim"], ["codex", "--api-key", "k"], ["codex", "url", "x"], ["codex", "--url"], ["codex", "--team", " "]],
)
def test_what_is_not_understood_is_an_error_and_not_a_guess(arguments: list[str]) -> None:
    with pytest.raises(ValueError):
        read_place(arguments, {})


def test_state_is_where_the_system_has_it() -> None:
    assert state_folder({"HOME": "/h"}, "posix") == Path("/h/.local/state/memstrata")
    assert state_folder({"HOME": "/h", "XDG_STATE_HOME": "/s"}, "posix") == Path("/s/memstrata")
    assert state_folder({"HOME": "/h", "XDG_STATE_HOME": "relative"}, "posix") == Path("/h/.local/state/memstrata")
    assert state_folder({"HOME": "/h", "LOCALAPPDATA": "/l"}, "nt") == Path("/l/memstrata")
