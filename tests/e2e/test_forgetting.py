"""`forget` and `policy` on a folder, for people and for programs."""

from __future__ import annotations

import pytest

from .shell import Shell

pytestmark = pytest.mark.slow

DATA = ("--data-dir", "data")


def found(memstrata: Shell, query: str) -> str:
    return str(memstrata("search", query, *DATA, "--json").json["hits"][0]["id"])


def test_without_a_yes_it_is_shown_what_would_go_and_nothing_goes(imported: Shell) -> None:
    memory_id = found(imported, "Lisbon")

    shown = imported("forget", "--memory", memory_id, *DATA)
    assert shown.code == 0
    assert "1 memory" in shown.out
    assert memory_id in shown.out
    assert "--yes" in shown.out
    assert found(imported, "Lisbon") == memory_id

    chinese = imported("forget", "--memory", memory_id, *DATA, env={"LC_ALL": "zh_CN.UTF-8"})
    assert "1 条记忆" in chinese.out


def test_a_user_is_forgotten_to_the_last_byte(imported: Shell) -> None:
    assert any(b"Lisbon" in file.read_bytes() for file in imported.folder.rglob("data/*") if file.is_file())

    gone = imported("forget", "--all-of-user", "--yes", *DATA, "--json").json

    assert gone["complete"]
    assert gone["counts"]["messages"] > 0
    left = [file for file in imported.folder.rglob("data/**/*") if file.is_file() and b"Lisbon" in file.read_bytes()]
    assert left == []


def test_what_names_nothing_is_refused(imported: Shell) -> None:
    for command in (("forget", *DATA), ("forget", "--yes", *DATA)):
        refused = imported(*command)
        assert refused.code != 0
        assert refused.out == ""


def test_a_policy_is_set_shown_and_listed(imported: Shell) -> None:
    assert imported("policy", "set", "--team", "home", "--retention-days", "30", *DATA).code == 0

    inside = imported("policy", "show", "--team", "home", "--agent", "assistant", *DATA, "--json").json
    assert inside == {"policy": None, "in_force": {"redact_secrets": True, "retention_days": 30}}
    assert imported("policy", "show", *DATA, "--json").json["in_force"]["retention_days"] == 0
    listed = imported("policy", "list", *DATA)
    assert "team home · agent all · user all · kept 30 days" in listed.out
