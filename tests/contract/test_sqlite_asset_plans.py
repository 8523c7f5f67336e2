"""Every statement about assets, bindings and grants finds its rows by an index: none walks a table from end to end."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import pytest

from memstrata.records.assets import Asset, Binding, Grant
from memstrata.store.directory import AssetFilter, Window
from memstrata.store.sqlite.directory.assets import SqliteAssets
from memstrata.store.sqlite.migrations import migrate

GROWING = re.compile(r"SCAN (a|b|g|o|assets|bindings|grants|agents|team_members|asset_counts)\b(?! \(subquery)")
ASSET = Asset("ast", "t", "skill", "n", "", "u", "m", "", 1, "team", "draft", None, "", None, 0, "", "null", 1, 1)
FILTERS = [
    AssetFilter(viewer, team_id=team, owner_user_id=owner, asset_type=kind, visibilities=("team",), usable=usable)
    for viewer in (None, "u")
    for team in (None, "t")
    for owner in (None, "u")
    for kind in (None, "skill")
    for usable in (False, True)
]


@pytest.fixture
def connection(tmp_path: Path) -> apsw.Connection:
    opened = apsw.Connection(str(tmp_path / "assets.db"))
    migrate(opened, tmp_path / "assets.db")
    return opened


def test_no_statement_walks_a_growing_table(connection: apsw.Connection) -> None:
    asked: dict[str, apsw.Bindings | None] = {}

    def note(_: apsw.Cursor, sql: str, values: apsw.Bindings | None) -> bool:
        asked.setdefault(sql, values)
        return True

    connection.exec_trace = note
    use_everything(SqliteAssets(connection))
    connection.exec_trace = None

    assert len(asked) > 40
    for sql, values in asked.items():
        plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
        walked = [step for step in plan if GROWING.match(step)]
        assert not walked, (sql, plan)
        # Lists of a whole instance go by age; everything else is about something, and finds it.
        whole = [step for step in plan if step.endswith("PRIMARY KEY (instance=?)")]
        assert not whole, (sql, plan)


def test_a_page_for_a_viewer_and_its_total_read_indexes_alone_until_the_rows_are_chosen(
    connection: apsw.Connection,
) -> None:
    asked: list[str] = []

    def note(_: apsw.Cursor, sql: str, __: apsw.Bindings | None) -> bool:
        asked.append(sql)
        return True

    connection.exec_trace = note
    SqliteAssets(connection).page("default", AssetFilter("u", team_id="t"), Window(), 1)
    connection.exec_trace = None

    total, page = asked
    assert "assets_by_team" in page
    values = dict.fromkeys(re.findall(r":(\w+)", page))
    plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {page}", values)]
    assert [step for step in plan if step.startswith("SEARCH a ")] == [
        "SEARCH a USING COVERING INDEX assets_by_team (instance=? AND team_id=?)",
        "SEARCH a USING PRIMARY KEY (instance=? AND asset_id=?)",
    ]
    plan = [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {total}", values)]
    assert any(step.startswith("SEARCH asset_counts USING PRIMARY KEY (instance=? AND team_id=?") for step in plan)


def use_everything(assets: SqliteAssets) -> None:
    binding = Binding("b", "agt", "ast", "skill", "tool", 1, "u", 1)
    grant = Grant("g", "ast", "user", "u", "read", "allow", "u", 1, 1)
    assets.add("default", ASSET, None)
    assets.replace("default", ASSET, 5)
    assets.get("default", "ast")
    assets.touch("default", ["ast"], 1)
    for where in FILTERS:
        assets.page("default", where, Window(), 1)
    assets.of_team("default", "t")
    assets.reason("default", "ast", "u", "read", "agt", 1)
    assets.bind("default", "agt", [binding])
    assets.bindings("default", "agt", Window())
    for viewer in (None, "u"):
        assets.bound("default", "agt", viewer, Window(), 1)
        assets.counts("default", ["agt"], None, viewer, 1)
    assets.grant("default", grant)
    assets.granted("default", "g")
    assets.grants("default", "ast", Window())
    assets.revoke("default", "g")
    assets.remove("default", "ast")
