"""Who may do what with an asset: every role, visibility and verb, with and without a line on the access list."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memstrata.records.agents import Visibility
from memstrata.records.assets import Asset, AssetStatus, Binding, Grant, GrantEffect, Permission, SubjectType
from memstrata.records.people import Member, MemberRole
from memstrata.store.directory import AssetFilter, Window
from memstrata.store.protocol import Repositories, Store
from memstrata.store.sqlite.store import SqliteStore

NOW = 1_000
ALL = Window(1_000)
VERBS: tuple[Permission, ...] = ("read", "use", "write", "delete", "assign", "share")
REASONS = {
    "O": (True, "owner"),
    "R": (True, "role_default:{role}"),
    "A": (True, "acl:g"),
    "D": (False, "acl_deny:g"),
    "H": (False, "visibility_restricted"),
    "N": (False, "no_permission"),
    "M": (False, "not_team_member"),
}
# One letter for each verb, in the order of VERBS: without a grant, with an allow for that verb, with a deny.
TABLE = """
    owner     private     OOOOOO  OOOOOO  OOOOOO
    owner     team        OOOOOO  OOOOOO  OOOOOO
    owner     restricted  OOOOOO  OOOOOO  OOOOOO
    owner     agent       OOOOOO  OOOOOO  OOOOOO
    owner     task        OOOOOO  OOOOOO  OOOOOO
    admin     private     HHHHHH  AAAAAA  DDDDDD
    admin     team        RRRNRR  RRRARR  DDDDDD
    admin     restricted  RRRNRR  RRRARR  DDDDDD
    admin     agent       RRRNRR  RRRARR  DDDDDD
    admin     task        RRRNRR  RRRARR  DDDDDD
    member    private     HHHHHH  AAAAAA  DDDDDD
    member    team        RRNNNN  RRAAAA  DDDDDD
    member    restricted  HHHHHH  AAAAAA  DDDDDD
    member    agent       RRNNNN  RRAAAA  DDDDDD
    member    task        RRHHHH  RRAAAA  DDDDDD
    reviewer  private     HHHHHH  AAAAAA  DDDDDD
    reviewer  team        RRNNNN  RRAAAA  DDDDDD
    reviewer  restricted  HHHHHH  AAAAAA  DDDDDD
    reviewer  agent       RRNNNN  RRAAAA  DDDDDD
    reviewer  task        RRHHHH  RRAAAA  DDDDDD
    removed   private     MMMMMM  MMMMMM  DDDDDD
    removed   team        MMMMMM  MMMMMM  DDDDDD
    removed   restricted  MMMMMM  MMMMMM  DDDDDD
    removed   agent       MMMMMM  MMMMMM  DDDDDD
    removed   task        MMMMMM  MMMMMM  DDDDDD
    stranger  private     MMMMMM  MMMMMM  DDDDDD
    stranger  team        MMMMMM  MMMMMM  DDDDDD
    stranger  restricted  MMMMMM  MMMMMM  DDDDDD
    stranger  agent       MMMMMM  MMMMMM  DDDDDD
    stranger  task        MMMMMM  MMMMMM  DDDDDD
