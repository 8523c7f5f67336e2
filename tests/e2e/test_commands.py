"""Each command on a folder of its own, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .shell import Shell

pytestmark = pytest.mark.slow

DATA = ("--data-dir", "data")


def test_an_import_says_what_came_and_the_same_again_that_it_was_there(imported: Shell) -> None:
    again = imported("import", "chat.txt", *DATA)
    assert again.code == 0
    assert "chat.txt: plain, 3 messages in 1 session" in again.out
    assert "0 new, 3 already there" in again.out


def test_a_file_that_has_grown_brings_only_what_is_new(imported: Shell) -> None:
    with (imported.folder / "chat.txt").open("a", encoding="utf-8") as file:
        file.write("\nAssistant: 记住了。\n")
    report = imported("import", "chat.txt", *DATA, "--json").json
    assert (report["new"], report["already_there"]) == (1, 3)


def test_an_import_into_another_scope_is_another_memory(imported: Shell) -> None:
    report = imported("import", "chat.txt", *DATA, "--user", "somebody", "--json").json
    assert report["new"] == 3
    assert imported("status", *DATA, "--user", " ").code == 2


def test_a_dry_run_stores_nothing(memstrata: Shell) -> None:
    memstrata.write("chat.txt", "User: I live in Lisbon.\nAssistant: Noted.\n")
    done = memstrata("import", "chat.txt", *DATA, "--dry-run")
    assert done.code == 0
    assert "2 messages in 1 session" in done.out
    assert not (memstrata.folder / "data").exists()


def test_what_is_left_out_is_counted_by_reason(memstrata: Shell) -> None:
    turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "I live in Lisbon."}]
    memstrata.write("chat.json", json.dumps(turns))
    done = memstrata("import", "chat.json", *DATA, "--no-wait")
    assert "left out 1 system messages" in done.out
    assert memstrata("import", "chat.json", *DATA, "--json").json["skipped"] == {"system message": 1}


def test_a_file_without_messages_says_so_and_fails(memstrata: Shell) -> None:
    memstrata.write("empty.json", '[{"role": "system", "content": "Be brief."}]')
    done = memstrata("import", "empty.json", *DATA)
    assert done.code == 1
    assert "empty.json: no user or assistant messages in it" in done.out
    assert not (memstrata.folder / "data").exists()


def test_one_bad_file_among_good_ones_stores_nothing(memstrata: Shell) -> None:
    memstrata.write("good.txt", "User: I live in Lisbon.\n")
    memstrata.write("bad.jsonl", '{"role": "user", "content": "hi"}\n{"role": "user"}\n')
    done = memstrata("import", "good.txt", "bad.jsonl", *DATA)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "bad.jsonl line 2" in done.err
    assert not (memstrata.folder / "data").exists()


def test_another_text_under_a_known_id_is_a_conflict_in_one_line(memstrata: Shell) -> None:
    line = {"session_id": "s", "id": "1", "role": "user", "content": "I live in Lisbon."}
    memstrata.write("a.jsonl", json.dumps(line))
    memstrata.write("b.jsonl", json.dumps(line | {"content": "I live in Porto."}))
    assert memstrata("import", "a.jsonl", *DATA, "--no-wait").code == 0
    done = memstrata("import", "b.jsonl", *DATA, "--no-wait")
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "contradicts what is stored" in done.err


def test_without_waiting_the_layers_wait(memstrata: Shell) -> None:
    memstrata.write("chat.txt", "User: I live in Lisbon.\n")
    assert memstrata("import", "chat.txt", *DATA, "--no-wait").code == 0
    pipeline = memstrata("status", *DATA, "--json").json["pipeline"]
    assert (pipeline["idle"], pipeline["l1"]["pending"]) == (False, 1)


def test_status_tells_layers_and_parts(imported: Shell) -> None:
    done = imported("status", *DATA)
    assert (done.code, done.err) == (0, "")
    assert "no server is running on data" in done.out
    assert "L0 3 messages" in done.out
    assert "distiller" in done.out
    report = imported("status", *DATA, "--json").json
    assert report["server"] is None
    assert report["layers"]["l1"]["memories"] == 2
    assert report["pipeline"]["idle"]


def test_search_finds_memories_and_messages_and_says_when_there_is_nothing(imported: Shell) -> None:
    assert "Lisbon" in imported("search", "Lisbon", *DATA).out
    (hit,) = imported("search", "花生", *DATA, "--layer", "messages", "--json").json["hits"]
    assert (hit["role"], hit["content"]) == ("user", "我对花生过敏。")
    assert "neighbours" not in hit
    beside = imported("search", "花生", *DATA, "--layer", "messages", "--neighbours", "1", "--json").json["hits"][0]
    assert {side for side, said in beside["neighbours"].items() if said} <= {"before", "after"}
    assert beside["neighbours"]["before"] + beside["neighbours"]["after"] != []
    for said in beside["neighbours"]["before"] + beside["neighbours"]["after"]:
        assert said["content"] in imported("search", "花生", *DATA, "--layer", "messages", "--neighbours", "1").out
    assert imported("search", "花生", *DATA, "--neighbours", "1").code == 2
    nothing = imported("search", "quasar", *DATA)
    assert (nothing.code, nothing.out) == (0, "nothing found for “quasar”\n")


def test_an_export_can_be_imported_elsewhere_and_is_the_same_memory(imported: Shell) -> None:
    done = imported("export", "all.jsonl", *DATA)
    assert "3 messages, 2 memories" in done.out
    lines = [json.loads(line) for line in (imported.folder / "all.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [lines[0][part] for part in ("instance", "team", "agent", "user")] == [
        *("default", "personal", "assistant", "me")
    ]
    assert [line["content"] for line in lines if line.get("kind") == "message"] == [
        "Remember that I live in Lisbon.",
        "Noted.",
        "我对花生过敏。",
    ]
    assert all(line["sources"] for line in lines if line.get("kind") == "memory")
    assert {"session", "message", "memory", "document", "run", "end"} <= {line["kind"] for line in lines[1:]}
    report = imported("import", "all.jsonl", "--data-dir", "other", "--json").json
    assert (report["files"][0]["added"], report["files"][0]["conflict"]) == (len(lines) - 2, 0)
    assert "Lisbon" in imported("search", "Lisbon", "--data-dir", "other").out
    assert (
        imported("export", "--data-dir", "other").out.splitlines()[1:] == imported("export", *DATA).out.splitlines()[1:]
    )


def test_an_export_to_standard_output_is_the_export_alone(imported: Shell) -> None:
    done = imported("export", *DATA)
    kinds = [json.loads(line).get("kind", "header") for line in done.out.splitlines()]
    assert kinds[0] == "header"
    assert kinds.count("message") == 3


def test_an_export_that_cannot_be_written_leaves_nothing_behind(imported: Shell) -> None:
    done = imported("export", "no/such/folder.jsonl", *DATA)
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert not list(imported.folder.rglob("*.part"))


def test_a_lost_database_is_rebuilt_from_the_files(imported: Shell) -> None:
    assert imported("rebuild", "--from-files", *DATA).code == 3, "a database that is there is never overwritten"
    for file in (imported.folder / "data").glob("memstrata.db*"):
        file.unlink()
    report = imported("rebuild", "--from-files", *DATA, "--json").json
    assert (report["messages"], report["sessions"], report["problems"]) == (3, 1, [])
    assert "Lisbon" in imported("search", "Lisbon", *DATA).out


def test_rebuild_asks_from_where(memstrata: Shell) -> None:
    assert memstrata("rebuild").code == 2


def test_doctor_finds_an_installation_well_and_a_damaged_database_not(imported: Shell) -> None:
    well = imported("doctor", *DATA, "--port", "0", "--json").json
    assert well["ok"]
    assert {check["name"] for check in well["checks"]} >= {"python", "packages", "sqlite", "folder", "port", "database"}
    database = imported.folder / "data" / "memstrata.db"
    database.write_bytes(b"not a database" + database.read_bytes()[14:])
    done = imported("doctor", *DATA, "--port", "0")
    assert done.code == 3
    assert "✗ database" in done.out
    assert "memstrata rebuild --from-files" in done.out


def test_config_says_where_each_value_comes_from_and_hides_secrets(memstrata: Shell) -> None:
    memstrata.write("memstrata.toml", "[pipeline]\nevery_n = 7\n")
    env = {"MEMSTRATA_API_KEY": "very-secret", "MEMSTRATA_PORT": "9000"}
    done = memstrata("config", "--json", env=env)
    assert "very-secret" not in done.out
    rows = {row["name"]: (row["value"], row["origin"]) for row in done.json["settings"]}
    assert rows["pipeline.every_n"] == (7, "memstrata.toml")
    assert rows["server.port"] == (9000, "environment")
    assert rows["recall.limit"][1] == "default"
    assert "very-secret" not in memstrata("config", env=env).out


def test_the_settings_page_is_the_one_in_docs_whatever_the_terminal_speaks(memstrata: Shell) -> None:
    page = Path(__file__).parents[2] / "docs" / "settings.md"
    done = memstrata("config", "--markdown", env={"LC_ALL": "zh_CN.UTF-8"})
    assert done.out == page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("locale", "words"), [("C.UTF-8", "Search memories"), ("zh_CN.UTF-8", "搜索记忆")])
def test_help_is_in_the_language_of_the_terminal(memstrata: Shell, locale: str, words: str) -> None:
    done = memstrata(env={"LC_ALL": locale})
    assert done.code == 0
    assert words in done.out


def test_the_version_is_one_line(memstrata: Shell) -> None:
    assert memstrata("version").out.strip() == memstrata("version", "--json").json["version"]
