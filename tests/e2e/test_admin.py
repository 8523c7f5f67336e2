"""The administrator of a data folder: made by hand or by the first start, the key shown once and kept in one file."""

from __future__ import annotations

import json
import re
import stat
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .shell import DEADLINE_SECONDS, Shell

KEY = re.compile(r"sk-mem-[A-Za-z0-9_-]{32}")


def owner_of(url: str, key: str, instance: str = "default") -> str:
    """Return whose key a server says that it is."""
    request = urllib.request.Request(
        f"{url}/v3/meta/auth/verify",
        data=json.dumps({"user_key": key}).encode(),
        headers={"x-tdai-service-id": instance, "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=DEADLINE_SECONDS) as response:
        user = json.load(response)["data"]["user"]
    return f"{user['username']} {user['user_type']}" if user else ""


def read_key(file: Path) -> str:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    return file.read_text(encoding="utf-8").strip()


@pytest.mark.parametrize(("locale", "words"), [("C.UTF-8", "shown this once"), ("zh_CN.UTF-8", "密钥只显示这一次")])
def test_it_shows_the_key_once_and_writes_it_for_its_owner_alone(
    memstrata: Shell, serve: Callable[..., dict[str, Any]], locale: str, words: str
) -> None:
    made = memstrata("init-admin", "--data-dir", "data", "--username", "root", env={"LC_ALL": locale})

    assert (made.code, made.err) == (0, "")
    assert words in made.out
    (key,) = KEY.findall(made.out)
    assert read_key(memstrata.folder / "data" / "admin.key") == key
    assert owner_of(serve("data")["url"], key) == "root system_admin"


def test_making_it_by_hand_leaves_an_audit_trail_that_the_next_start_finds_whole(
    memstrata: Shell, serve: Callable[..., dict[str, Any]]
) -> None:
    memstrata("init-admin", "--data-dir", "data")
    serve("data")

    verified = memstrata("audit", "verify", "--data-dir", "data", "--json").json

    assert (verified["intact"], verified["head"], verified["warnings"]) == (True, "same", [])


def test_an_instance_that_has_users_is_left_as_it_is(memstrata: Shell) -> None:
    first = memstrata("init-admin", "--data-dir", "data", "--json").json
    file = memstrata.folder / first["file"]

    again = memstrata("init-admin", "--data-dir", "data")
    other = memstrata("init-admin", "--data-dir", "data", "--instance", "team/二", "--json").json

    assert (again.code, again.out) == (1, "")
    assert "already_initialized" in again.err
    assert read_key(file) == first["user_key"]
    assert read_key(memstrata.folder / other["file"]) == other["user_key"] != first["user_key"]


def test_the_first_start_says_where_the_key_is_and_later_ones_nothing(memstrata: Shell) -> None:
    def started() -> str:
        with memstrata.start("serve", "--port", "0", "--data-dir", "data") as server:
            stopped = None
            while stopped is None and server.poll() is None:
                stopped = memstrata("stop", "--data-dir", "data", "--json").json["stopped"]
            output, _ = server.communicate(timeout=DEADLINE_SECONDS)
        assert server.returncode == 0
        return output

    first = started()
    key = read_key(memstrata.folder / "data" / "admin.key")
    second = started()

    assert "admin.key" in first
    assert first.count("\n") == second.count("\n") + 1
    assert "admin.key" not in second
    assert not KEY.search(first + second)
    assert KEY.fullmatch(key)
    assert read_key(memstrata.folder / "data" / "admin.key") == key


def test_the_key_of_the_first_start_opens_the_directory(memstrata: Shell, serve: Callable[..., dict[str, Any]]) -> None:
    url = serve("data")["url"]

    assert owner_of(url, read_key(memstrata.folder / "data" / "admin.key")) == "admin system_admin"


def test_a_key_that_cannot_be_written_makes_no_administrator(memstrata: Shell) -> None:
    (memstrata.folder / "data" / "admin.key" / "in the way").mkdir(parents=True)

    refused = memstrata("init-admin", "--data-dir", "data")
    (memstrata.folder / "data" / "admin.key" / "in the way").rmdir()
    (memstrata.folder / "data" / "admin.key").rmdir()

    assert (refused.code, refused.out) == (3, "")
    assert "admin.key" in refused.err
    assert memstrata("init-admin", "--data-dir", "data").code == 0


def test_after_a_database_was_lost_the_old_key_stays_beside_the_new_one(memstrata: Shell) -> None:
    data = memstrata.folder / "data"
    old = memstrata("init-admin", "--data-dir", "data", "--json").json["user_key"]
    for file in data.glob("memstrata.db*"):
        file.unlink()

    with memstrata.start("serve", "--port", "0", "--data-dir", "data") as server:
        stopped = None
        while stopped is None and server.poll() is None:
            stopped = memstrata("stop", "--data-dir", "data", "--json").json["stopped"]
        said, _ = server.communicate(timeout=DEADLINE_SECONDS)

    assert read_key(data / "admin.key") == old
    new = read_key(data / "admin.key.2")
    assert KEY.fullmatch(new)
    assert new != old
    assert "admin.key.2" in said
    assert "stays as it is" in said
