"""Assets with their bindings and grants: kept per instance, paged by age, gone with all that names them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memstrata.records.agents import Agent, Visibility
from memstrata.records.assets import Asset, AssetType, Binding, Grant, GrantEffect, Permission, SubjectType
from memstrata.records.people import Member
from memstrata.store.directory import AssetFilter, DirectoryPage, Window
from memstrata.store.protocol import Repositories, Store

NOW = 1_000


def asset(asset_id: str = "ast-1", *, at: int = 1, kind: AssetType = "skill", visibility: Visibility = "team") -> Asset:
    return Asset(
        asset_id=asset_id,
        team_id="team-1",
        asset_type=kind,
        name="菜谱",
        description="what to cook",
        owner_user_id="lin",
        source_type="manual",
        source_ref="ref",
        version=3,
        visibility=visibility,
        status="approved",
        confidence=0.5,
        expires_at="2030-01-01",
        last_used_at=None,
        usage_count=0,
        content_ref="ref",
        metadata='{"a": 1}',
        created_at=at,
        updated_at=at,
    )


def binding(asset_id: str, agent_id: str = "agt-1", *, at: int = 1, kind: AssetType = "skill") -> Binding:
    return Binding(f"b-{agent_id}-{asset_id}", agent_id, asset_id, kind, "tool", 7, "lin", at)


def grant(
    grant_id: str = "g-1",
    subject: tuple[SubjectType, str] = ("user", "rex"),
    permission: Permission = "read",
    effect: GrantEffect = "allow",
    *,
    at: int = 1,
) -> Grant:
    return Grant(grant_id, "ast-1", *subject, permission, effect, "lin", at, at)


async def keep(store: Store, *assets: Asset, instance: str = "default") -> None:
    def work(r: Repositories) -> None:
        for one in assets:
            r.assets.add(instance, one, None)

    await store.write(work)


def ids(page: DirectoryPage[Asset]) -> tuple[list[str], int]:
    return [one.asset_id for one in page.items], page.total


async def listed(store: Store, where: AssetFilter, window: Window | None = None) -> tuple[list[str], int]:
    return ids(await store.read(lambda r: r.assets.page("default", where, window or Window(), NOW)))


async def test_an_asset_is_read_as_it_was_kept_and_belongs_to_its_instance(store: Store) -> None:
    await keep(store, asset())
    await keep(store, replace(asset(), name="theirs"), instance="other")

    assert await store.read(lambda r: r.assets.get("default", "ast-1")) == asset()
    assert await store.read(lambda r: r.assets.get("third", "ast-1")) is None
    await store.write(lambda r: r.assets.remove("default", "ast-1"))
    assert await store.read(lambda r: r.assets.get("default", "ast-1")) is None
    assert await store.read(lambda r: r.assets.get("other", "ast-1")) == replace(asset(), name="theirs")


async def test_a_change_takes_the_place_of_what_was_there_and_so_does_its_end(store: Store) -> None:
    await keep(store, asset(), asset("ast-2"))
    changed = replace(asset(), name="tea", version=4, visibility="private", status="draft", updated_at=9)
    await store.write(lambda r: r.assets.replace("default", changed, NOW))

    assert await store.read(lambda r: r.assets.get("default", "ast-1")) == changed
    assert await store.read(lambda r: r.assets.get("default", "ast-2")) == asset("ast-2")
    assert await store.read(lambda r: r.assets.reason("default", "ast-1", "lin", "read", None, NOW)) == (
        False,
        "asset_not_available",
    )


async def test_assets_are_paged_from_the_newest_to_the_oldest_each_once(store: Store) -> None:
    await keep(store, *(asset(f"ast-{number:02}", at=number // 2) for number in range(11)))
    newest_first = [f"ast-{number:02}" for number in sorted(range(11), key=lambda n: (n // 2, n), reverse=True)]

    for where in (AssetFilter(None), AssetFilter("lin"), AssetFilter("lin", team_id="team-1")):
        for size in (1, 3, 4, 11, 20):
            pages = [await listed(store, where, Window(size, offset)) for offset in range(0, 12, size)]
            assert [one for page, _ in pages for one in page] == newest_first
            assert {total for _, total in pages} == {11}
        assert await listed(store, where, Window(5, 2**53 - 1)) == ([], 11)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (AssetFilter(None, team_id="team-1", asset_type="llm_wiki"), ["ast-2"]),
        (AssetFilter(None, team_id="team-2"), ["ast-4"]),
        (AssetFilter(None, status="draft"), ["ast-3"]),
        (AssetFilter(None, owner_user_id="rex"), ["ast-4"]),
        (AssetFilter(None, visibilities=("private", "task")), ["ast-3"]),
        (AssetFilter(None, visibilities=()), []),
        (AssetFilter(None, hidden_types=("skill",)), ["ast-2"]),
        (AssetFilter(None, usable=True), ["ast-4", "ast-3", "ast-2", "ast-1"]),
        (AssetFilter("lin", asset_type="skill", hidden_types=("llm_wiki",)), ["ast-3", "ast-1"]),
        (AssetFilter("rex"), ["ast-4"]),
    ],
)
async def test_a_filter_narrows_the_page_and_its_total(store: Store, where: AssetFilter, expected: list[str]) -> None:
    await keep(
        store,
        asset("ast-1", at=1),
        asset("ast-2", at=2, kind="llm_wiki"),
        replace(asset("ast-3", at=3, visibility="private"), status="draft"),
        replace(asset("ast-4", at=4), team_id="team-2", owner_user_id="rex"),
    )
    assert await listed(store, where) == (expected, len(expected))


async def test_use_is_counted_of_the_named_assets_alone(store: Store) -> None:
    await keep(store, asset(), asset("ast-2"))
    await store.write(lambda r: r.assets.touch("default", ["ast-1"], 5))
    await store.write(lambda r: r.assets.touch("default", ["ast-1", "missing"], 6))

    assert await store.read(lambda r: r.assets.get("default", "ast-1")) == replace(
        asset(), usage_count=2, last_used_at=6
    )
    assert await store.read(lambda r: r.assets.get("default", "ast-2")) == asset("ast-2")


async def test_an_asset_takes_its_bindings_and_grants_along(store: Store) -> None:
    def work(r: Repositories) -> None:
        for one in ("ast-1", "ast-2"):
            r.assets.add("default", asset(one), None)
            r.assets.add_binding("default", binding(one))
        r.assets.grant("default", grant())
        assert r.assets.remove("default", "ast-1")
        assert not r.assets.remove("default", "ast-1")

    await store.write(work)
    bindings = await store.read(lambda r: r.assets.bindings("default", "agt-1", Window()))
    assert [one.asset_id for one in bindings.items] == ["ast-2"]
    assert await store.read(lambda r: r.assets.granted("default", "g-1")) is None


async def test_a_list_of_bindings_takes_the_place_of_the_agents_others(store: Store) -> None:
    def work(r: Repositories) -> None:
        for number in range(5):
            r.assets.add("default", asset(f"ast-{number}"), None)
        r.assets.bind("default", "agt-1", [binding(f"ast-{number}", at=number) for number in range(4)])
        r.assets.bind("default", "agt-2", [binding("ast-0", "agt-2")])
        r.assets.bind("default", "agt-1", [binding(f"ast-{number}", at=number) for number in (4, 1, 3)])

    await store.write(work)
    page = await store.read(lambda r: r.assets.bindings("default", "agt-1", Window(2, 1)))
    assert page == DirectoryPage((binding("ast-3", at=3), binding("ast-1", at=1)), 3)
    other = await store.read(lambda r: r.assets.bindings("default", "agt-2", Window()))
    assert other == DirectoryPage((binding("ast-0", "agt-2"),), 1)


async def test_bound_assets_leave_out_what_is_over_hidden_or_not_to_be_read(store: Store) -> None:
    def work(r: Repositories) -> None:
        r.members.put("default", Member("m", "team-1", "rex", "member", "active", 1))
        kinds: dict[str, tuple[AssetType, Visibility, int | None]] = {
            "open": ("skill", "team", None),
            "over": ("skill", "team", NOW),
            "wiki": ("llm_wiki", "team", None),
            "mine": ("skill", "private", None),
        }
        for number, (name, (kind, visibility, end)) in enumerate(kinds.items()):
            r.assets.add("default", asset(name, kind=kind, visibility=visibility), end)
            r.assets.add_binding("default", binding(name, at=number, kind=kind))

    await store.write(work)

    async def bound(viewer: str | None, hidden: tuple[AssetType, ...] = ()) -> tuple[list[str], int]:
        page = await store.read(lambda r: r.assets.bound("default", "agt-1", viewer, Window(2), NOW, hidden))
        return [one.asset_id for _, one in page.items], page.total

    assert await bound(None) == (["mine", "wiki"], 3)
    assert await bound("rex") == (["wiki", "open"], 2)
    assert await bound("rex", ("llm_wiki",)) == (["open"], 1)
    assert await bound("stranger") == ([], 0)


async def test_counts_are_by_kind_and_of_what_the_viewer_may_read(store: Store) -> None:
    def work(r: Repositories) -> None:
        r.members.put("default", Member("m", "team-1", "rex", "member", "active", 1))
        r.agents.add("default", Agent("agt-1", "team-1", "mia", "a", "", "", "team", "active", "null", 1, 1))
        r.assets.add("default", asset("open"), None)
        r.assets.add("default", asset("mine", visibility="private"), None)
        r.assets.add("default", asset("wiki", kind="llm_wiki"), None)
        r.assets.bind("default", "agt-1", [binding("open"), binding("mine"), binding("wiki", kind="llm_wiki")])

    await store.write(work)

    async def counts(viewer: str | None, asset_id: str | None = None) -> object:
        return await store.read(lambda r: r.assets.counts("default", ["agt-1", "agt-2"], asset_id, viewer, NOW))

    assert await counts(None) == {"agt-1": {"skill": 2, "llm_wiki": 1}, "agt-2": {}}
    assert await counts("mia") == {"agt-1": {"skill": 2, "llm_wiki": 1}, "agt-2": {}}
    assert await counts("rex") == {"agt-1": {"skill": 1, "llm_wiki": 1}, "agt-2": {}}
    assert await counts("rex", "wiki") == {"agt-1": {"llm_wiki": 1}, "agt-2": {}}
    assert await counts("rex", "mine") == {"agt-1": {}, "agt-2": {}}


async def test_a_grant_for_the_same_subject_and_permission_is_replaced_and_keeps_its_id(store: Store) -> None:
    def work(r: Repositories) -> tuple[Grant, Grant]:
        r.assets.add("default", asset(), None)
        r.assets.grant("default", grant())
        changed = r.assets.grant("default", grant("g-2", effect="deny", at=5))
        return changed, r.assets.grant("default", grant("g-3", permission="write", at=6))

    changed, other = await store.write(work)
    assert changed == replace(grant(effect="deny"), updated_at=5)
    page = await store.read(lambda r: r.assets.grants("default", "ast-1", Window(1)))
    assert page == DirectoryPage((other,), 2)
    assert await store.read(lambda r: r.assets.granted("default", "g-1")) == changed
    assert await store.read(lambda r: r.assets.granted("other", "g-1")) is None
    assert not await store.write(lambda r: r.assets.revoke("other", "g-1"))
    assert await store.write(lambda r: r.assets.revoke("default", "g-1"))
    assert await store.read(lambda r: r.assets.granted("default", "g-1")) is None


async def test_a_total_follows_every_change_of_what_it_counts(store: Store) -> None:
    def work(r: Repositories) -> list[tuple[int, int]]:
        r.members.put("default", Member("m", "team-1", "rex", "member", "active", 1))
        seen: list[tuple[int, int]] = []

        def look() -> None:
            pages = [
                r.assets.page("default", AssetFilter("rex", team_id=team), Window(), NOW) for team in ("team-1", None)
            ]
            assert pages[0] == pages[1]
            seen.append((len(pages[0].items), pages[0].total))

        for name in ("ast-1", "ast-2", "ast-3"):
            r.assets.add("default", asset(name), None)
        look()
        for change, end in (
            (replace(asset(), visibility="private"), None),
            (replace(asset(), visibility="task"), None),
            (asset(), NOW),
            (asset(), NOW + 1),
            (replace(asset(), status="archived"), NOW + 1),
            (replace(asset(), status="archived"), None),
            (asset(), None),
        ):
            r.assets.replace("default", change, end)
            look()
        r.assets.touch("default", ["ast-1"], NOW)
        r.assets.remove("default", "ast-1")
        look()
        r.assets.add("default", asset(), NOW + 1)
        r.assets.remove("default", "ast-1")
        look()
        return seen

    totals = [3, 2, 3, 2, 3, 2, 2, 3, 2, 2]
    assert await store.write(work) == [(total, total) for total in totals]
