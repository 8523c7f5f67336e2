"""What the proxy keeps: who wins a race, what a session is, how a turn gets to the core, what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memstrata.errors import InvalidRequest
from memstrata.records.proxy import (
    MOST_FORM_BYTES,
    Bound,
    DefaultBinding,
    LedgerEntry,
    MainPrompt,
    NewTurn,
    ProxySession,
    ProxySnapshot,
    ProxyTokens,
    ProxyUsage,
    RateKey,
    RateSum,
    ShownMemory,
    Turn,
)
from memstrata.store.protocol import Repositories, Store

SESSION = ProxySession("default", "lin", "claude-code", "s1")
NEIGHBOURS = [replace(SESSION, **{part: "another"}) for part in ("instance", "user", "client", "session")]
BOUND = Bound("bound", "home", "assistant", "task")
ENTRY = LedgerEntry(b"1" * 32, b'{"type":"text"}', (ShownMemory("m_1", "abc"),), 100)
SNAPSHOT = ProxySnapshot("系统块".encode(), "f" * 64, 100)


def turn(name: str) -> NewTurn:
    return NewTurn(name, f"question of {name}", "home", "assistant", "task")


def opened(r: Repositories, name: str, now: int, session: ProxySession = SESSION) -> None:
    r.proxy.ledger.open(session, (), turn(name), now)


def read(r: Repositories, name: str, session: ProxySession = SESSION) -> Turn:
    found = r.proxy.turns.read(session, name)
    assert found is not None
    return found


def fill(r: Repositories) -> None:
    """One of everything of a session."""
    r.proxy.bindings.put(SESSION, BOUND, 0, 100)
    r.proxy.bindings.note_main(SESSION, MainPrompt("t", "s", "f"), 100)
    r.proxy.bindings.put_default("default", "lin", DefaultBinding("home", "assistant"))
    r.proxy.snapshots.put_if_absent(SESSION, SNAPSHOT)
    r.proxy.ledger.open(SESSION, (ENTRY,), turn("t1"), 100)


async def test_a_binding_is_read_as_it_was_put(store: Store) -> None:
    bound = Bound("asking", form=b"\x00opaque", recall_off=True, write_off=True)

    assert await store.write(lambda r: r.proxy.bindings.put(SESSION, bound, 0, 100))

    expected = replace(bound, version=1, created_at=100, touched_at=100)
    assert await store.read(lambda r: r.proxy.bindings.read(SESSION)) == expected


async def test_of_two_that_put_a_binding_over_the_same_version_the_first_wins(store: Store) -> None:
    def race(r: Repositories) -> list[bool]:
        put = r.proxy.bindings.put
        declined = Bound("declined")
        return [put(SESSION, BOUND, 0, 100), put(SESSION, declined, 0, 101), put(SESSION, declined, 1, 102)]

    assert await store.write(race) == [True, False, True]
    found = await store.read(lambda r: r.proxy.bindings.read(SESSION))
    assert found is not None
    assert (found.outcome, found.version) == ("declined", 2)


async def test_a_session_that_only_has_a_ledger_is_bound_to_nothing(store: Store) -> None:
    await store.write(lambda r: r.proxy.ledger.open(SESSION, (ENTRY,), None, 100))

    assert await store.read(lambda r: r.proxy.bindings.read(SESSION)) is None


async def test_what_the_main_request_looked_like_is_kept_without_a_new_version(store: Store) -> None:
    def work(r: Repositories) -> bool:
        r.proxy.bindings.put(SESSION, BOUND, 0, 100)
        r.proxy.bindings.note_main(SESSION, MainPrompt("t", "s", "f"), 200)
        return r.proxy.bindings.put(SESSION, replace(BOUND, task="other"), 1, 300)

    assert await store.write(work)
    found = await store.read(lambda r: r.proxy.bindings.read(SESSION))
    assert found is not None
    assert (found.main, found.task, found.touched_at) == (MainPrompt("t", "s", "f"), "other", 300)


async def test_a_default_binding_is_its_users_alone_and_can_be_taken_back(store: Store) -> None:
    binding = DefaultBinding("home", "assistant", "task")
    await store.write(lambda r: r.proxy.bindings.put_default("default", "lin", DefaultBinding("a", "b")))
    await store.write(lambda r: r.proxy.bindings.put_default("default", "lin", binding))

    def look(r: Repositories) -> list[DefaultBinding | None]:
        default = r.proxy.bindings.default
        return [default("default", "lin"), default("default", "mo"), default("other", "lin")]

    assert await store.read(look) == [binding, None, None]
    await store.write(lambda r: r.proxy.bindings.put_default("default", "lin", None))
    assert (await store.read(look))[0] is None


@pytest.mark.parametrize("part", ["instance", "user", "client", "session"])
def test_a_session_without_one_of_its_parts_cannot_be_named(part: str) -> None:
    with pytest.raises(InvalidRequest, match=part):
        replace(SESSION, **{part: " "})


def test_a_form_is_bounded_and_a_binding_names_an_agent() -> None:
    assert Bound("asking", form=b"x" * MOST_FORM_BYTES).form
    with pytest.raises(InvalidRequest, match="form"):
        Bound("asking", form=b"x" * (MOST_FORM_BYTES + 1))
    with pytest.raises(InvalidRequest, match="agent"):
        Bound("bound", "home")


async def test_the_first_snapshot_of_a_session_holds(store: Store) -> None:
    second = ProxySnapshot(b"another", "0" * 64, 200)

    assert await store.write(lambda r: r.proxy.snapshots.put_if_absent(SESSION, SNAPSHOT)) == SNAPSHOT
    assert await store.write(lambda r: r.proxy.snapshots.put_if_absent(SESSION, second)) == SNAPSHOT
    await store.write(lambda r: r.proxy.snapshots.replace(SESSION, second))
    assert await store.read(lambda r: r.proxy.snapshots.read(SESSION)) == second


async def test_the_first_entry_for_a_message_holds_an_empty_one_too(store: Store) -> None:
    empty = LedgerEntry(b"2" * 32, b"", (), 100)
    later = [replace(one, block=b"later", shown=()) for one in (ENTRY, empty)]

    await store.write(lambda r: r.proxy.ledger.open(SESSION, (ENTRY, empty), None, 100))
    won = await store.write(lambda r: r.proxy.ledger.open(SESSION, later, None, 200))

    assert won == {ENTRY.chain: ENTRY, empty.chain: empty}
    asked = [ENTRY.chain, empty.chain, b"3" * 32]
    assert await store.read(lambda r: r.proxy.ledger.entries(SESSION, asked)) == won


async def test_a_cut_entry_stays_and_is_empty(store: Store) -> None:
    other = LedgerEntry(b"2" * 32, b"other", (ShownMemory("m_2", "x"),), 100)
    await store.write(lambda r: r.proxy.ledger.open(SESSION, (ENTRY, other), None, 100))

    assert await store.write(lambda r: r.proxy.ledger.cut(SESSION, ["m_1", "m_9"])) == 1
    found = await store.read(lambda r: r.proxy.ledger.entries(SESSION, [ENTRY.chain, other.chain]))
    assert found == {ENTRY.chain: LedgerEntry(ENTRY.chain, b"", (), 100), other.chain: other}

    assert await store.write(lambda r: r.proxy.ledger.cut(SESSION, None)) == 1
    again = await store.write(lambda r: r.proxy.ledger.open(SESSION, (ENTRY, other), None, 200))
    assert [entry.block for entry in again.values()] == [b"", b""]


async def test_a_resumed_conversation_finds_the_session_that_shares_most_of_it(store: Store) -> None:
    chains = [bytes([digit]) * 32 for digit in range(4)]
    resumed = replace(SESSION, session="resumed")
    short, long = replace(SESSION, session="short"), replace(SESSION, session="long")

    def fill_both(r: Repositories) -> None:
        for session in (resumed, short, long):
            r.proxy.bindings.put(session, BOUND, 0, 100)
        r.proxy.ledger.open(long, [LedgerEntry(chain, b"long", (), 100) for chain in chains[:3]], None, 100)
        r.proxy.ledger.open(short, [LedgerEntry(chain, b"short", (), 500) for chain in chains[:2]], None, 500)

    await store.write(fill_both)

    found = await store.read(lambda r: r.proxy.ledger.elsewhere(resumed, chains, 0))
    assert {chain: entry.block for chain, entry in found.items()} == dict.fromkeys(chains[:3], b"long")
    young = await store.read(lambda r: r.proxy.ledger.elsewhere(resumed, chains, 300))
    assert {chain: entry.block for chain, entry in young.items()} == dict.fromkeys(chains[:2], b"short")


@pytest.mark.parametrize("part", ["instance", "user", "client", "team", "agent"])
async def test_a_resumed_conversation_finds_nothing_of_others(store: Store, part: str) -> None:
    resumed, bound = replace(SESSION, session="resumed"), BOUND
    if part in ("team", "agent"):
        bound = replace(bound, **{part: "another"})  # type: ignore[arg-type]
    else:
        resumed = replace(resumed, **{part: "another"})
    await store.write(fill)
    await store.write(lambda r: r.proxy.bindings.put(resumed, bound, 0, 100))

    assert await store.read(lambda r: r.proxy.ledger.elsewhere(resumed, [ENTRY.chain], 0)) == {}


async def test_the_same_turn_is_opened_once(store: Store) -> None:
    await store.write(lambda r: opened(r, "t1", 100))
    await store.write(lambda r: r.proxy.turns.close(SESSION, "t1", "answer", 200, complete=True))
    await store.write(lambda r: opened(r, "t1", 300))

    found = await store.read(lambda r: read(r, "t1"))
    assert (found.state, found.question, found.answer, found.complete) == ("ready", "question of t1", "answer", True)
    assert (found.opened_at, found.touched_at, found.due_at) == (100, 200, 200)


async def test_the_next_question_ends_the_turn_before_it(store: Store) -> None:
    await store.write(lambda r: opened(r, "t1", 100))
    await store.write(lambda r: r.proxy.turns.progress(SESSION, "t1", "so far", 150))
    await store.write(lambda r: opened(r, "t2", 200))

    first = await store.read(lambda r: read(r, "t1"))
    assert (first.state, first.answer, first.complete) == ("ready", "so far", False)
    current = await store.read(lambda r: r.proxy.turns.current(SESSION))
    assert current is not None
    assert current.turn_id == "t2"


async def test_a_turn_of_which_no_request_was_accepted_leaves_nothing(store: Store) -> None:
    await store.write(lambda r: opened(r, "t1", 100))
    await store.write(lambda r: opened(r, "t2", 200))
    assert await store.read(lambda r: r.proxy.turns.read(SESSION, "t1")) is None

    assert await store.write(lambda r: r.proxy.turns.close_idle(201, 300)) == 1
    assert await store.read(lambda r: r.proxy.turns.read(SESSION, "t2")) is None


async def test_idle_turns_end_incomplete(store: Store) -> None:
    other = replace(SESSION, session="s2")

    def work(r: Repositories) -> tuple[int | None, int]:
        opened(r, "t1", 100)
        r.proxy.turns.progress(SESSION, "t1", "so far", 150)
        opened(r, "t2", 300, other)
        return r.proxy.turns.oldest_open(), r.proxy.turns.close_idle(200, 400)

    assert await store.write(work) == (150, 1)
    assert await store.read(lambda r: (read(r, "t1").state, read(r, "t2", other).state)) == ("ready", "open")


async def test_turns_of_a_session_are_sent_one_after_the_other(store: Store) -> None:
    other = replace(SESSION, session="s2")

    def work(r: Repositories) -> None:
        for at, (name, session) in enumerate([("t1", SESSION), ("t2", SESSION), ("t3", other)]):
            opened(r, name, at, session)
            r.proxy.turns.close(session, name, "answer", at, complete=True)

    def due(r: Repositories, now: int = 100) -> list[str]:
        return [one.turn_id for one in r.proxy.turns.due(now, 9)]

    await store.write(work)
    assert await store.read(due) == ["t1", "t3"]

    await store.write(lambda r: r.proxy.turns.retry(SESSION, "t1", 500, "the core is away"))
    assert await store.read(due) == ["t3"]
    await store.write(lambda r: r.proxy.turns.deliver(other, "t3"))
    assert await store.read(lambda r: (due(r), r.proxy.turns.next_due(), due(r, 500))) == ([], 500, ["t1"])
    first = await store.read(lambda r: read(r, "t1"))
    assert (first.attempts, first.error) == (1, "the core is away")

    await store.write(lambda r: r.proxy.turns.park(SESSION, "t1", "refused"))
    assert await store.read(due) == ["t2"]
    assert await store.write(lambda r: r.proxy.turns.revive("default", 600)) == 1
    assert await store.read(lambda r: due(r, 600)) == ["t1"]


async def test_a_delivered_turn_holds_no_text_and_is_never_opened_again(store: Store) -> None:
    await store.write(lambda r: opened(r, "t1", 100))
    await store.write(lambda r: r.proxy.turns.close(SESSION, "t1", "answer", 200, complete=True))
    await store.write(lambda r: r.proxy.turns.deliver(SESSION, "t1"))
    await store.write(lambda r: opened(r, "t1", 300))

    found = await store.read(lambda r: read(r, "t1"))
    assert (found.state, found.question, found.answer) == ("delivered", "", "")
    assert await store.read(lambda r: r.proxy.turns.due(999, 9)) == ()


async def test_turns_are_counted_by_state_and_instance(store: Store) -> None:
    foreign = replace(SESSION, instance="other")

    def work(r: Repositories) -> None:
        opened(r, "t1", 100)
        r.proxy.turns.close(SESSION, "t1", "answer", 200, complete=True)
        opened(r, "t2", 300)
        opened(r, "t3", 50, foreign)

    await store.write(work)
    own = await store.read(lambda r: r.proxy.turns.counts("default"))
    assert (own.by_state, own.oldest_ready_at) == ({"ready": 1, "open": 1}, 100)
    assert (await store.read(lambda r: r.proxy.turns.counts())).by_state == {"ready": 1, "open": 2}


@pytest.mark.parametrize("neighbour", NEIGHBOURS, ids=["instance", "user", "client", "session"])
async def test_nothing_of_a_session_is_told_to_or_changed_by_its_neighbour(
    store: Store, neighbour: ProxySession
) -> None:
    def view(r: Repositories) -> tuple[object, ...]:
        proxy = r.proxy
        return (
            proxy.bindings.read(SESSION),
            proxy.snapshots.read(SESSION),
            proxy.ledger.entries(SESSION, [ENTRY.chain]),
            proxy.turns.read(SESSION, "t1"),
        )

    def theirs(r: Repositories) -> list[object]:
        proxy = r.proxy
        found = (proxy.bindings.read(neighbour), proxy.snapshots.read(neighbour), proxy.turns.current(neighbour))
        return [*found, proxy.turns.read(neighbour, "t1"), *proxy.ledger.entries(neighbour, [ENTRY.chain])]

    def change(r: Repositories) -> None:
        r.proxy.bindings.put(neighbour, Bound("declined"), 0, 900)
        r.proxy.snapshots.replace(neighbour, ProxySnapshot(b"theirs", "0" * 64, 900))
        r.proxy.ledger.cut(neighbour, None)
        opened(r, "t2", 900, neighbour)
        r.proxy.turns.close(neighbour, "t1", "theirs", 900, complete=True)
        r.proxy.turns.deliver(neighbour, "t1")
        r.proxy.sessions.touch(neighbour, 900)
        r.proxy.sessions.remove(neighbour)

    await store.write(fill)
    before = await store.read(view)
    assert all(before)
    assert await store.read(theirs) == [None] * 4

    await store.write(change)

    assert await store.read(view) == before


async def test_a_sweep_takes_whole_sessions_and_none_that_owes_a_turn(store: Store) -> None:
    owing, fresh = replace(SESSION, session="owing"), replace(SESSION, session="fresh")

    def work(r: Repositories) -> int:
        fill(r)
        r.proxy.turns.close_idle(1_000, 1_000)
        opened(r, "t2", 100, owing)
        for session in (fresh, owing):
            r.proxy.ledger.open(session, (ENTRY,), None, 100)
        r.proxy.sessions.touch(fresh, 500)
        return r.proxy.sessions.sweep(400, 9)

    assert await store.write(work) == 1

    def left(r: Repositories) -> list[bool]:
        return [bool(r.proxy.ledger.entries(session, [ENTRY.chain])) for session in (SESSION, owing, fresh)]

    assert await store.read(left) == [False, True, True]
    assert await store.read(lambda r: (r.proxy.bindings.read(SESSION), r.proxy.snapshots.read(SESSION))) == (None, None)


async def test_usage_is_summed_by_user_model_and_day(store: Store) -> None:
    used = ProxyTokens(1, 10, 5, 100, 20)

    def work(r: Repositories) -> None:
        for user, day in (("lin", "2026-01-05"), ("lin", "2026-01-05"), ("mo", "2026-01-06"), ("mo", "2026-01-09")):
            r.proxy.usage.add("default", user, "m", day, used)
        r.proxy.usage.add("other", "lin", "m", "2026-01-05", used)

    await store.write(work)
    lines = await store.read(lambda r: r.proxy.usage.lines("default", "2026-01-05", "2026-01-06"))
    assert lines == (
        ProxyUsage("default", "lin", "m", "2026-01-05", ProxyTokens(2, 20, 10, 200, 40)),
        ProxyUsage("default", "mo", "m", "2026-01-06", used),
    )
    assert await store.read(lambda r: r.proxy.usage.lines("default", "2026-01-05", "2026-01-09", "lin")) == lines[:1]


async def test_a_window_holds_what_went_through_after_its_start(store: Store) -> None:
    key = RateKey("default", "key", "m")

    def work(r: Repositories) -> None:
        for second, tokens in ((10, 5), (10, 5), (70, 7)):
            r.proxy.rates.add(key, second * 1000 + 3, 1, tokens)
        r.proxy.rates.add(replace(key, model="other"), 70_000, 1, 1)

    await store.write(work)
    assert await store.read(lambda r: r.proxy.rates.sum(key, 9_999)) == RateSum(3, 17, 10_000)
    assert await store.read(lambda r: r.proxy.rates.sum(key, 10_999)) == RateSum(1, 7, 70_000)
    assert await store.read(lambda r: r.proxy.rates.sum(key, 71_000)) == RateSum()
    assert await store.write(lambda r: r.proxy.rates.prune(60_000)) == 1
    assert await store.read(lambda r: r.proxy.rates.sum(key, 0)) == RateSum(1, 7, 70_000)
