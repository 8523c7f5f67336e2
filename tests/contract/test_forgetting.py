"""Selectors, receipts, expiry and policies in a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast

import pytest

from memstrata.errors import InvalidRequest
from memstrata.records import NewDocument, NewMemory, NewMessage, RunRecord, Scope
from memstrata.records.forgetting import LISTED, Forgetting, ForgettingReceipt, Forgotten, ForgottenCounts
from memstrata.records.policy import EffectivePolicy, Policy
from memstrata.store.protocol import ForgetfulStore, Repositories, Store
from memstrata.store.shapes import MessageFilter

OWN = ("default", "home", "assistant", "lin")


@pytest.fixture
async def filled(
    store: Store,
    scope: Scope,
    new_message: Callable[..., NewMessage],
    new_memory: Callable[..., NewMemory],
    new_document: Callable[..., NewDocument],
) -> None:
    """Of Lin and of Max: two sessions, a memory on a message of each, a scene on both in a profile of their own."""

    def work(r: Repositories) -> None:
        for user in ("lin", "max"):
            who = replace(scope, user=user)
            profile = who.profile("agent_user")
            seqs = []
            for session, at in (("s1", 10), ("s2", 20)):
                said = [new_message(f"{user} {session}", message_id=f"{user}-{session}", said_at=at, recorded_at=at)]
                target = r.conversations.append(who, session, "", said, 0)
                (message,) = r.conversations.undistilled(target, 1)
                memory = new_memory(
                    f"{user} {session}", memory_id=f"m-{user}-{session}", source_seqs=(message.seq,), updated_at=at
                )
                seqs.append(r.memories.add(who, profile, memory).seq)
            r.profiles.write(profile, new_document("both.md", memory_seqs=tuple(seqs)))
            r.profiles.write(profile, new_document("second.md", memory_seqs=(seqs[1],)))
            r.profiles.mark_consumed(profile, seqs)

    await store.write(work)


async def forget(store: Store, what: Forgetting) -> Forgotten:
    """Forget, and see that the dry run had said the same."""
    foreseen = await store.read(lambda r: r.erasure.forget(what, dry_run=True))
    gone = await store.write(lambda r: r.erasure.forget(what))
    assert gone == foreseen
    return gone


async def counts(store: Store, scope: Scope) -> tuple[int, int, int]:
    profile = scope.profile("agent_user")
    return await store.read(
        lambda r: (
            r.conversations.count(scope, MessageFilter()),
            r.memories.size(scope),
            len(r.profiles.documents(profile, "scene")),
        )
    )


@pytest.mark.parametrize(
    ("what", "expected", "left"),
    [
        (Forgetting(*OWN, message_ids=("lin-s1", "max-s1")), ForgottenCounts(1, 1, 1, 1), (1, 1, 1)),
        (Forgetting(*OWN, session_ids=("s2",)), ForgottenCounts(1, 1, 1, 2), (1, 1, 0)),
        (Forgetting(*OWN, memory_ids=("m-lin-s1",)), ForgottenCounts(0, 0, 1, 1), (2, 1, 1)),
        (Forgetting(*OWN, until=10), ForgottenCounts(1, 1, 1, 1), (1, 1, 1)),
        (Forgetting(*OWN, since=11), ForgottenCounts(1, 1, 1, 2), (1, 1, 0)),
        (Forgetting(*OWN, since=21), ForgottenCounts(), (2, 2, 2)),
        (Forgetting(*OWN), ForgottenCounts(2, 2, 2, 2), (0, 0, 0)),
        (Forgetting("default", user="lin"), ForgottenCounts(2, 2, 2, 2), (0, 0, 0)),
    ],
)
@pytest.mark.usefixtures("filled")
async def test_a_selector_takes_what_it_names_with_what_was_built_on_it_and_nothing_of_others(
    store: Store, scope: Scope, what: Forgetting, expected: ForgottenCounts, left: tuple[int, int, int]
) -> None:
    assert (await forget(store, what)).counts == expected
    assert await counts(store, scope) == left
    assert await counts(store, replace(scope, user="max")) == (2, 2, 2)


@pytest.mark.usefixtures("filled")
async def test_an_owner_without_a_user_reaches_all_users(store: Store, scope: Scope) -> None:
    gone = await forget(store, Forgetting("default", "home", "assistant", session_ids=("s1",)))

    assert gone.counts == ForgottenCounts(2, 2, 2, 2)
    assert set(gone.message_ids) == {"lin-s1", "max-s1"}
    assert {profile.user for profile in gone.profiles} == {"lin", "max"}
    assert len(gone.index_keys) == 4
    elsewhere = Forgetting("default", "home", "other", session_ids=("s2",))
    assert (await forget(store, elsewhere)).counts == ForgottenCounts()


async def test_many_ids_are_counted_and_the_first_hundred_listed(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    said = [new_message(message_id=f"m{number:03}") for number in range(LISTED + 1)]
    await store.write(lambda r: r.conversations.append(scope, "s1", "", said, 0))

    gone = await forget(store, Forgetting(*OWN))

    assert gone.counts.messages == LISTED + 1
    assert gone.message_ids == tuple(one.message_id for one in said[:LISTED])


@pytest.mark.usefixtures("filled")
async def test_a_user_who_was_forgotten_and_comes_back_finds_nothing_of_before(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    assert (await counts(store, scope))[0] == 2
    await forget(store, Forgetting("default", user="lin"))
    assert await cast("ForgetfulStore", store).drop_copies()

    await store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message("new")], 0))

    assert await counts(store, scope) == (1, 0, 0)
    assert not await store.read(lambda r: r.memories.buried(scope, "lin s1", 0))


async def test_what_was_noted_of_runs_goes_with_what_they_were_about(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage], new_memory: Callable[..., NewMemory]
) -> None:
    profile = scope.profile("agent")

    def work(r: Repositories) -> None:
        said = [new_message("a", message_id="a"), new_message("b")]
        session = r.conversations.append(scope, "s1", "", said, 0)
        r.conversations.advance(session, 1, 1, "a scene named by a model")
        r.memories.add(scope, profile, new_memory("a", source_seqs=(1,)))
        for kind, target in (("l1", session), ("l2", r.profiles.ensure(profile))):
            r.jobs.record(target, RunRecord(kind, "retry", 1, 1, 0, 0, "model", 1, 2, "it said: a"))  # type: ignore[arg-type]
        r.profiles.request_persona(profile, "because of a")

    await store.write(work)
    await forget(store, Forgetting(*OWN, message_ids=("a",)))

    def noted(r: Repositories) -> tuple[object, ...]:
        session = r.conversations.target(scope, "s1")
        assert session is not None
        runs = [r.jobs.last_run(kind, scope, profile) for kind in ("l1", "l2")]
        state = r.profiles.state(profile)
        assert state is not None
        return (
            [run.error for run in runs if run],
            r.conversations.progress(session, 9).scene_name,
            state.persona_request,
        )

    assert await store.read(noted) == (["", ""], "", "")


@pytest.mark.usefixtures("filled")
async def test_what_is_old_expires_in_portions_and_documents_stay(store: Store, scope: Scope) -> None:
    first = await store.write(lambda r: r.erasure.expire(scope, 21, 1))
    assert (first.counts, first.rows) == (ForgottenCounts(1, 1, 1), 2)
    assert await counts(store, scope) == (1, 1, 2)

    assert (await store.write(lambda r: r.erasure.expire(scope, 20, 9))).rows == 0
    await store.write(lambda r: r.erasure.expire(scope, 21, 9))
    assert await counts(store, scope) == (0, 0, 2)
    assert await counts(store, replace(scope, user="max")) == (2, 2, 2)
    assert (await store.write(lambda r: r.erasure.expire(replace(scope, user="nobody"), 99, 9))).rows == 0


async def test_a_memory_that_nobody_said_expires_by_its_own_age(
    store: Store, scope: Scope, new_memory: Callable[..., NewMemory]
) -> None:
    def work(r: Repositories) -> None:
        for at in (10, 20):
            r.memories.add(scope, scope.profile("agent"), new_memory(f"by hand {at}", updated_at=at))

    await store.write(work)

    assert (await store.write(lambda r: r.erasure.expire(scope, 20, 9))).counts == ForgottenCounts(memories=1)
    assert await store.read(lambda r: r.memories.size(scope)) == 1


async def test_merging_terms_comes_to_an_end_and_finds_what_is_left(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    for number in range(9):
        said = [new_message(f"plum {number}", message_id=f"a{number}")]
        await store.write(lambda r, said=said: r.conversations.append(scope, "s1", "", said, 0))  # type: ignore[misc]
    await store.write(lambda r: r.erasure.messages(scope, ["a1", "a2"], [], None))

    steps = 0
    begins = True
    while await store.write(lambda r: r.erasure.merge_terms(begins=begins)):  # noqa: B023 (called at once)
        begins, steps = False, steps + 1
        assert steps < 100

    assert len(await store.read(lambda r: r.conversations.match(scope, ["plum"], MessageFilter(), 99))) == 7


async def test_receipts_are_kept_by_instance_until_they_are_complete(store: Store) -> None:
    receipt = ForgettingReceipt(
        "fgt-1", "default", {"user_sha256": "a"}, ForgottenCounts(1), "gateway", 5, complete=False
    )
    await store.write(lambda r: r.forgettings.add(receipt))

    assert await store.read(lambda r: r.forgettings.one("default", "fgt-1")) == receipt
    assert await store.read(lambda r: r.forgettings.one("other", "fgt-1")) is None
    assert await store.read(lambda r: r.forgettings.unfinished()) == ("fgt-1",)
    await store.write(lambda r: r.forgettings.complete(["fgt-1"]))
    assert await store.read(lambda r: r.forgettings.unfinished()) == ()
    assert await store.read(lambda r: r.forgettings.one("default", "fgt-1")) == replace(receipt, complete=True)


async def test_each_rule_is_that_of_the_narrowest_policy_that_has_it(store: Store) -> None:
    rules = [
        Policy("default", redact_secrets=True, retention_days=365),
        Policy("default", "home", retention_days=180),
        Policy("default", "home", "assistant", redact_secrets=False),
        Policy("default", user="lin", retention_days=0),
        Policy("other", retention_days=1),
    ]
    for rule in rules:
        await store.write(lambda r, rule=rule: r.policies.put(rule))  # type: ignore[misc]

    async def effective(*part: str) -> EffectivePolicy:
        return await store.read(lambda r: r.policies.effective(*part))

    assert await effective(*OWN) == EffectivePolicy(redact_secrets=False, retention_days=0)
    assert await effective("default", "home", "assistant", "max") == EffectivePolicy(False, 180)
    assert await effective("default", "away", "assistant", "max") == EffectivePolicy(True, 365)
    assert await effective("nowhere", "home", "assistant", "lin") == EffectivePolicy()
    assert await store.read(lambda r: r.policies.one("default", "home", "", "")) == rules[1]
    items, total = await store.read(lambda r: r.policies.page("default", 2, 1))
    assert (items, total) == ((rules[3], rules[1]), 4)

    await store.write(lambda r: r.policies.put(Policy("default", user="lin")))
    assert await effective(*OWN) == EffectivePolicy(redact_secrets=False, retention_days=180)


@pytest.mark.usefixtures("filled")
async def test_only_scopes_with_days_and_rows_are_looked_at(store: Store, scope: Scope) -> None:
    async def retained(days: int) -> tuple[tuple[Scope, int], ...]:
        return await store.read(lambda r: r.policies.retained(days))

    assert await retained(0) == ()
    await store.write(lambda r: r.policies.put(Policy("default", user="lin", retention_days=7)))
    assert await retained(0) == ((scope, 7),)
    assert dict(await retained(30)) == {scope: 7, replace(scope, user="max"): 30}
    await store.write(lambda r: r.policies.put(Policy("default", user="lin", retention_days=0)))
    assert dict(await retained(30)) == {replace(scope, user="max"): 30}


def test_days_out_of_range_and_names_that_are_none_are_refused() -> None:
    for wrong in ({"retention_days": -1}, {"retention_days": 36_501}, {"team": " "}, {"user": "\ud800"}):
        with pytest.raises(InvalidRequest):
            Policy("default", **wrong)
