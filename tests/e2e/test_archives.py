"""Exports that come back and backups, by command, with and without a server."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from .shell import Shell

pytestmark = pytest.mark.slow

DATA = ("--data-dir", "data")


def test_a_compressed_export_of_an_instance_goes_to_a_server_under_another_name(
    imported: Shell, serve: Callable[..., dict[str, Any]]
) -> None:
    done = imported("export", "--of", "instance", "--out", "all.jsonl.gz", *DATA)
    assert (done.code, "3 messages" in done.out) == (0, True)
    file = imported.folder / "all.jsonl.gz"
    assert file.stat().st_mode & 0o077 == 0, "what everybody said is for its owner alone"
    assert json.loads(gzip.decompress(file.read_bytes()).splitlines()[0])["user"] is None
    serve("other")
    there = ("--data-dir", "other")
    foreseen = imported("import", "all.jsonl.gz", "--as-instance", "work", "--dry-run", *there)
    assert (foreseen.code, "would add" in foreseen.out, "(--dry-run)" in foreseen.out) == (0, True, True)
    report = imported("import", "all.jsonl.gz", "--as-instance", "work", *there, "--json").json["files"][0]
    assert (report["instance_id"], report["added"] > 3, report["conflict"]) == ("work", True, 0)
    again = imported("import", "all.jsonl.gz", "--as-instance", "work", *there, env={"LC_ALL": "zh_CN.UTF-8"})
    assert "新增 0" in again.out
    back = imported("export", "--of", "instance", "--instance", "work", *there)
    assert back.out.splitlines()[1:] == gzip.decompress(file.read_bytes()).decode().splitlines()[1:]


def test_a_conflict_is_named_and_makes_the_command_fail(imported: Shell) -> None:
    imported("export", "all.jsonl", *DATA)
    text = (imported.folder / "all.jsonl").read_text(encoding="utf-8")
    imported.write("changed.jsonl", text.replace('"content":"Noted."', '"content":"Never."'))
    done = imported("import", "changed.jsonl", *DATA)
    assert done.code == 1
    assert "(message): another message of this id is in the session" in done.out
    assert imported("search", "Never", *DATA, "--layer", "messages").out.startswith("nothing found")


def test_an_export_that_is_damaged_says_where(imported: Shell) -> None:
    imported("export", "all.jsonl.gz", *DATA)
    whole = (imported.folder / "all.jsonl.gz").read_bytes()
    (imported.folder / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    assert imported("import", "cut.jsonl.gz", "--data-dir", "other").code == 2
    lines = gzip.decompress(whole).decode().splitlines()
    imported.write("short.jsonl", "\n".join(lines[:-1]))
    short = imported("import", "short.jsonl", "--data-dir", "other")
    assert (short.code, "cut short" in short.err) == (2, True)
    imported.write("wrong.jsonl", "\n".join([*lines[:2], "{", *lines[2:]]))
    wrong = imported("import", "wrong.jsonl", "--data-dir", "other")
    assert (wrong.code, "line 3" in wrong.err) == (2, True)
    assert imported("import", "chat.txt", "short.jsonl", *DATA).code == 2
    assert imported("import", "chat.txt", "--as-user", "mia", *DATA).code == 2


def test_a_backup_is_taken_beside_a_server_and_restored_into_an_empty_folder(
    imported: Shell, serve: Callable[..., dict[str, Any]]
) -> None:
    serve("data")
    done = imported("backup", "copy.backup", *DATA, "--json").json
    assert (done["messages"], done["memories"]) == (3, 2)
    assert imported("backup", "copy.backup", *DATA).code == 1, "a backup is never overwritten"
    assert imported("restore", "copy.backup", "--force", *DATA).code == 3, "a folder in use stays as it is"
    restored = imported("restore", "copy.backup", "--data-dir", "other", env={"LC_ALL": "zh_CN.UTF-8"})
    assert (restored.code, "已恢复到" in restored.out, done["sha256"] in restored.out) == (0, True, True)
    assert "Lisbon" in imported("search", "Lisbon", "--data-dir", "other").out
    assert imported("audit", "verify", "--data-dir", "other").code == 0, "the note of its end came back too"
    assert imported("restore", "copy.backup", "--data-dir", "other").code == 1
    moved = imported("restore", "copy.backup", "--data-dir", "other", "--force")
    assert (moved.code, "before-restore" in moved.out) == (0, True)
    assert len(list(imported.folder.glob("other.before-restore-*"))) == 1
