"""Tasks, the agents linked to them, and the log of who took part: kept per instance, paged, and gone together."""

from __future__ import annotations

from dataclasses import replace

from memstrata.records.agents import Participation, Task, TaskAgent
from memstrata.records.people import Member
from memstrata.store.directory import ParticipationFilter, TaskFilter, Window
from memstrata.store.protocol import Repositories, Store

WINDOW = Window()


def task(task_id: str = "task-1", *, at: int = 100, team: str = "team-1", creator: str = "lin") -> Task:
    return Task(
        task_id, team, creator, "做饭", "dinner", "github", "https://x.test/1", "running", True, "low", '"m"', at, at
    )


def line(log_id: str, *, at: int, user: str = "lin", task_id: str = "task-1", agent: str = "agt-1") -> Participation:
    return Participation(log_id, "team-1", task_id, agent, user, "proxy", "{}", at, at)


async def keep(store: Store, *rows: Task | TaskAgent | Participation, instance: str = "default") -> None:
    def work(r: Repositories) -> None:
        for row in rows:
            match row:
                case Task():
                    r.tasks.add(instance, row)
                case TaskAgent():
                    r.tasks.link(instance, row)
                case Participation():
                    r.tasks.took_part(instance, row)

    await store.write(work)


async def listed(store: Store, where: TaskFilter, window: Window = WINDOW) -> tuple[list[str], int]:
    page = await store.read(lambda r: r.tasks.page("default", where, window))
    return [one.task_id for one in page.items], page.total


async def lines(store: Store, window: Window = WINDOW, **narrow: str | int) -> tuple[list[str], int]:
    where = ParticipationFilter("team-1", **narrow)  # type: ignore[arg-type]
    page = await store.read(lambda r: r.tasks.participations("default", where, window))
    return [one.log_id for one in page.items], page.total


async def test_a_task_is_read_as_it_was_kept_and_belongs_to_its_instance(store: Store) -> None:
    await keep(store, task())
    changed = replace(
        task(),
        title="t",
        description="d",
        source_type="tapd",
        source_url="",
        status="completed",
        auto_assign=False,
        risk_level="high",
        metadata="1",
        updated_at=200,
    )
    await store.write(lambda r: r.tasks.replace("default", changed))
    await store.write(lambda r: r.tasks.replace("other", task()))

    assert await store.read(lambda r: r.tasks.get("default", "task-1")) == changed
    assert await store.read(lambda r: r.tasks.get("other", "task-1")) is None


async def test_tasks_are_paged_newest_first_and_found_by_every_filter(store: Store) -> None:
    await keep(
        store,
        task("task-1", at=1),
        task("task-2", at=2, team="team-2"),
        task("task-3", at=2, creator="rex"),
        replace(task("task-4", at=3), status="completed", title="洗碗"),
    )
    await keep(store, task("task-5"), instance="other")

    assert await listed(store, TaskFilter(None)) == (["task-4", "task-3", "task-2", "task-1"], 4)
    assert await listed(store, TaskFilter(None), Window(2, 1)) == (["task-3", "task-2"], 4)
    assert await listed(store, TaskFilter(None, team_id="team-1")) == (["task-4", "task-3", "task-1"], 3)
    assert await listed(store, TaskFilter(None, creator_user_id="lin")) == (["task-4", "task-2", "task-1"], 3)
    assert await listed(store, TaskFilter(None, "team-1", "lin", "running")) == (["task-1"], 1)
    assert await listed(store, TaskFilter(None, "team-1", title="洗碗")) == (["task-4"], 1)


async def test_a_viewer_is_shown_tasks_of_their_teams_and_their_own(store: Store) -> None:
    await keep(store, task("task-1", at=1), task("task-2", at=2, team="team-2"), task("task-3", at=3, creator="rex"))

    async def shown(viewer: str) -> tuple[list[str], int]:
        return await listed(store, TaskFilter(viewer))

    assert await shown("rex") == (["task-3"], 1)
    await store.write(lambda r: r.members.put("default", Member("m", "team-1", "rex", "reviewer", "active", 1)))
    assert await shown("rex") == (["task-3", "task-1"], 2)
    await store.write(lambda r: r.members.put("default", Member("m", "team-1", "rex", "reviewer", "removed", 1)))
    assert await shown("rex") == (["task-3"], 1)
    await store.write(lambda r: r.members.put("other", Member("m", "team-2", "rex", "admin", "active", 1)))
    assert await shown("rex") == (["task-3"], 1)


