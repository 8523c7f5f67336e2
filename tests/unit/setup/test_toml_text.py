"""One table of a TOML text, and every byte beside it."""

from __future__ import annotations

import tomllib

import pytest

from memstrata.setup.toml_text import with_table, without_table

PATH = ("mcp_servers", "memstrata")
OURS = {"command": "/opt/记忆/memstrata", "args": ["mcp", "--url", 'http://x/"q"\\']}
THEIRS = 'model = "gpt-5"  # mine\n\n[mcp_servers.docs]\ncommand = "docs"\n# the end\n'


def test_a_table_is_put_at_the_end_and_taken_out_again() -> None:
    changed = with_table(THEIRS, PATH, OURS)
    assert changed.startswith(THEIRS)
    assert tomllib.loads(changed)["mcp_servers"]["memstrata"] == OURS
    assert with_table(changed, PATH, OURS) == changed
    assert without_table(changed, PATH) == THEIRS


def test_an_older_table_and_its_inner_ones_are_replaced_where_others_stand_behind_them() -> None:
    text = '[mcp_servers.memstrata] # old\ncommand = "x"\n\n[mcp_servers.memstrata.env]\nA = "1"\n\n# about z\n[z]\ny = 1\n'
    assert without_table(text, PATH) == "\n# about z\n[z]\ny = 1\n"
    assert tomllib.loads(with_table(text, PATH, OURS)) == {"mcp_servers": {"memstrata": OURS}, "z": {"y": 1}}


def test_an_empty_file_gets_the_table_and_no_blank_line() -> None:
    changed = with_table("", PATH, OURS)
    assert changed.startswith("[mcp_servers.memstrata]\n")
    assert without_table(changed, PATH) == ""


def test_windows_line_ends_and_a_missing_last_one_are_kept_to() -> None:
    changed = with_table("a = 1\r\nb = 2", PATH, OURS)
    assert "\n" not in changed.replace("\r\n", "")
    assert tomllib.loads(changed.replace("\r\n", "\n"))["b"] == 2


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { memstrata = { command = "x" } }\n',
        'mcp_servers.memstrata.command = "x"\n',
        '[mcp_servers]\nmemstrata = { command = "x" }\n',
        '["mcp_servers"."memstrata"]\ncommand = "x"\n',
        "mcp_servers = {}\n",
    ],
)
def test_a_table_in_another_form_is_left_to_its_owner(text: str) -> None:
    with pytest.raises(ValueError, match=r"by hand|without changing|no TOML"):
        with_table(text, PATH, OURS)


def test_a_line_in_a_long_string_that_looks_like_our_header_is_never_cut() -> None:
    text = 'note = """\n[mcp_servers.memstrata]\ncommand = "x"\n"""\n'
    assert without_table(with_table(text, PATH, OURS), PATH) == text


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(ValueError, match="no TOML"):
        with_table("a = \n", PATH, OURS)
