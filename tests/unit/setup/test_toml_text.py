"""One table of a TOML text or one string above all tables, and every byte beside it."""

from __future__ import annotations

import tomllib

import pytest

from memstrata.setup.toml_text import root_value, with_root_value, with_table, without_root_value, without_table

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


def test_a_string_above_all_tables_is_put_first_and_taken_out_again() -> None:
    for text in (THEIRS, "", "\ufeff" + THEIRS, THEIRS.replace("\n", "\r\n"), "[a]\nname = 'x'\n"):
        changed = with_root_value(text, "name", "memstrata")
        assert root_value(changed, "name") == "memstrata"
        assert with_root_value(changed, "name", "memstrata") == changed
        assert without_root_value(changed, "name") == text
    assert root_value("[a]\nname = 'x'\n", "name") == ""


def test_a_string_that_stands_there_changes_in_its_place_and_keeps_its_comment() -> None:
    text = "# top\n  name = 'theirs' # why\nother = 1\n\n[a]\nname = \"x\"\n"
    changed = with_root_value(text, "name", 'o"urs')
    assert changed == '# top\nname = "o\\"urs" # why\nother = 1\n\n[a]\nname = "x"\n'
    assert without_root_value(changed, "name") == '# top\nother = 1\n\n[a]\nname = "x"\n'


def test_a_line_in_a_long_string_is_not_taken_for_it_and_other_forms_are_left_to_their_owner() -> None:
    text = 'note = """\nname = "no"\n"""\nname = "yes"\n'
    assert with_root_value(text, "name", "ours") == 'note = """\nname = "no"\n"""\nname = "ours"\n'
    with pytest.raises(ValueError, match="by hand"):
        with_root_value('"name" = "x"\n', "name", "ours")
    with pytest.raises(ValueError, match="by hand"):
        without_root_value('name = """\nx"""\n', "name")
