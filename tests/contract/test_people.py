"""Users, keys, teams, members and what users set: kept per instance, paged newest first, removed with what hangs on them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memstrata.ids import relation_id
from memstrata.records.people import Member, Team, User, UserKey
from memstrata.store.directory import UserFilter, Window
from memstrata.store.protocol import Repositories, Store

ALL = Window(limit=100)


def user(user_id: str = "usr-lin", *, at: int = 100, **given: Any) -> User:
    usual = {"user_type": "normal", "username": user_id.removeprefix("usr-"), "status": "active"}
    return User(user_id=user_id, created_at=at, updated_at=at, **{**usual, **given})


def key(key_id: str = "uky-1", user_id: str = "usr-lin", *, at: int = 100, **given: Any) -> UserKey:
    usual = {"mask": "sk-mem-****abcd", "name": "laptop", "is_default": False}
    return UserKey(key_id=key_id, user_id=user_id, created_at=at, **{**usual, **given})


def team(team_id: str = "team-1", *, at: int = 100, **given: Any) -> Team:
    usual = {"name": "kitchen", "description": "", "owner_user_id": "usr-lin", "status": "active", "metadata": "{}"}
    return Team(team_id=team_id, created_at=at, updated_at=at, **{**usual, **given})


def member(user_id: str = "usr-lin", team_id: str = "team-1", *, at: int = 100, **given: Any) -> Member:
    usual = {"member_id": f"m-{team_id}-{user_id}", "role": "member", "status": "active"}
    return Member(team_id=team_id, user_id=user_id, joined_at=at, **{**usual, **given})


async def add(store: Store, *rows: User | Team | Member, instance: str = "default") -> None:
    def work(r: Repositories) -> None:
        for row in rows:
            match row:
                case User():
                    r.users.add(instance, row)
                case Team():
                    r.teams.add(instance, row)
                case Member():
                    r.members.put(instance, row)

    await store.write(work)


async def add_keys(store: Store, *keys: UserKey, instance: str = "default") -> None:
    def work(r: Repositories) -> None:
        for one in keys:
            r.user_keys.add(instance, one, one.key_id.encode())

    await store.write(work)


async def test_a_user_is_read_as_it_was_kept_and_belongs_to_its_instance(store: Store) -> None:
    await add(store, user(username="林\0 小姐"))
    await add(store, user(username="another"), instance="other")

    assert await store.read(lambda r: r.users.get("default", "usr-lin")) == user(username="林\0 小姐")
    assert await store.read(lambda r: r.users.get("other", "usr-lin")) == user(username="another")
    assert await store.read(lambda r: r.users.get("third", "usr-lin")) is None
    assert await store.read(lambda r: (r.users.count("default"), r.users.count("third"))) == (1, 0)


async def test_users_are_paged_newest_first_and_counted_as_they_are_narrowed(store: Store) -> None:
    await add(
        store,
        user("usr-a", at=1, user_type="system_admin"),
        user("usr-b", at=2, status="inactive"),
        user("usr-c", at=3),
        user("usr-d", at=3, username="b"),
        member("usr-b"),
        member("usr-c", status="removed"),
        member("usr-d", "team-2"),
    )

    async def ids(where: UserFilter, window: Window = ALL) -> tuple[list[str], int]:
        page = await store.read(lambda r: r.users.page("default", where, window))
        return [one.user_id for one in page.items], page.total

    assert await ids(UserFilter()) == (["usr-d", "usr-c", "usr-b", "usr-a"], 4)
    assert await ids(UserFilter(), Window(2, 1)) == (["usr-c", "usr-b"], 4)
    assert await ids(UserFilter(), Window(2, 9)) == ([], 4)
    assert await ids(UserFilter(team_id="team-1")) == (["usr-b"], 1)
    assert await ids(UserFilter(user_ids=("usr-c", "usr-a", "usr-x"))) == (["usr-c", "usr-a"], 2)
    assert await ids(UserFilter(user_ids=())) == ([], 0)
    assert await ids(UserFilter(username="b")) == (["usr-d", "usr-b"], 2)
    assert await ids(UserFilter(username="b", status="active")) == (["usr-d"], 1)
    assert await ids(UserFilter(user_type="system_admin")) == (["usr-a"], 1)


async def test_a_removed_user_takes_keys_memberships_settings_and_grants_along(store: Store) -> None:
    await add(store, user(), user("usr-rex"), team(), member(), member("usr-rex"))
    await add_keys(store, key(), key("uky-2", "usr-rex"))
    await store.write(lambda r: r.params.put("default", "usr-lin", "asset_type", {"skill.enabled": "0"}))

    assert await store.write(lambda r: r.users.remove("default", "usr-lin"))

    assert not await store.write(lambda r: r.users.remove("default", "usr-lin"))
    assert await store.read(lambda r: r.user_keys.get("default", "uky-1")) is None
    assert await store.read(lambda r: r.members.get("default", "team-1", "usr-lin")) is None
    assert await store.read(lambda r: r.params.of("default", "usr-lin", "asset_type")) == {}
    assert await store.read(lambda r: r.teams.get("default", "team-1")) == team()
    assert await store.read(lambda r: r.user_keys.get("default", "uky-2")) == key("uky-2", "usr-rex")
    assert await store.read(lambda r: r.members.get("default", "team-1", "usr-rex")) is not None


async def test_a_key_is_found_by_its_hash_with_its_owner(store: Store) -> None:
    await add(store, user())
    await add(store, user(), instance="other")
    await add_keys(store, key(expires_at=500))

    assert await store.read(lambda r: r.user_keys.owner("default", b"uky-1")) == (key(expires_at=500), user())
    assert await store.read(lambda r: r.user_keys.owner("default", b"uky-2")) is None
    assert await store.read(lambda r: r.user_keys.owner("other", b"uky-1")) is None


async def test_keys_are_changed_used_paged_and_counted_while_they_hold(store: Store) -> None:
    await add_keys(store, key(at=1), key("uky-2", at=2, expires_at=500), key("uky-3", "usr-rex"))
    changed = replace(key(at=1), name="desk", expires_at=600, is_default=True)
    await store.write(lambda r: r.user_keys.replace("default", changed))
    await store.write(lambda r: r.user_keys.used("default", "uky-1", 400))

    page = await store.read(lambda r: r.user_keys.page("default", "usr-lin", ALL))
    assert page.items == (key("uky-2", at=2, expires_at=500), replace(changed, last_used_at=400))
    assert page.total == 2
    window = await store.read(lambda r: r.user_keys.page("default", "usr-lin", Window(1, 1)))
    assert ([one.key_id for one in window.items], window.total) == (["uky-1"], 2)

    def counts_at(r: Repositories) -> list[int]:
        return [r.user_keys.active("default", "usr-lin", at) for at in (499, 500, 600)]

    counts = await store.read(counts_at)
    assert counts == [2, 1, 0]


async def test_when_the_default_key_goes_the_newest_one_becomes_it(store: Store) -> None:
    await add_keys(store, key(at=1, is_default=True), key("uky-2", at=2), key("uky-3", at=3), key("uky-4", "usr-rex"))

    assert await store.write(lambda r: r.user_keys.remove("default", "uky-1"))
    assert not await store.write(lambda r: r.user_keys.remove("default", "uky-1"))

    page = await store.read(lambda r: r.user_keys.page("default", "usr-lin", ALL))
    assert [(one.key_id, one.is_default) for one in page.items] == [("uky-3", True), ("uky-2", False)]
    other = await store.read(lambda r: r.user_keys.get("default", "uky-4"))
    assert other is not None
    assert not other.is_default


async def test_a_team_is_read_and_changed_as_it_was_kept(store: Store) -> None:
    await add(store, team(metadata='{"b": 1.50, "a": "厨房"}'))
    changed = replace(team(), name="food", description="d", status="archived", metadata="null", updated_at=200)

    kept = await store.read(lambda r: r.teams.get("default", "team-1"))
    assert kept == team(metadata='{"b": 1.50, "a": "厨房"}')
    await store.write(lambda r: r.teams.replace("default", changed))
    await store.write(lambda r: r.teams.replace("other", replace(changed, name="not here")))
    assert await store.read(lambda r: r.teams.get("default", "team-1")) == changed
    assert await store.read(lambda r: (r.teams.count("default"), r.teams.count("other"))) == (1, 0)


async def test_teams_are_paged_for_their_active_members(store: Store) -> None:
    await add(store, team("team-1", at=1), team("team-2", at=2, name="office"), team("team-3", at=3), team("team-4"))
    await add(store, member(team_id="team-1"), member(team_id="team-2"), member(team_id="team-3", status="removed"))
    await add(store, member("usr-rex", "team-4"))

    async def ids(name: str | None = None, window: Window = ALL) -> tuple[list[str], int]:
        page = await store.read(lambda r: r.teams.page("default", "usr-lin", name, window))
        return [one.team_id for one in page.items], page.total

    assert await ids() == (["team-2", "team-1"], 2)
    assert await ids(window=Window(1, 1)) == (["team-1"], 2)
    assert await ids("office") == (["team-2"], 1)


async def test_a_removed_team_takes_its_members_along_and_no_other_team(store: Store) -> None:
    await add(store, team(), team("team-2"), member(), member(team_id="team-2"))
    await add(store, team(), member(), instance="other")

    assert await store.write(lambda r: r.teams.remove("default", "team-1"))

    assert not await store.write(lambda r: r.teams.remove("default", "team-1"))
    assert await store.read(lambda r: r.members.get("default", "team-1", "usr-lin")) is None
    assert await store.read(lambda r: r.members.get("default", "team-2", "usr-lin")) is not None
    assert await store.read(lambda r: r.members.get("other", "team-1", "usr-lin")) is not None


async def test_a_member_is_listed_with_a_name_and_keeps_id_and_time_when_the_role_changes(store: Store) -> None:
    await add(store, user(), member(at=1), member("usr-gone", at=2))
    await add(store, replace(member(at=9), member_id=relation_id(), role="admin", status="removed"))

    page = await store.read(lambda r: r.members.page("default", "team-1", ALL))

    assert page.items == (
        member("usr-gone", at=2),
        replace(member(at=1), role="admin", status="removed", username="lin"),
    )
    assert page.total == 2
    window = await store.read(lambda r: r.members.page("default", "team-1", Window(1, 1)))
    assert [one.user_id for one in window.items] == ["usr-lin"]
    assert await store.write(lambda r: r.members.remove("default", "team-1", "usr-lin"))
    assert not await store.write(lambda r: r.members.remove("default", "team-1", "usr-lin"))


async def test_what_a_user_sets_takes_the_place_of_what_was_set_in_that_module(store: Store) -> None:
    await store.write(lambda r: r.params.put("default", "usr-lin", "asset_type", {"a": "1", "b": "1"}))
    await store.write(lambda r: r.params.put("default", "usr-lin", "asset_type", {"a": "0"}))
    await store.write(lambda r: r.params.put("default", "usr-rex", "asset_type", {"a": "1"}))

    assert await store.read(lambda r: r.params.of("default", "usr-lin", "asset_type")) == {"a": "0", "b": "1"}
    assert await store.read(lambda r: r.params.of("default", "usr-lin", "quota")) == {}
    assert await store.read(lambda r: r.params.of("other", "usr-lin", "asset_type")) == {}
