"""The proxy in the configuration of two clients, beside what somebody else has there."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from memstrata.setup.change import Change
from memstrata.setup.files import Backups, perform
from memstrata.setup.plan import displaced, plan, plan_undo, stand_in
from memstrata.setup.proxy_entries import (
    BASE_URL_SEAT,
    PROVIDER_SEAT,
    put_codex,
    put_environment,
    take_codex,
    take_environment,
)

URL = "http://127.0.0.1:8420/claude-code/default"
THEIRS = '{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example", "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue"}}\n'


def test_headers_of_somebody_elses_stay_beside_ours_and_an_older_key_goes() -> None:
    text = put_environment(put_environment(THEIRS, URL, "old"), URL, "new")
    assert json.loads(text)["env"]["ANTHROPIC_CUSTOM_HEADERS"] == "X-Team: blue\nx-tdai-user-key: new"
    assert json.loads(put_environment(text, URL, ""))["env"]["ANTHROPIC_CUSTOM_HEADERS"] == "X-Team: blue"
    assert json.loads(take_environment(text))["env"] == {"ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue"}


@pytest.mark.parametrize("text", ["{}\n", '{"model": "opus"}\n'])
def test_what_was_empty_before_is_empty_after(text: str) -> None:
    assert json.loads(take_environment(put_environment(text, URL, "key"))) == json.loads(text)


def test_an_address_that_is_not_ours_is_never_taken_out() -> None:
    assert take_environment(THEIRS) == THEIRS
    assert take_codex('model_provider = "azure"\n') == 'model_provider = "azure"\n'


def test_a_seat_tells_theirs_from_ours() -> None:
    assert BASE_URL_SEAT.theirs(THEIRS) == "https://gateway.example"
    assert BASE_URL_SEAT.theirs(put_environment(THEIRS, URL, "")) == ""
    assert PROVIDER_SEAT.theirs('model_provider = "azure"\n') == "azure"
    assert PROVIDER_SEAT.theirs(put_codex('model_provider = "azure"\n', URL, "")) == ""


def test_codex_has_a_provider_without_a_header_where_there_is_no_key() -> None:
    provider = tomllib.loads(put_codex("", URL, ""))["model_providers"]["memstrata"]
    assert provider["requires_openai_auth"] is True
    assert "http_headers" not in provider
    assert take_codex(put_codex("", URL, "key")) == ""


def proxied(file: Path, key: str = "") -> Change:
    return Change(file, lambda text: put_environment(text, URL, key), take_environment, "{}\n", BASE_URL_SEAT)


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("blue", "green", "https://gateway.example"),
        (URL, "https://newer.example", "https://newer.example"),
    ],
)
def test_what_was_displaced_comes_back_unless_something_else_stands_there_by_then(
    tmp_path: Path, old: str, new: str, left: str
) -> None:
    file, backups = tmp_path / "settings.json", Backups(tmp_path / "backups.json")
    change = proxied(file)
    file.write_text(THEIRS)
    assert displaced([change]) == ((file, "https://gateway.example"),)
    assert not stand_in([change])
    perform(plan([change], [change], backups.read()), backups)
    assert stand_in([change])
    file.write_text(file.read_text().replace(old, new))
    perform(plan_undo([change], backups.read()), backups, undoes=True)
    assert json.loads(file.read_text())["env"]["ANTHROPIC_BASE_URL"] == left


def test_a_second_setup_after_an_edit_still_knows_what_it_had_displaced(tmp_path: Path) -> None:
    file, backups = tmp_path / "settings.json", Backups(tmp_path / "backups.json")
    file.write_text(THEIRS)
    for key in ("old", "new"):
        perform(plan([proxied(file, key)], [proxied(file, key)], backups.read()), backups)
        file.write_text(file.read_text() + "\n")
    perform(plan_undo([proxied(file)], backups.read()), backups, undoes=True)
    assert json.loads(file.read_text())["env"]["ANTHROPIC_BASE_URL"] == "https://gateway.example"
