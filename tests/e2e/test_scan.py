"""`memstrata scan`: where secrets are, in text and JSON; never what they are."""

from __future__ import annotations

import pytest

from .shell import Shell

pytestmark = pytest.mark.slow

OFF = {"MEMSTRATA_CAPTURE_REDACT_SECRETS": "false"}
SECRET = "hunter2zz"


def test_old_secrets_are_found_then_taken_out_and_never_shown(memstrata: Shell) -> None:
    memstrata.write("chat.txt", f"User: Remember that my password is {SECRET}.\n\nAssistant: Noted.\n")
    assert memstrata("import", "chat.txt", "--data-dir", "data", env=OFF).code == 0

    found = memstrata("scan", "--data-dir", "data")
    assert found.code == 1
    assert "password" in found.out
    mended = memstrata("scan", "--fix", "--data-dir", "data", "--json")
    assert mended.code == 0, mended
    assert mended.json["fixed"] == mended.json["rows"] > 0
    assert mended.json["is_scrubbed"]
    again = memstrata("scan", "--data-dir", "data", "--json")
    assert (again.code, again.json["rows"]) == (0, 0)

    assert SECRET not in found.out + found.err + mended.out + mended.err
    data = [file for file in (memstrata.folder / "data").rglob("*") if file.is_file()]
    assert [file for file in data if SECRET.encode() in file.read_bytes()] == []
