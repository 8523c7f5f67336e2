"""Invariant 10 at the proxy: what it copied of memory goes with it, and nothing takes its place in a message that went out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from memstrata.records import NewDocument, NewMemory, NewMessage, Scope
from memstrata.records.forgetting import Forgetting
from memstrata.records.proxy import (
    Bound,
    DefaultBinding,
    LedgerEntry,
    NewTurn,
    ProxySession,
    ProxySnapshot,
    ProxyTokens,
    ShownMemory,
)
from memstrata.store.protocol import Repositories, Store

PLUM, KIWI = b"p" * 32, b"k" * 32


@dataclass(frozen=True)
class Left:
    """What is left of a session: its binding, the chains of entries that still hold something, all entries, and so on."""

    bound: bool
    full: frozenset[bytes]
    entries: frozenset[bytes]
    snapshot: bool
    turn: bool


ALL = Left(bound=True, full=frozenset({PLUM, KIWI}), entries=frozenset({PLUM, KIWI}), snapshot=True, turn=True)


def session_of(scope: Scope, name: str = "s1") -> ProxySession:
    return ProxySession(scope.instance, scope.user, "claude-code", name)


def left(r: Repositories, session: ProxySession) -> Left:
    entries = r.proxy.ledger.entries(session, [PLUM, KIWI])
    return Left(
        r.proxy.bindings.read(session) is not None,
        frozenset(chain for chain, entry in entries.items() if entry.block and entry.shown),
        frozenset(entries),
        r.proxy.snapshots.read(session) is not None,
        r.proxy.turns.read(session, "t1") is not None,
    )


def proxied(r: Repositories, scope: Scope, name: str = "s1") -> None:
    session = session_of(scope, name)
    r.proxy.bindings.put(session, Bound("bound", scope.team, scope.agent), 0, 100)
    r.proxy.snapshots.put_if_absent(session, ProxySnapshot(b"block", "0", 100))
    shown = ((PLUM, "m_plum"), (KIWI, "m_kiwi"))
    entries = [LedgerEntry(chain, b"block", (ShownMemory(memory, ""),), 100) for chain, memory in shown]
    r.proxy.ledger.open(session, entries, NewTurn("t1", "question", scope.team, scope.agent), 100)
    r.proxy.turns.close(session, "t1", "answer", 100, complete=True)


@pytest.fixture
async def others(scope: Scope) -> tuple[Scope, ...]:
    return tuple(replace(scope, **{part: "another"}) for part in ("instance", "user"))


@pytest.fixture
async def filled(
    store: Store,
    scope: Scope,
    others: tuple[Scope, ...],
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> Store:
    """Two memories with a message each, a scene on one of them; the proxy shows all of it, and as much to others."""

    def work(r: Repositories) -> None:
        profile = scope.profile("agent_user")
        sent = [new_message(word, message_id=name, said_at=50) for word, name in (("plum", "a"), ("kiwi", "b"))]
        r.conversations.append(scope, "s1", "", sent, 100)
        seqs = r.conversations.by_id(scope, "s1", ["a", "b"])
        for name, message in (("plum", "a"), ("kiwi", "b")):
            memory = new_memory(name, memory_id=f"m_{name}", source_seqs=(seqs[message].seq,))
            row = r.memories.add(scope, profile, memory)
            if name == "plum":
                r.profiles.write(profile, new_document(memory_seqs=(row.seq,)))
        for one in (scope, *others):
            proxied(r, one)

    await store.write(work)
    return store


async def test_an_entry_that_shows_an_erased_memory_is_emptied_and_stays(
    filled: Store, scope: Scope, others: tuple[Scope, ...]
) -> None:
    await filled.write(lambda r: r.erasure.memories(scope, ["m_kiwi"], None))

    assert await filled.read(lambda r: left(r, session_of(scope))) == replace(ALL, full=frozenset({PLUM}))
    for other in others:
        assert await filled.read(lambda r, other=other: left(r, session_of(other))) == ALL  # type: ignore[misc]


async def test_a_system_block_goes_when_a_scene_of_its_agent_is_erased(filled: Store, scope: Scope) -> None:
    await filled.write(lambda r: r.erasure.messages(scope, ["a"], [], None))

    assert await filled.read(lambda r: left(r, session_of(scope))) == replace(
        ALL, full=frozenset({KIWI}), snapshot=False
    )


async def test_what_another_agent_of_the_team_shows_of_it_goes_too(filled: Store, scope: Scope) -> None:
    lent = replace(scope, agent="borrower")
    await filled.write(lambda r: proxied(r, lent, "s2"))

    await filled.write(lambda r: r.erasure.memories(scope, ["m_plum"], None))

    assert await filled.read(lambda r: left(r, session_of(lent, "s2"))) == replace(
        ALL, full=frozenset({KIWI}), snapshot=False
    )


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"memory_ids": ("m_kiwi",)}, {"full": frozenset({PLUM})}),
        ({"since": 101}, {}),
        ({"since": 100, "until": 100}, {"turn": False}),
    ],
    ids=["memory", "later", "time"],
)
async def test_parts_are_forgotten_at_the_proxy_too(
    filled: Store, scope: Scope, selector: dict[str, Any], expected: dict[str, Any]
) -> None:
    what = Forgetting(scope.instance, scope.team, scope.agent, scope.user, **selector)
    await filled.write(lambda r: r.erasure.forget(what))

    assert await filled.read(lambda r: left(r, session_of(scope))) == replace(ALL, **expected)


NOTHING = Left(bound=False, full=frozenset(), entries=frozenset(), snapshot=False, turn=False)


@pytest.mark.parametrize("selector", [{"session_ids": ("s1",)}, {}], ids=["session", "user"])
async def test_a_forgotten_session_or_user_leaves_no_session_at_the_proxy(
    filled: Store, scope: Scope, others: tuple[Scope, ...], selector: dict[str, Any]
) -> None:
    await filled.write(lambda r: r.erasure.forget(Forgetting(scope.instance, user=scope.user, **selector)))

    assert await filled.read(lambda r: left(r, session_of(scope))) == NOTHING
    for other in others:
        assert await filled.read(lambda r, other=other: left(r, session_of(other))) == ALL  # type: ignore[misc]


async def test_a_dry_run_takes_nothing_at_the_proxy(filled: Store, scope: Scope) -> None:
    await filled.write(lambda r: r.erasure.forget(Forgetting(scope.instance, user=scope.user), dry_run=True))

    assert await filled.read(lambda r: left(r, session_of(scope))) == ALL


async def test_clearing_an_agent_empties_its_sessions_and_leaves_them_bound(filled: Store, scope: Scope) -> None:
    await filled.write(lambda r: r.erasure.agent(scope.instance, scope.team, scope.agent))

    assert await filled.read(lambda r: left(r, session_of(scope))) == replace(NOTHING, bound=True)


async def test_deleted_messages_do_not_come_back_from_a_turn_that_waits(filled: Store, scope: Scope) -> None:
    await filled.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))

    assert not (await filled.read(lambda r: left(r, session_of(scope)))).turn


async def test_a_turn_is_kept_no_longer_than_messages_are(filled: Store, scope: Scope) -> None:
    await filled.write(lambda r: r.erasure.expire(scope, 100, 9))
    assert (await filled.read(lambda r: left(r, session_of(scope)))).turn

    await filled.write(lambda r: r.erasure.expire(scope, 101, 9))
    assert not (await filled.read(lambda r: left(r, session_of(scope)))).turn


async def test_what_a_forgotten_user_cost_stays_under_nobody(filled: Store, scope: Scope) -> None:
    def work(r: Repositories) -> None:
        for user in (scope.user, "", "mo"):
            r.proxy.usage.add(scope.instance, user, "m", "2026-01-05", ProxyTokens(1, 10))
        r.proxy.bindings.put_default(scope.instance, scope.user, DefaultBinding("home", "assistant"))
        r.erasure.forget(Forgetting(scope.instance, user=scope.user))

    await filled.write(work)

    lines = await filled.read(lambda r: r.proxy.usage.lines(scope.instance, "2026-01-05", "2026-01-05"))
    assert [(line.user, line.tokens) for line in lines] == [("", ProxyTokens(2, 20)), ("mo", ProxyTokens(1, 10))]
    assert await filled.read(lambda r: r.proxy.bindings.default(scope.instance, scope.user)) is None


async def test_what_is_overwritten_for_a_secret_is_overwritten_at_the_proxy(filled: Store, scope: Scope) -> None:
    def work(r: Repositories) -> None:
        for layer in ("memory", "document"):
            for row in r.texts.page(layer, 0, 9):
                if row.record_id != "m_kiwi":
                    r.texts.overwrite(row, ["hidden", *row.texts[1:]], ["hidden"])

    await filled.write(work)

    found = await filled.read(lambda r: left(r, session_of(scope)))
    assert found == replace(ALL, full=frozenset({KIWI}), snapshot=False)
