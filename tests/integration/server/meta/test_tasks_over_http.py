"""`task/*` and `task-agent/*` as their clients see them."""

from __future__ import annotations

import re
from typing import Any

UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


async def made(home: Any, **given: Any) -> Any:
    """A task of lin's in the team."""
    return await home.lin("task/create", **{"team_id": home.team_id, "creator_user_id": "lin", "title": "做饭"} | given)


async def agent_of(home: Any, name: str = "cook", **given: Any) -> str:
    """The id of an agent of lin's in the team."""
    agent = {"team_id": home.team_id, "owner_user_id": "lin", "name": name}
    return str((await home.lin("agent/create", **agent | given))["agent_id"])


async def elsewhere(home: Any) -> str:
    """The id of another team of lin's."""
    return str((await home.lin("team/create", name="office", owner_user_id="lin"))["team_id"])


async def titles(person: Any, **where: Any) -> tuple[list[str], int]:
    page = await person("task/list", **where)
    return [one["title"] for one in page["items"]], page["total"]


async def linked(home: Any, task: Any) -> list[tuple[str, str]]:
    page = await home.rex("task-agent/list", task_id=task["task_id"])
    assert page["total"] == len(page["items"])
    return sorted((one["agent_id"], one["role_in_task"]) for one in page["items"])


async def test_a_task_has_the_contracts_form_and_its_defaults(home: Any) -> None:
    task = await made(home)

    assert task == {
        "task_id": task["task_id"],
        "team_id": home.team_id,
        "creator_user_id": "lin",
        "title": "做饭",
        "description": "",
        "source_type": "manual",
        "source_url": "",
        "status": "running",
        "auto_assign_floating_assets": False,
        "risk_level": "",
        "created_at": task["created_at"],
        "updated_at": task["created_at"],
        "metadata_json": None,
    }
    assert re.fullmatch(r"task-[a-z0-9]{10}", task["task_id"])
    assert await home.rex("task/get", task_id=task["task_id"]) == task


async def test_all_that_is_said_of_a_task_is_kept_and_can_be_changed(home: Any) -> None:
    said = {
        "description": "d",
        "source_type": "github",
        "source_url": "https://x.test/1",
        "status": "completed",
        "auto_assign_floating_assets": True,
        "risk_level": "low",
        "metadata_json": {"participants": ["rex"]},
    }
    task = await made(home, **said)
    assert task | said == task

    new = {
        "title": "洗碗",
        "description": "",
        "source_type": "tapd",
        "source_url": "",
        "status": "running",
        "auto_assign_floating_assets": False,
        "risk_level": "high",
        "metadata_json": "m",
    }
    changed = await home.lin("task/update", task_id=task["task_id"], **new)
    assert changed == task | new | {"updated_at": changed["updated_at"]}
    assert await home.lin("task/get", task_id=task["task_id"]) == changed
    assert (await home.lin("task/archive", task_id=task["task_id"]))["status"] == "completed"


async def test_tasks_are_made_by_active_members_in_their_own_name(home: Any) -> None:
    task = {"team_id": home.team_id, "creator_user_id": "rex", "title": "t"}

    assert await home.lin.refused("task/create", **task) == (403, "permission_denied")
    assert await home.ann.refused("task/create", **task | {"creator_user_id": "ann"}) == (404, "team_not_found")
    assert await home.rex.refused("task/create", **task | {"title": ""}) == (400, "invalid_request")
    assert await home.rex.refused("task/create", **task | {"title": "\u3000"}) == (400, "invalid_request")
    assert await home.rex.refused("task/create", **task | {"source_type": "jira"}) == (400, "invalid_request")


async def test_only_its_creator_changes_a_task_and_outsiders_do_not_know_it(home: Any) -> None:
    task = {"task_id": (await made(home))["task_id"]}
    agent_id = await agent_of(home)

    for person, error in (
        (home.rex, (403, "permission_denied")),
        (home.mia, (403, "permission_denied")),
        (home.root, (403, "permission_denied")),
        (home.ann, (404, "task_not_found")),
    ):
        assert await person.refused("task/update", **task, title="x") == error
        assert await person.refused("task/archive", **task) == error
        assert await person.refused("task-agent/link", **task, agent_id=agent_id) == error
        assert await person.refused("task-agent/unlink", **task, agent_id=agent_id) == error
    assert await home.ann.refused("task/get", **task) == (404, "task_not_found")
    assert await home.ann.refused("task-agent/list", **task) == (404, "task_not_found")
    assert (await home.root("task/get", **task))["title"] == "做饭"


