"""How SQLite finds agents and tasks: by an index always, pages in its order, totals without reading a row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from memstrata.records.agents import Agent, Participation, Task, TaskAgent
from memstrata.store.directory import AgentFilter, ParticipationFilter, TaskFilter, Window
from memstrata.store.sqlite.directory.agents import SqliteAgents
from memstrata.store.sqlite.directory.tasks import SqliteTasks
from memstrata.store.sqlite.store import DATABASE_NAME, SqliteStore

WINDOW = Window(20, 40)
AGENT = Agent("agt-1", "team-1", "lin", "n", "", "", "team", "active", "null", 1, 1)
TASK = Task("task-1", "team-1", "lin", "t", "", "manual", "", "running", False, "", "null", 1, 1)
LINE = Participation("p-1", "team-1", "task-1", "agt-1", "lin", "", "null", 1, 1)

AGENT_PAGES = [
    AgentFilter("rex", team_id="team-1"),
    AgentFilter("rex", team_id="team-1", owner_user_id="lin", status="active", name="n"),
    AgentFilter("rex", owner_user_id="lin"),
    AgentFilter(None, team_id="team-1"),
]
TASK_PAGES = [TaskFilter("rex", team_id="team-1"), TaskFilter("rex", creator_user_id="lin", status="running")]
Plans = dict[str, list[str]]


@pytest.fixture
async def plans_of(store: SqliteStore, tmp_path: Path) -> Callable[[Callable[[apsw.Connection], object]], Plans]:
    """Return a way to see the plan of every statement that a piece of work gives to SQLite."""
    await store.close()

    def plans(work: Callable[[apsw.Connection], object]) -> Plans:
        statements: dict[str, Any] = {}
        connection = apsw.Connection(str(tmp_path / DATABASE_NAME))

        def keep(_: apsw.Cursor, sql: str, values: Any) -> bool:
            statements[sql] = values
            return True

        connection.exec_trace = keep
        work(connection)
        connection.exec_trace = None
        found = {
            sql: [str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
            for sql, values in statements.items()
        }
        connection.close()
        return found

    return plans


@pytest.fixture
async def store(tmp_path: Path) -> SqliteStore:
    return await SqliteStore.open(tmp_path)


def use_every_verb(connection: apsw.Connection) -> None:
    agents, tasks = SqliteAgents(connection), SqliteTasks(connection)
    agents.add("default", AGENT)
    agents.replace("default", AGENT)
    agents.get("default", "agt-1")
    agents.seen("default", "agt-1", "rex")
    agents.of_team("default", "team-1")
    agents.owned_by("default", "lin")
    tasks.add("default", TASK)
    tasks.replace("default", TASK)
    tasks.get("default", "task-1")
    tasks.link("default", TaskAgent("l-1", "task-1", "agt-1", "", 1))
    tasks.linked("default", "task-1", "agt-1")
    tasks.links("default", "task-1", WINDOW)
    tasks.unlink("default", "task-1", "agt-1")
    tasks.took_part("default", LINE)
    for dedupe in (False, True):
        where = ParticipationFilter("team-1", "task-1", "agt-1", "lin", 0, 9, dedupe)
        tasks.participations("default", where, WINDOW)
    for agents_where in AGENT_PAGES:
        agents.page("default", agents_where, WINDOW)
    for tasks_where in TASK_PAGES:
        tasks.page("default", tasks_where, WINDOW)
    agents.remove("default", "agt-1")
    tasks.remove("default", "task-1")


def test_every_row_is_found_by_an_index_of_more_than_the_instance(
    plans_of: Callable[[Callable[[apsw.Connection], object]], Plans],
) -> None:
    plans = plans_of(use_every_verb)

    assert len(plans) > 25
    steps = {step for plan in plans.values() for step in plan}
    assert any(step.startswith("SEARCH") for step in steps)
    walks = {step for step in steps if step.startswith("SCAN") and not step.startswith(("SCAN c", "SCAN (subquery"))}
    assert walks == set()
    assert {step for step in steps if step.startswith("SEARCH") and step.endswith("(instance=?)")} == set()


@pytest.mark.parametrize("where", AGENT_PAGES)
def test_a_page_of_agents_is_chosen_in_the_order_of_an_index_that_holds_all_it_needs(
    plans_of: Callable[[Callable[[apsw.Connection], object]], Plans], where: AgentFilter
) -> None:
    page, total = plans_of(lambda connection: SqliteAgents(connection).page("default", where, WINDOW)).values()

    index = "agents_by_team" if where.owner_user_id is None else "agents_by_owner"
    for plan in (page, total):
        assert any(step.startswith(f"SEARCH a USING COVERING INDEX {index} (instance=? AND ") for step in plan), plan
    # The one sort is that of the page's own rows, which are read by their ids.
    assert sum("TEMP B-TREE FOR ORDER BY" in step for step in page) <= 1


def test_a_page_of_tasks_is_chosen_in_the_order_of_an_index_that_holds_all_it_needs(
    plans_of: Callable[[Callable[[apsw.Connection], object]], Plans],
) -> None:
    for where, index in zip(TASK_PAGES, ("tasks_by_team", "tasks_by_creator"), strict=True):
        found = plans_of(partial(page_of_tasks, where))
        page, total = found.values()
        for plan in (page, total):
            assert any(step.startswith(f"SEARCH t USING COVERING INDEX {index} (instance=? AND ") for step in plan), (
                plan
            )
        assert sum("TEMP B-TREE FOR ORDER BY" in step for step in page) <= 1


def page_of_tasks(where: TaskFilter, connection: apsw.Connection) -> object:
    return SqliteTasks(connection).page("default", where, WINDOW)


def test_the_log_of_a_team_is_read_in_the_order_of_its_index(
    plans_of: Callable[[Callable[[apsw.Connection], object]], Plans],
) -> None:
    where = ParticipationFilter("team-1", user_id="lin")
    page, total = plans_of(lambda connection: SqliteTasks(connection).participations("default", where, WINDOW)).values()

    for plan in (page, total):
        assert any("COVERING INDEX participations_by_team (instance=? AND team_id=?" in step for step in plan), plan
