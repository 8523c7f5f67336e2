"""`memstrata audit`: verify and list on a data folder, in text and JSON, with and without a server on it."""

from __future__ import annotations

import apsw
import pytest

from memstrata.audit.head import HEAD_NAME
from memstrata.records.audit import mark
from memstrata.store.sqlite.store import DATABASE_NAME

from .shell import Shell

pytestmark = pytest.mark.slow

CHAT = "User: Remember that I keep a cat called Quillfeather.\n\nAssistant: Noted.\n"


def import_chat(memstrata: Shell) -> None:
    memstrata.write("chat.txt", CHAT)
    assert memstrata("import", "chat.txt", "--data-dir", "data", "--user", "lin").code == 0


def test_a_trail_is_whole_until_somebody_touches_it(memstrata: Shell) -> None:
    import_chat(memstrata)
    whole = memstrata("audit", "verify", "--data-dir", "data", "--json")
    assert (whole.code, whole.json["intact"], whole.json["head"]) == (0, True, "same")
    assert whole.json["rows"] > 0

    connection = apsw.Connection(str(memstrata.folder / "data" / DATABASE_NAME))
    connection.execute("UPDATE audit SET actor = 'gateway' WHERE seq = 2")
    connection.close()
    broken = memstrata("audit", "verify", "--data-dir", "data", "--json")
    assert (broken.code, broken.json["intact"], broken.json["broken_seq"]) == (1, False, 2)
    told = memstrata("audit", "verify", "--data-dir", "data")
    assert told.code == 1
    assert "row 2" in told.out


def test_rows_are_found_by_a_name_that_does_not_stand_in_them(memstrata: Shell) -> None:
    import_chat(memstrata)
    shown = memstrata("audit", "list", "--data-dir", "data", "--user", "lin", "--json")
    rows = shown.json["rows"]
    assert {row["action"] for row in rows} >= {"message.add", "memory.store"}
    assert {row["user"] for row in rows} == {mark("default", "lin")}
    assert {row["actor"] for row in rows} == {"cli", "pipeline"}
    assert "Quillfeather" not in shown.out
    assert memstrata("audit", "list", "--data-dir", "data", "--user", "max", "--json").json["rows"] == []

    one = memstrata("audit", "list", "--data-dir", "data", "--action", "message.add", "--limit", "1")
    assert one.code == 0
    assert "message.add" in one.out
    assert "lin" not in one.out
    later = memstrata("audit", "list", "--data-dir", "data", "--since", "2999-01-01T00:00:00Z", "--json")
    assert later.json["rows"] == []


def test_what_cannot_be_read_is_told(memstrata: Shell) -> None:
    assert memstrata("audit", "verify", "--data-dir", "nowhere").code == 1
    assert not (memstrata.folder / "nowhere").exists()
    import_chat(memstrata)
    assert memstrata("audit", "list", "--data-dir", "data", "--since", "monday").code == 2
    (memstrata.folder / "data" / HEAD_NAME).unlink()
    missing = memstrata("audit", "verify", "--data-dir", "data", "--json")
    assert (missing.code, missing.json["head"], len(missing.json["warnings"])) == (0, "missing", 1)