async def test_linking_again_keeps_the_link_and_takes_the_new_role(store: Store) -> None:
    first = await store.write(lambda r: r.tasks.link("default", TaskAgent("l-1", "task-1", "agt-1", "cook", 5)))
    again = await store.write(lambda r: r.tasks.link("default", TaskAgent("l-2", "task-1", "agt-1", "guest", 9)))

    assert first == TaskAgent("l-1", "task-1", "agt-1", "cook", 5)
    assert again == replace(first, role_in_task="guest")
    assert await store.read(lambda r: r.tasks.linked("default", "task-1", "agt-1")) == again
    assert await store.read(lambda r: r.tasks.linked("other", "task-1", "agt-1")) is None


async def test_links_are_paged_newest_first_and_taken_off_one_by_one(store: Store) -> None:
    await keep(store, *(TaskAgent(f"l-{number}", "task-1", f"agt-{number}", "", number) for number in range(3)))
    await keep(store, TaskAgent("l-9", "task-2", "agt-1", "", 9))
    assert await store.write(lambda r: r.tasks.unlink("default", "task-1", "agt-1"))
    assert not await store.write(lambda r: r.tasks.unlink("default", "task-1", "agt-1"))

    page = await store.read(lambda r: r.tasks.links("default", "task-1", WINDOW))
    assert ([one.link_id for one in page.items], page.total) == (["l-2", "l-0"], 2)
    page = await store.read(lambda r: r.tasks.links("default", "task-1", Window(1, 1)))
    assert ([one.link_id for one in page.items], page.total) == (["l-0"], 2)


async def test_the_log_is_read_newest_first_by_task_agent_user_and_time(store: Store) -> None:
    await keep(
        store,
        line("p-1", at=1),
        line("p-2", at=2, user="rex"),
        line("p-3", at=3, task_id="task-2"),
        line("p-4", at=3, agent="agt-2"),
    )
    await keep(store, replace(line("p-5", at=5), team_id="team-2"))
    await keep(store, line("p-6", at=6), instance="other")

    assert await lines(store) == (["p-4", "p-3", "p-2", "p-1"], 4)
    assert await lines(store, Window(2, 1)) == (["p-3", "p-2"], 4)
    assert await lines(store, task_id="task-1") == (["p-4", "p-2", "p-1"], 3)
    assert await lines(store, agent_id="agt-2") == (["p-4"], 1)
    assert await lines(store, user_id="rex") == (["p-2"], 1)
    assert await lines(store, since=2, until=3) == (["p-4", "p-3", "p-2"], 3)
    where = ParticipationFilter("team-1", user_id="rex")
    page = await store.read(lambda r: r.tasks.participations("default", where, WINDOW))
    assert page.items == (line("p-2", at=2, user="rex"),)


async def test_without_repetitions_the_log_has_the_newest_line_of_each_user(store: Store) -> None:
    await keep(
        store,
        line("p-1", at=1, user="rex"),
        line("p-2", at=2),
        line("p-3", at=2),
        line("p-4", at=4, user="rex", task_id="task-2"),
    )

    assert await lines(store, dedupe=True) == (["p-4", "p-3"], 2)
    assert await lines(store, Window(1, 1), dedupe=True) == (["p-3"], 2)
    assert await lines(store, dedupe=True, task_id="task-1") == (["p-3", "p-1"], 2)


async def test_a_task_goes_with_its_links_and_its_log(store: Store) -> None:
    for instance in ("default", "other"):
        for name in ("task-1", "task-2"):
            link = TaskAgent(f"l-{name}", name, "agt-1", "", 1)
            await keep(store, task(name), link, line(f"p-{name}", at=1, task_id=name), instance=instance)

    assert await store.write(lambda r: r.tasks.remove("default", "task-1"))
    assert not await store.write(lambda r: r.tasks.remove("default", "task-1"))

    assert await listed(store, TaskFilter(None)) == (["task-2"], 1)
    assert await lines(store) == (["p-task-2"], 1)
    assert await store.read(lambda r: r.tasks.linked("default", "task-1", "agt-1")) is None
    assert await store.read(lambda r: r.tasks.linked("default", "task-2", "agt-1")) is not None
    assert await store.read(lambda r: r.tasks.linked("other", "task-1", "agt-1")) is not None