"""
ROWS = [tuple(line.split()) for line in TABLE.strip().splitlines()]
ROLES: dict[str, MemberRole] = {"admin": "admin", "member": "member", "reviewer": "reviewer"}


def asset(
    asset_id: str = "ast-1",
    visibility: Visibility = "team",
    *,
    team: str = "team-1",
    owner: str = "owner",
    status: AssetStatus = "approved",
    at: int = 1,
) -> Asset:
    return Asset(
        asset_id,
        team,
        "skill",
        "n",
        "",
        owner,
        "manual",
        "",
        1,
        visibility,
        status,
        None,
        "",
        None,
        0,
        "",
        "null",
        at,
        at,
    )


def member(user_id: str, role: MemberRole, team: str = "team-1", *, removed: bool = False) -> Member:
    return Member(f"m-{team}-{user_id}", team, user_id, role, "removed" if removed else "active", 1)


def grant(
    permission: Permission,
    effect: GrantEffect,
    subject: tuple[SubjectType, str],
    asset_id: str = "ast-1",
    grant_id: str = "g",
) -> Grant:
    return Grant(grant_id, asset_id, *subject, permission, effect, "owner", 1, 1)


def team_of(r: Repositories) -> None:
    """Everybody is called by their role."""
    for name, role in ROLES.items():
        r.members.put("default", member(name, role))
    r.members.put("default", member("removed", "admin", removed=True))
    r.members.put("default", member("stranger", "admin", "team-2"))


def listed(r: Repositories, user: str, action: Permission, agent: str | None = None) -> bool:
    found = r.assets.page("default", AssetFilter(user, action, agent_id=agent, usable=True), ALL, NOW)
    assert found.total == len(found.items)
    return bool(found.items)


def test_the_table_has_every_role_with_every_visibility_once() -> None:
    roles = {"owner", "removed", "stranger", *get_args(MemberRole)}
    assert sorted((role, visibility) for role, visibility, *_ in ROWS) == sorted(
        (role, visibility) for role in roles for visibility in get_args(Visibility)
    )
    assert set(VERBS) == set(get_args(Permission))


@pytest.mark.parametrize(("role", "visibility", "plain", "allowing", "denying"), ROWS)
async def test_every_verb_has_the_answer_of_the_table_and_the_list_agrees(
    store: Store, role: str, visibility: Visibility, plain: str, allowing: str, denying: str
) -> None:
    def answers(r: Repositories, effect: GrantEffect | None, expected: str) -> None:
        for verb, letter in zip(VERBS, expected, strict=True):
            r.assets.remove("default", "ast-1")
            r.assets.add("default", asset(visibility=visibility), None)
            if effect is not None:
                r.assets.grant("default", grant(verb, effect, ("user", role)))
            allowed, reason = REASONS[letter]
            found = r.assets.reason("default", "ast-1", role, verb, None, NOW)
            assert found == (allowed, reason.format(role=role)), (verb, effect)
            assert listed(r, role, verb) == allowed, (verb, effect)

    def work(r: Repositories) -> None:
        team_of(r)
        answers(r, None, plain)
        answers(r, "allow", allowing)
        answers(r, "deny", denying)

    await store.write(work)


@pytest.mark.parametrize(
    ("subject", "user", "agent", "speaks"),
    [
        (("user", "member"), "member", None, True),
        (("user", "member"), "reviewer", None, False),
        (("team_role", "member"), "member", None, True),
        (("team_role", "member"), "admin", None, False),
        (("team_role", "admin"), "removed", None, False),
        (("team_role", "admin"), "stranger", None, False),
        (("agent", "agt-1"), "member", "agt-1", True),
        (("agent", "agt-1"), "member", "agt-2", False),
        (("agent", "agt-1"), "member", None, False),
        (("user", "agt-1"), "member", "agt-1", False),
    ],
)
async def test_a_grant_speaks_to_its_subject_alone(
    store: Store, subject: tuple[SubjectType, str], user: str, agent: str | None, speaks: bool
) -> None:
    def work(r: Repositories) -> None:
        team_of(r)
        r.assets.add("default", asset(visibility="private"), None)
        r.assets.grant("default", grant("read", "allow", subject))
        assert (r.assets.reason("default", "ast-1", user, "read", agent, NOW) == (True, "acl:g")) == speaks
        assert listed(r, user, "read", agent) == speaks
        r.assets.grant("default", grant("read", "deny", subject))
        assert (r.assets.reason("default", "ast-1", user, "read", agent, NOW) == (False, "acl_deny:g")) == speaks
        assert not listed(r, user, "read", agent)

    await store.write(work)


async def test_a_grant_is_for_its_verb_and_using_is_reading(store: Store) -> None:
    def work(r: Repositories) -> dict[Permission, set[Permission]]:
        team_of(r)
        opened: dict[Permission, set[Permission]] = {}
        for granted in VERBS:
            r.assets.remove("default", "ast-1")
            r.assets.add("default", asset(visibility="private"), None)
            r.assets.grant("default", grant(granted, "allow", ("user", "member")))
            opened[granted] = {v for v in VERBS if r.assets.reason("default", "ast-1", "member", v, None, NOW)[0]}
        return opened

    found = await store.write(work)
    assert found.pop("read") == found.pop("use") == {"read", "use"}
    assert all(opened == {granted} for granted, opened in found.items())


async def test_a_deny_wins_over_an_allow(store: Store) -> None:
    def work(r: Repositories) -> tuple[bool, str]:
        team_of(r)
        r.assets.add("default", asset(), None)
        r.assets.grant("default", grant("read", "allow", ("user", "member"), grant_id="g-1"))
        r.assets.grant("default", grant("read", "deny", ("team_role", "member"), grant_id="g-2"))
        assert not listed(r, "member", "read")
        return r.assets.reason("default", "ast-1", "member", "read", None, NOW)

    assert await store.write(work) == (False, "acl_deny:g-2")


@pytest.mark.parametrize("user", ["owner", "admin", "member", "stranger"])
async def test_what_is_missing_archived_or_expired_is_for_nobody(store: Store, user: str) -> None:
    def work(r: Repositories) -> None:
        team_of(r)
        r.assets.add("default", asset("gone", status="archived"), None)
        r.assets.add("default", asset("over"), NOW)
        r.assets.add("default", asset("soon"), NOW + 1)
        for one in ("gone", "over"):
            r.assets.grant("default", grant("read", "allow", ("user", user), one, f"g-{one}"))
        for one in ("gone", "over", "missing"):
            assert r.assets.reason("default", one, user, "read", None, NOW) == (False, "asset_not_available")
        assert r.assets.reason("default", "soon", user, "read", None, NOW)[0] == (user != "stranger")
        found = r.assets.page("default", AssetFilter(user), ALL, NOW)
        assert [one.asset_id for one in found.items] == {"owner": ["soon", "over", "gone"], "stranger": []}.get(
            user, ["soon"]
        )
        assert found.total == len(found.items)

    await store.write(work)


async def test_another_instance_has_a_say_in_nothing(store: Store) -> None:
    def work(r: Repositories) -> None:
        team_of(r)
        r.assets.add("other", asset(), None)
        r.assets.add("default", asset("ast-2", "private"), None)
        r.assets.add("other", asset("ast-2", "private"), None)
        r.assets.grant("other", grant("read", "allow", ("user", "member"), "ast-2"))
        assert not listed(r, "member", "read")
        assert r.assets.reason("default", "ast-1", "member", "read", None, NOW) == (False, "asset_not_available")
        assert r.assets.reason("default", "ast-2", "member", "read", None, NOW) == (False, "visibility_restricted")
        assert r.assets.reason("other", "ast-1", "member", "read", None, NOW) == (False, "not_team_member")

    await store.write(work)


USERS = ("u1", "u2", "u3")
TEAMS = ("t1", "t2")
AGENTS = ("a1", "a2")
SUBJECTS = st.one_of(
    st.tuples(st.just("user"), st.sampled_from(USERS)),
    st.tuples(st.just("team_role"), st.sampled_from(get_args(MemberRole))),
    st.tuples(st.just("agent"), st.sampled_from(AGENTS)),
)


@dataclass(frozen=True)
class Line:
    """A grant on one of the assets, by number."""

    which: int
    subject: tuple[SubjectType, str]
    verb: Permission
    effect: GrantEffect


@dataclass(frozen=True)
class World:
    """Who is where, what there is and when it ends, what is granted."""

    members: list[Member]
    assets: list[tuple[Asset, int | None]]
    lines: list[Line]

    def fill(self, r: Repositories) -> list[Asset]:
        for place in self.members:
            r.members.put("default", place)
        named = [(replace(one, asset_id=f"ast-{number}"), end) for number, (one, end) in enumerate(self.assets)]
        for one, end in named:
            r.assets.add("default", one, end)
            for agent in AGENTS:
                r.assets.add_binding("default", Binding("b", agent, one.asset_id, "skill", "summary", 50, "u1", 1))
        for number, line in enumerate(self.lines):
            asset_id = f"ast-{line.which % len(named)}"
            r.assets.grant("default", grant(line.verb, line.effect, line.subject, asset_id, f"g-{number}"))
        return [one for one, _ in named]


WORLDS = st.builds(
    World,
    st.lists(
        st.builds(
            member,
            st.sampled_from(USERS),
            st.sampled_from(get_args(MemberRole)),
            st.sampled_from(TEAMS),
            removed=st.booleans(),
        ),
        max_size=6,
    ),
    st.lists(
        st.tuples(
            st.builds(
                asset,
                visibility=st.sampled_from(get_args(Visibility)),
                team=st.sampled_from(TEAMS),
                owner=st.sampled_from(USERS),
                status=st.sampled_from(["approved", "approved", "archived", "deprecated", "failed"]),
            ),
            st.sampled_from([None, None, NOW - 1, NOW, NOW + 1]),
        ),
        min_size=1,
        max_size=6,
    ),
    st.lists(
        st.builds(Line, st.integers(0, 5), SUBJECTS, st.sampled_from(VERBS), st.sampled_from(get_args(GrantEffect))),
        max_size=8,
    ),
)


@settings(max_examples=40)
@given(
    world=WORLDS,
    user=st.sampled_from(USERS),
    verb=st.sampled_from(VERBS),
    agent=st.sampled_from([None, *AGENTS]),
    team=st.sampled_from([None, *TEAMS]),
)
def test_a_list_shows_exactly_what_a_check_allows_and_counts_it(
    world: World, user: str, verb: Permission, agent: str | None, team: str | None
) -> None:
    def agree(r: Repositories) -> None:
        assets = world.fill(r)

        def allowed(action: Permission) -> set[str]:
            names = [one.asset_id for one in assets]
            return {name for name in names if r.assets.reason("default", name, user, action, agent, NOW)[0]}

        own = {one.asset_id for one in assets if one.owner_user_id == user}
        worn = {one.asset_id for one in assets if one.status in ("deprecated", "failed")}
        here = {one.asset_id for one in assets if team in (None, one.team_id)}
        first = {one.asset_id for one in assets if one.owner_user_id == "u1"}
        where = AssetFilter(user, verb, team_id=team, agent_id=agent)
        shows(r, where, (allowed(verb) | own) & here)
        shows(r, replace(where, usable=True), (allowed(verb) - worn) & here)
        shows(r, replace(where, owner_user_id="u1"), (allowed(verb) | own) & here & first)
        if agent is not None:
            bound = r.assets.bound("default", agent, user, ALL, NOW)
            assert {one.asset_id for _, one in bound.items} == allowed("read")
            assert bound.total == len(bound.items)

    asyncio.run(on_a_store_of_its_own(agree))


async def on_a_store_of_its_own(work: Callable[[Repositories], None]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = await SqliteStore.open(Path(folder))
        try:
            await store.write(work)
        finally:
            await store.close()


def shows(r: Repositories, where: AssetFilter, expected: set[str]) -> None:
    """Hold a list against what it should show, as a whole and turned over page by page."""
    found = r.assets.page("default", where, ALL, NOW)
    assert {one.asset_id for one in found.items} == expected, where
    assert found.total == len(found.items) == len(expected), where
    pages = [r.assets.page("default", where, Window(1, offset), NOW).items for offset in range(found.total + 1)]
    assert [one for page in pages for one in page] == list(found.items), where