async def test_lists_show_and_count_tasks_of_ones_teams_and_ones_own(home: Any) -> None:
    await made(home, title="one")
    await made(home, title="two", status="completed")
    other = await elsewhere(home)
    await made(home, title="three", team_id=other)

    assert await titles(home.rex, team_id=home.team_id) == (["two", "one"], 2)
    assert await titles(home.rex, team_id=home.team_id, status="running") == (["one"], 1)
    assert await titles(home.rex, team_id=home.team_id, title="two", limit=1) == (["two"], 1)
    assert await titles(home.lin, creator_user_id="lin", limit=1, offset=1) == (["two"], 3)
    assert await titles(home.rex, creator_user_id="lin") == (["two", "one"], 2)
    assert await titles(home.root, creator_user_key=home.lin.key) == (["three", "two", "one"], 3)
    assert await titles(home.ann, creator_user_id="lin") == ([], 0)
    assert await home.rex.refused("task/list", team_id=other) == (404, "team_not_found")
    assert await home.rex.refused("task/list", status="running") == (400, "missing_team_id")
    assert await home.rex.refused("task/list", creator_user_key="sk-mem-none") == (404, "user_not_found")


async def test_a_task_is_made_with_its_agents_or_not_at_all(home: Any) -> None:
    agent_id, private = await agent_of(home), await agent_of(home, "diary", visibility="private")
    foreign = await agent_of(home, "clerk", team_id=await elsewhere(home))
    task = {"team_id": home.team_id, "creator_user_id": "rex", "title": "t"}

    for agents, error in (
        ([{"agent_id": agent_id}, {"agent_id": "agt-none"}], (404, "agent_not_found")),
        ([{"agent_id": private}], (404, "agent_not_found")),
        ([{"agent_id": foreign}], (404, "agent_not_found")),
        ([{"agent_id": agent_id}, {"agent_id": agent_id}], (409, "duplicate_entry")),
        ([{"role_in_task": "cook"}], (400, "invalid_request")),
    ):
        assert await home.rex.refused("task/create", **task, linked_agents=agents) == error
    mine = task | {"creator_user_id": "lin"}
    error = (403, "agent_team_mismatch")
    assert await home.lin.refused("task/create", **mine, linked_agents=[{"agent_id": foreign}]) == error
    assert await titles(home.lin, team_id=home.team_id) == ([], 0)

    agents = [{"agent_id": agent_id, "role_in_task": "cook"}, {"agent_id": private}]
    made_task = await home.lin("task/create", **mine, linked_agents=agents)
    assert await linked(home, made_task) == sorted([(agent_id, "cook"), (private, "")])


async def test_agents_of_the_team_are_linked_once_and_unlinked(home: Any) -> None:
    task, agent_id = await made(home), await agent_of(home)
    both = {"task_id": task["task_id"], "agent_id": agent_id}
    link = await home.lin("task-agent/link", **both, role_in_task="cook")

    assert re.fullmatch(UUID, link["id"])
    assert link == both | {
        "id": link["id"],
        "role_in_task": "cook",
        "status": "active",
        "created_at": link["created_at"],
    }
    again = await home.lin("task-agent/link", **both, role_in_task="guest")
    assert again == link | {"role_in_task": "guest"}
    assert await linked(home, task) == [(agent_id, "guest")]

    foreign = await agent_of(home, "clerk", team_id=await elsewhere(home))
    assert await home.lin.refused("task-agent/link", **both | {"agent_id": foreign}) == (403, "agent_team_mismatch")
    assert await home.lin.refused("task-agent/link", **both | {"agent_id": "a"}) == (404, "agent_not_found")
    assert await home.lin("task-agent/unlink", **both) == {"ok": True}
    assert await home.lin.refused("task-agent/unlink", **both) == (403, "task_agent_not_linked")
    assert await linked(home, task) == []


async def test_deleting_takes_links_and_log_along_and_names_what_was_not_there(home: Any) -> None:
    agent_id = await agent_of(home)
    task, other = await made(home, linked_agents=[{"agent_id": agent_id}]), await made(home)
    for one in (task, other):
        ids = {"team_id": home.team_id, "task_id": one["task_id"], "agent_id": agent_id, "user_id": "rex"}
        await home.rex("participation-log/append", **ids)

    batch = await home.lin("task/delete", task_ids=[task["task_id"], "task-none"])

    assert batch == {"deleted_ids": [task["task_id"]], "failed": [{"id": "task-none", "reason": "task_not_found"}]}
    assert await home.lin.refused("task-agent/list", task_id=task["task_id"]) == (404, "task_not_found")
    page = await home.rex("participation-log/list", team_id=home.team_id)
    assert [line["task_id"] for line in page["items"]] == [other["task_id"]]
    assert await home.rex.refused("task/delete", task_ids=[other["task_id"]]) == (403, "permission_denied")
    assert (await home.ann("task/delete", task_ids=[other["task_id"]]))["deleted_ids"] == []


async def test_what_a_removed_user_left_is_decided_about_by_who_runs_the_team(home: Any) -> None:
    task = await home.rex("task/create", team_id=home.team_id, creator_user_id="rex", title="t")
    assert await home.mia.refused("task/archive", task_id=task["task_id"]) == (403, "permission_denied")
    await home.root("user/delete", user_ids=["rex"])

    assert (await home.mia("task/archive", task_id=task["task_id"]))["status"] == "completed"
