"""The directory of a large instance: 10,000 agents and 100,000 assets in 20 teams, listed by people who may see a part.

Of 500 users each is a member of three teams, one is a member of all. A tenth of the assets is private, a tenth restricted, a
tenth of a task; every tenth has a grant, one in two of them a deny. Pages are asked for anywhere in the lists.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from benchmarks.bench import Bench
from benchmarks.driver import Body, Call, Client, closed_loop
from memstrata.directory.key_text import digest_of
from memstrata.records.agents import Agent, Visibility
from memstrata.records.assets import Asset, AssetType, Binding, Grant, GrantEffect, SubjectType
from memstrata.records.people import Member, MemberRole, Team, User, UserKey
from memstrata.store.protocol import Repositories
from memstrata.store.sqlite.store import SqliteStore

__all__ = ["measure"]

AGENTS, ASSETS, TEAMS, USERS = 10_000, 100_000, 20, 500
BOUND = 10  # assets of an agent
PAGE = 20
_MADE = 1_767_614_400_000
_AT_ONCE = 10_000  # rows of one transaction
_VISIBILITIES: tuple[Visibility, ...] = (
    "team", "team", "team", "team", "team", "team", "agent", "private", "restricted", "task"
)  # fmt: skip
_KINDS: tuple[AssetType, ...] = get_args(AssetType)
_EVERYWHERE = 0  # the number of the user who is a member of all teams
_ORDINARY = 1
_USERS_TEAM = 1  # one of the three teams of the ordinary user


async def measure(bench: Bench) -> None:
    """Fill a directory, then ask for pages of it, one request at a time."""
    folder = bench.work / "directory"
    await _fill(folder)
    asked: dict[str, Callable[[random.Random], Call]] = {
        "assets_of_team": lambda chance: _page(chance, "asset/list", ASSETS // TEAMS, team_id=_team(_USERS_TEAM)),
        "assets_accessible": lambda chance: _page(
            chance, "asset/list-accessible", 3 * ASSETS // TEAMS, user_id=_user(_ORDINARY)
        ),
        "assets_accessible_everywhere": lambda chance: _page(
            chance, "asset/list-accessible", ASSETS // 2, by=_EVERYWHERE, user_id=_user(_EVERYWHERE)
        ),
        "agents_of_team": lambda chance: _page(chance, "agent/list", AGENTS // TEAMS, team_id=_team(_USERS_TEAM)),
        "bound_assets": lambda chance: _ask(
            "agent-fixed-asset/list-with-detail", _ORDINARY, agent_id=_agent(_of_team(chance))
        ),
        "acl_check": lambda chance: _ask(
            "acl/check", _ORDINARY, user_id=_user(_ORDINARY), asset_id=_asset(chance.randrange(ASSETS)), action="read"
        ),
    }
    async with bench.serve(folder, {}) as server:
        async with Client(server) as client:
            for name, call in asked.items():
                total = (await client.ask(call(random.Random(0)))).get("total")
                if total is not None:
                    bench.record.figure(f"directory.{name}.total", total)
        for name, call in asked.items():
            for number in range(bench.rounds):
                done = await closed_loop(server, 1, bench.seconds, lambda _, __, chance, call=call: call(chance))  # type: ignore[misc]
                bench.record.round(f"directory.{name}", "100k", number + 1, done)


def _page(chance: random.Random, route: str, longest: int, *, by: int = _ORDINARY, **body: str) -> Call:
    return _ask(route, by, limit=PAGE, offset=chance.randrange(longest // 2), **body)


def _ask(route: str, by: int, **body: str | int) -> Call:
    given: Body = dict(body)
    return Call(f"/v3/meta/{route}", given, {"x-tdai-user-key": _key(by)})


def _of_team(chance: random.Random) -> int:
    """An agent of the ordinary user's team that the user may see: of each ten of a team, the first seven."""
    return (chance.randrange(AGENTS // TEAMS) // 10 * 10 + chance.randrange(7)) * TEAMS + _USERS_TEAM


def _teams_of(user: int) -> list[int]:
    return list(range(TEAMS)) if user == _EVERYWHERE else [(user + step) % TEAMS for step in (0, 7, 13)]


async def _fill(folder: Path) -> None:
    store = await SqliteStore.open(folder)
    try:
        await store.write(_people)
        for start in range(0, AGENTS, _AT_ONCE):
            await store.write(lambda r, start=start: _agents(r, range(start, start + _AT_ONCE)))  # type: ignore[misc]
        for start in range(0, ASSETS, _AT_ONCE):
            await store.write(lambda r, start=start: _assets(r, range(start, start + _AT_ONCE)))  # type: ignore[misc]
    finally:
        await store.close()


def _people(r: Repositories) -> None:
    r.users.add("default", User("usr-admin", "system_admin", "root", "active", _MADE, _MADE))
    for team in range(TEAMS):
        r.teams.add("default", Team(_team(team), f"team {team}", "", "usr-admin", "active", "null", _MADE, _MADE))
    for user in range(USERS):
        r.users.add("default", User(_user(user), "normal", f"user {user}", "active", _MADE, _MADE))
        for team in _teams_of(user):
            role: MemberRole = "reviewer" if (user + team) % 10 == 0 else "member"
            r.members.put("default", Member(f"m-{team}-{user}", _team(team), _user(user), role, "active", _MADE))
    for user in (_EVERYWHERE, _ORDINARY):
        key = UserKey(f"uky-{user}", _user(user), "sk-mem-****", "default", True, _MADE)
        r.user_keys.add("default", key, digest_of(_key(user)))


def _agents(r: Repositories, numbers: range) -> None:
    for number in numbers:
        visibility = _VISIBILITIES[number // TEAMS % len(_VISIBILITIES)]
        at = _MADE + number
        about = (_agent(number), _team(number % TEAMS), _user(number % USERS), f"agent {number}", "", "You help. " * 20)
        r.agents.add("default", Agent(*about, visibility, "active", "null", at, at))


def _assets(r: Repositories, numbers: range) -> None:
    chance = random.Random(numbers.start)
    for number in numbers:
        team = number % TEAMS
        kind = _KINDS[number // TEAMS % len(_KINDS)]
        at = _MADE + number
        asset = Asset(
            asset_id=_asset(number),
            team_id=_team(team),
            asset_type=kind,
            name=f"asset {number}",
            description="What it is for, in a sentence or two. " * 2,
            owner_user_id=_user(chance.randrange(USERS)),
            source_type="manual",
            source_ref="",
            version=1,
            visibility=chance.choice(_VISIBILITIES),
            status="approved",
            confidence=None,
            expires_at="",
            last_used_at=None,
            usage_count=0,
            content_ref="",
            metadata="null",
            created_at=at,
            updated_at=at,
        )
        r.assets.add("default", asset, None)
        if chance.random() < 0.1:
            subjects: list[tuple[SubjectType, str]] = [
                ("user", _user(chance.randrange(USERS))),
                ("team_role", "reviewer"),
            ]
            effect: GrantEffect = chance.choice(get_args(GrantEffect))
            grant = Grant(f"g-{number}", asset.asset_id, *chance.choice(subjects), "read", effect, "usr-admin", at, at)
            r.assets.grant("default", grant)
        # The tenth that comes first in each team's turn is bound, each to the ten agents after it in that team.
        if number < AGENTS:
            for step in range(BOUND):
                agent = _agent((number + step * TEAMS) % AGENTS)
                binding = Binding(f"b-{number}-{step}", agent, asset.asset_id, kind, "tool", 50, "usr-admin", at)
                r.assets.add_binding("default", binding)


def _team(number: int) -> str:
    return f"team-{number:010}"


def _user(number: int) -> str:
    return f"usr-{number:010}"


def _agent(number: int) -> str:
    return f"agt-{number:010}"


def _asset(number: int) -> str:
    return f"ast-{number:010}"


def _key(user: int) -> str:
    return f"sk-mem-{user:032}"
