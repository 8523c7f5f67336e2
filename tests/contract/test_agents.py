"""Agents: kept per instance, and shown to whom their visibility, the team and the grants let see them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from memstrata.records.agents import Agent, Participation, TaskAgent, Visibility
from memstrata.records.assets import Asset, Binding, Grant, GrantEffect, Permission, SubjectType, chat_memory_id
from memstrata.records.people import Member, MemberRole, MemberStatus
from memstrata.store.directory import AgentFilter, ParticipationFilter, Window
from memstrata.store.protocol import Repositories, Store

WINDOW = Window()


def agent(agent_id: str = "agt-1", *, at: int = 100, visibility: Visibility = "team", owner: str = "lin") -> Agent:
    return Agent(agent_id, "team-1", owner, "厨师", "cooks", "You cook.", visibility, "active", '{"a": 1}', at, at)


def member(user_id: str, role: MemberRole = "member", status: MemberStatus = "active", team: str = "team-1") -> Member:
    return Member(f"m-{team}-{user_id}", team, user_id, role, status, 1)


def grant(
    subject: tuple[SubjectType, str],
    permission: Permission = "read",
    effect: GrantEffect = "allow",
    agent_id: str = "agt-1",
) -> Grant:
    name = f"g-{agent_id}-{subject[1]}-{permission}"
    return Grant(name, chat_memory_id("team-1", agent_id), *subject, permission, effect, "lin", 1, 1)


async def keep(store: Store, *rows: Agent | Member | Grant, instance: str = "default") -> None:
    def work(r: Repositories) -> None:
        for row in rows:
            match row:
                case Agent():
                    r.agents.add(instance, row)
                case Member():
                    r.members.put(instance, row)
                case Grant():
                    if r.assets.get(instance, row.asset_id) is None:
                        r.assets.add(instance, asset(row.asset_id), None)
                    r.assets.grant(instance, row)

    await store.write(work)


async def listed(store: Store, where: AgentFilter, window: Window = WINDOW) -> tuple[list[str], int]:
    page = await store.read(lambda r: r.agents.page("default", where, window))
    return [one.agent_id for one in page.items], page.total


async def sees(store: Store, viewer: str) -> bool:
    """Whether a viewer is shown the agent; the list and the look at one must agree."""
    found = await store.read(lambda r: r.agents.seen("default", "agt-1", viewer))
    for where in (AgentFilter(viewer, team_id="team-1"), AgentFilter(viewer, owner_user_id="lin")):
        assert await listed(store, where) == (([], 0) if found is None else (["agt-1"], 1))
    return found is not None


async def test_an_agent_is_read_as_it_was_kept_and_belongs_to_its_instance(store: Store) -> None:
    await keep(store, agent())
    await keep(store, replace(agent(), name="theirs"), instance="other")
    changed = replace(agent(), name="n", description="d", prompt="p", visibility="private", status="inactive")
    changed = replace(changed, metadata="[]", updated_at=200)
    await store.write(lambda r: r.agents.replace("default", changed))

    assert await store.read(lambda r: r.agents.get("default", "agt-1")) == changed
    assert await store.read(lambda r: r.agents.get("other", "agt-1")) == replace(agent(), name="theirs")
    assert await store.read(lambda r: r.agents.get("third", "agt-1")) is None


async def test_agents_are_paged_newest_first_and_counted_whole(store: Store) -> None:
    await keep(store, *(agent(f"agt-{number}", at=number // 2) for number in range(5)))

    where = AgentFilter(None, team_id="team-1")
    assert await listed(store, where) == (["agt-4", "agt-3", "agt-2", "agt-1", "agt-0"], 5)
    assert await listed(store, where, Window(2, 1)) == (["agt-3", "agt-2"], 5)
    assert await listed(store, where, Window(2, 9)) == ([], 5)


async def test_agents_are_found_by_team_owner_status_and_exact_name(store: Store) -> None:
    await keep(
        store,
        agent("agt-1", at=1),
        replace(agent("agt-2", at=2), team_id="team-2"),
        agent("agt-3", at=3, owner="rex"),
        replace(agent("agt-4", at=4), status="inactive", name="厨师长"),
    )

    assert await listed(store, AgentFilter(None)) == (["agt-4", "agt-3", "agt-2", "agt-1"], 4)
    assert await listed(store, AgentFilter(None, team_id="team-1")) == (["agt-4", "agt-3", "agt-1"], 3)
    assert await listed(store, AgentFilter(None, owner_user_id="lin")) == (["agt-4", "agt-2", "agt-1"], 3)
    assert await listed(store, AgentFilter(None, "team-1", "lin", "active")) == (["agt-1"], 1)
    assert await listed(store, AgentFilter(None, "team-1", name="厨师长")) == (["agt-4"], 1)
    in_team = await store.read(lambda r: r.agents.of_team("default", "team-1"))
    assert [one.agent_id for one in in_team] == ["agt-1", "agt-3", "agt-4"]
    owned = await store.read(lambda r: r.agents.owned_by("default", "rex"))
    assert [one.agent_id for one in owned] == ["agt-3"]


VIEWERS: dict[str, Member | None] = {
    "owner": None,
    "admin": member("rex", "admin"),
    "member": member("rex"),
    "reviewer": member("rex", "reviewer"),
    "removed admin": member("rex", "admin", "removed"),
    "admin of another team": member("rex", "admin", team="team-2"),
    "stranger": None,
}
SEEN_BY: dict[Visibility, set[str]] = {
    "private": {"owner"},
    "team": {"owner", "admin", "member", "reviewer"},
    "agent": {"owner", "admin", "member", "reviewer"},
    "task": {"owner", "admin", "member", "reviewer"},
    "restricted": {"owner", "admin"},
}


@pytest.mark.parametrize(("visibility", "viewer"), list(product(SEEN_BY, VIEWERS)))
async def test_an_agent_is_shown_to_whom_its_visibility_names(
    store: Store, visibility: Visibility, viewer: str
) -> None:
    place = VIEWERS[viewer]
    await keep(store, agent(visibility=visibility), *([] if place is None else [place]))

    assert await sees(store, "lin" if viewer == "owner" else "rex") == (viewer in SEEN_BY[visibility])


@pytest.mark.parametrize(
    ("grants", "expected"),
    [
        ((grant(("user", "rex")),), True),
        ((grant(("user", "rex"), "use"),), True),
        ((grant(("team_role", "member")),), True),
        ((grant(("user", "rex"), "write"),), False),
        ((grant(("user", "ann")),), False),
        ((grant(("team_role", "reviewer")),), False),
        ((grant(("agent", "rex")),), False),
        ((grant(("user", "rex"), agent_id="agt-2"),), False),
        ((grant(("user", "rex")), grant(("team_role", "member"), effect="deny")), False),
        ((grant(("user", "rex")), grant(("user", "rex"), "write", effect="deny")), True),
    ],
)
async def test_a_restricted_agent_is_shown_to_members_who_are_granted_its_memory(
    store: Store, grants: tuple[Grant, ...], expected: bool
) -> None:
    await keep(store, agent(visibility="restricted"), *grants)
    assert not await sees(store, "rex")

    await keep(store, member("rex"))
    assert await sees(store, "rex") == expected


async def test_an_agent_goes_with_all_that_names_it_and_nothing_else(store: Store) -> None:
    def name(r: Repositories, agent_id: str, instance: str) -> None:
        r.agents.add(instance, agent(agent_id))
        if r.assets.get(instance, "ast-1") is None:
            r.assets.add(instance, asset("ast-1"), None)
        binding = Binding(f"b-{agent_id}", agent_id, "ast-1", "skill", "summary", 50, "lin", 1)
        r.assets.add_binding(instance, binding)
        r.assets.grant(instance, replace(grant(("agent", agent_id)), grant_id=f"g-{agent_id}", asset_id="ast-1"))
        r.tasks.link(instance, TaskAgent(f"l-{agent_id}", "task-1", agent_id, "", 1))
        r.tasks.took_part(instance, Participation(f"p-{agent_id}", "team-1", "task-1", agent_id, "lin", "", "", 1, 1))

    def work(r: Repositories) -> None:
        for agent_id, instance in (("agt-1", "default"), ("agt-2", "default"), ("agt-1", "other")):
            name(r, agent_id, instance)

    def named(r: Repositories, instance: str) -> set[str]:
        bound = {one.agent_id for who in ("agt-1", "agt-2") for one in r.assets.bindings(instance, who, WINDOW).items}
        granted = {one.subject_id for one in r.assets.grants(instance, "ast-1", WINDOW).items}
        linked = {one.agent_id for one in r.tasks.links(instance, "task-1", WINDOW).items}
        lines = r.tasks.participations(instance, ParticipationFilter("team-1"), WINDOW).items
        assert bound == granted == linked == {line.agent_id for line in lines}
        return bound

    await store.write(work)
    assert await store.write(lambda r: r.agents.remove("default", "agt-1"))

    assert await store.read(lambda r: r.agents.get("default", "agt-1")) is None
    assert await store.read(lambda r: named(r, "default")) == {"agt-2"}
    assert await store.read(lambda r: named(r, "other")) == {"agt-1"}
    assert not await store.write(lambda r: r.agents.remove("default", "agt-1"))


def asset(asset_id: str) -> Asset:
    return Asset(
        asset_id=asset_id,
        team_id="team-1",
        asset_type="skill",
        name="a",
        description="",
        owner_user_id="lin",
        source_type="manual",
        source_ref="",
        version=1,
        visibility="team",
        status="approved",
        confidence=None,
        expires_at="",
        last_used_at=None,
        usage_count=0,
        content_ref="",
        metadata="null",
        created_at=1,
        updated_at=1,
    )
