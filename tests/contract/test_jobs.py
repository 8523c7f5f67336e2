"""Durable timers: who may do what, and until when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from memstrata.errors import LeaseLost
from memstrata.records import (
    Job,
    JobKind,
    LayerLoad,
    Lease,
    NewMemory,
    NewMessage,
    ProfileTarget,
    PromptRef,
    Provenance,
    RunOutput,
    RunRecord,
    Scope,
    SessionTarget,
    Target,
    Usage,
)
from memstrata.store.protocol import Repositories, Store


@pytest.fixture
async def session(store: Store, scope: Scope, new_message: Callable[..., NewMessage]) -> SessionTarget:
    return await store.write(lambda r: r.conversations.append(scope, "s1", "", [new_message()], 0))


@pytest.fixture
async def profile(store: Store, scope: Scope) -> ProfileTarget:
    return await store.write(lambda r: r.profiles.ensure(scope.profile("agent")))


async def jobs(store: Store, scope: Scope) -> list[Job]:
    return list(await store.read(lambda r: r.jobs.of(scope, scope.profile("agent"))))


async def claim(store: Store, now: int, *, worker: str = "w", length: int = 60, limit: int = 9) -> tuple[Lease, ...]:
    return await store.write(lambda r: r.jobs.claim(worker, now, now + length, limit))


async def arm(store: Store, session: SessionTarget, due: int, *, only_earlier: bool = False) -> None:
    await store.write(lambda r: r.jobs.arm("l1", session, due, only_earlier=only_earlier))


async def record(store: Store, target: Target, run: RunRecord) -> None:
    await store.write(lambda r: r.jobs.record(target, run))


async def test_a_target_has_one_job_of_a_kind_and_arming_it_again_moves_it(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    for due in (100, 300, 200):
        await arm(store, session, due)

    assert await jobs(store, scope) == [Job("l1", session, "waiting", 200, 0, "")]


async def test_arming_only_earlier_never_puts_a_job_off(store: Store, scope: Scope, session: SessionTarget) -> None:
    for due in (200, 300, 100, 150):
        await arm(store, session, due, only_earlier=True)

    assert [job.due_at for job in await jobs(store, scope)] == [100]


async def test_only_due_jobs_are_claimed_the_longest_due_first(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    def work(r: Repositories) -> None:
        for name, due in (("a", 300), ("b", 100), ("c", 200), ("d", 999)):
            r.jobs.arm("l1", r.conversations.append(scope, name, "", [new_message()], 0), due)

    await store.write(work)

    assert await claim(store, 99) == ()
    first = await claim(store, 300, limit=2)
    second = await claim(store, 300, limit=9)
    names = [{lease.target.session_id for lease in some} for some in (first, second)]  # type: ignore[union-attr]
    assert names == [{"b", "c"}, {"a"}]


async def test_a_claimed_job_is_nobody_elses_until_its_lease_is_over(store: Store, session: SessionTarget) -> None:
    await arm(store, session, 100)

    (lease,) = await claim(store, 100, worker="one", length=60)
    assert (lease.kind, lease.target, lease.attempt, lease.expires_at) == ("l1", session, 1, 160)
    assert await claim(store, 159, worker="two") == ()

    (taken,) = await claim(store, 160, worker="two")
    assert (taken.job_id, taken.attempt) == (lease.job_id, 2)
    assert taken.fence > lease.fence


async def test_who_lost_a_lease_can_neither_commit_nor_end_the_job(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    """The fencing token: every commit of a job proves first that the job is still its own."""
    await arm(store, session, 100)
    (old,) = await claim(store, 100)
    (new,) = await claim(store, 200)

    with pytest.raises(LeaseLost):
        await store.write(lambda r: r.jobs.hold(old))
    await store.write(lambda r: r.jobs.finish(old, None))
    await store.write(lambda r: r.jobs.finish(old, 999))
    await store.write(lambda r: r.jobs.fail(old, 999, "old"))
    await store.write(lambda r: r.jobs.defer(old, 999, "old"))
    await store.write(lambda r: r.jobs.bury(old, "old"))
    assert await store.write(lambda r: r.jobs.renew(old, 999)) is False

    assert await jobs(store, scope) == [Job("l1", session, "running", 100, 2, "")]
    await store.write(lambda r: r.jobs.hold(new))


async def test_a_renewed_lease_lasts_longer(store: Store, session: SessionTarget) -> None:
    await arm(store, session, 100)
    (lease,) = await claim(store, 100, length=60)

    assert await store.write(lambda r: r.jobs.renew(lease, 500)) is True

    assert await claim(store, 499) == ()
    await store.write(lambda r: r.jobs.hold(lease))
    assert len(await claim(store, 500)) == 1


async def test_a_lease_ends_with_its_job(store: Store, scope: Scope, session: SessionTarget) -> None:
    await arm(store, session, 100)
    (lease,) = await claim(store, 100)
    await store.write(lambda r: r.jobs.finish(lease, None))

    assert await jobs(store, scope) == []
    with pytest.raises(LeaseLost):
        await store.write(lambda r: r.jobs.hold(lease))
    await arm(store, session, 100)
    with pytest.raises(LeaseLost):
        await store.write(lambda r: r.jobs.hold(lease))


async def test_a_finished_job_that_is_due_again_starts_with_a_clean_record(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await arm(store, session, 100)
    (lease,) = await claim(store, 100)
    await store.write(lambda r: r.jobs.fail(lease, 200, "no answer"))
    assert await jobs(store, scope) == [Job("l1", session, "waiting", 200, 1, "no answer")]
    (lease,) = await claim(store, 200)
    assert lease.attempt == 2

    await store.write(lambda r: r.jobs.finish(lease, 700))

    assert await jobs(store, scope) == [Job("l1", session, "waiting", 700, 0, "")]


async def test_new_input_does_not_cut_the_backoff_of_a_failed_job_short(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await arm(store, session, 100)
    (lease,) = await claim(store, 100)
    await store.write(lambda r: r.jobs.fail(lease, 500, "no answer"))

    await arm(store, session, 110)
    await arm(store, session, 120, only_earlier=True)

    assert [job.due_at for job in await jobs(store, scope)] == [500]


async def test_a_buried_job_is_seen_never_claimed_and_works_again_once_revived(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await arm(store, session, 100)
    (lease,) = await claim(store, 100)
    await store.write(lambda r: r.jobs.bury(lease, "cannot be read"))

    assert [(job.state, job.last_error) for job in await jobs(store, scope)] == [("dead", "cannot be read")]
    assert await claim(store, 10_000) == ()
    assert await store.read(lambda r: r.jobs.next_due(0)) is None

    revive = lambda r: r.jobs.revive(scope, scope.profile("agent"), 300)  # noqa: E731
    assert await store.write(revive) == 1
    assert await store.write(revive) == 0
    (again,) = await claim(store, 300)
    assert again.attempt == 1


async def test_two_jobs_of_one_profile_never_run_at_the_same_time(
    store: Store, profile: ProfileTarget, session: SessionTarget
) -> None:
    def work(r: Repositories) -> None:
        r.jobs.arm("l3", profile, 90)
        r.jobs.arm("l2", profile, 100)
        r.jobs.arm("l1", session, 100)

    await store.write(work)

    first = await claim(store, 100)
    assert sorted(lease.kind for lease in first) in (["l1", "l2"], ["l1", "l3"])
    assert await claim(store, 101) == ()
    (of_profile,) = [lease for lease in first if lease.kind != "l1"]
    await store.write(lambda r: r.jobs.finish(of_profile, None))
    (second,) = await claim(store, 102)
    assert {of_profile.kind, second.kind} == {"l2", "l3"}


async def test_the_next_due_time_is_that_of_free_work_or_of_a_lease_that_ends(
    store: Store, profile: ProfileTarget, session: SessionTarget
) -> None:
    async def next_due(now: int) -> int | None:
        return await store.read(lambda r: r.jobs.next_due(now))

    assert await next_due(0) is None
    await store.write(lambda r: r.jobs.arm("l2", profile, 100))
    await arm(store, session, 400)
    assert await next_due(0) == 100
    await claim(store, 100, length=60)
    await store.write(lambda r: r.jobs.arm("l3", profile, 120))
    assert await next_due(130) == 160  # L3 is locked out by L2 until its lease ends
    assert await next_due(160) == 100


async def test_the_jobs_of_a_scope_are_its_sessions_and_its_profiles(
    store: Store, scope: Scope, session: SessionTarget, profile: ProfileTarget, new_message: Callable[..., NewMessage]
) -> None:
    stranger = replace(scope, user="max")

    def work(r: Repositories) -> None:
        r.jobs.arm("l1", session, 300)
        r.jobs.arm("l2", profile, 100)
        r.jobs.arm("l1", r.conversations.append(stranger, "s1", "", [new_message()], 0), 200)

    await store.write(work)

    assert [job.kind for job in await jobs(store, scope)] == ["l2", "l1"]
    assert [job.due_at for job in await jobs(store, stranger)] == [100, 200]
    assert await jobs(store, replace(scope, team="other")) == []


async def test_the_load_of_an_instance_is_counted_by_layer(
    store: Store, scope: Scope, profile: ProfileTarget, new_message: Callable[..., NewMessage]
) -> None:
    elsewhere = replace(scope, instance="other")

    def work(r: Repositories) -> None:
        for name, due in (("running", 1), ("dead", 2), ("queued", 500), ("later", 600)):
            r.jobs.arm("l1", r.conversations.append(scope, name, "", [new_message()], 0), due)
        r.jobs.arm("l2", profile, 500)
        r.jobs.arm("l1", r.conversations.append(elsewhere, "s1", "", [new_message()], 0), 500)

    await store.write(work)
    leases = {lease.target.session_id: lease for lease in await claim(store, 2)}  # type: ignore[union-attr]
    await store.write(lambda r: r.jobs.bury(leases["dead"], "broken"))

    load = await store.read(lambda r: r.jobs.load("default"))
    assert load == {"l1": LayerLoad(2, 1, 1), "l2": LayerLoad(1, 0, 0), "l3": LayerLoad(0, 0, 0)}
    assert await store.read(lambda r: r.jobs.load("unknown")) == {
        kind: LayerLoad(0, 0, 0) for kind in ("l1", "l2", "l3")
    }


async def test_what_waits_without_a_job_is_forgotten_work(
    store: Store, scope: Scope, session: SessionTarget, new_memory: Callable[..., NewMemory]
) -> None:
    """Invariant 3: lost timers can be found from rows."""
    profile = scope.profile("agent")
    memory = await store.write(lambda r: r.memories.add(scope, profile, new_memory()))
    target = await store.read(lambda r: r.profiles.target(profile))
    assert await store.read(lambda r: r.jobs.forgotten()) == (session, target)

    await store.write(lambda r: r.jobs.arm("l1", session, 9_000))
    assert await store.read(lambda r: r.jobs.forgotten()) == (target,)

    await store.write(lambda r: r.profiles.mark_consumed(profile, [memory.seq]))
    assert await store.read(lambda r: r.jobs.forgotten()) == ()


async def test_a_session_without_waiting_messages_is_not_forgotten_work(store: Store, session: SessionTarget) -> None:
    last = (await store.read(lambda r: r.conversations.undistilled(session, 9)))[-1].seq
    await store.write(lambda r: r.conversations.advance(session, last, 1, ""))

    assert await store.read(lambda r: r.jobs.forgotten()) == ()


@pytest.mark.parametrize("kind", ["l1", "l2"])
async def test_the_last_run_of_a_layer_is_kept(
    store: Store, scope: Scope, session: SessionTarget, profile: ProfileTarget, kind: JobKind
) -> None:
    target = session if kind == "l1" else profile
    runs = [
        RunRecord(kind, "retry", 0, 0, 0, 0, "model", 1, 2, "no answer"),
        RunRecord(kind, "items", 3, 9, 2, 1, "model", 5, 6),
    ]
    for run in runs:
        await record(store, target, run)

    last = await store.read(lambda r: r.jobs.last_run(kind, scope, scope.profile("agent")))
    assert last == runs[1]
    assert await store.read(lambda r: r.jobs.last_run("l3", scope, scope.profile("agent"))) is None


async def test_a_shutdown_hastens_what_waits_but_neither_failed_nor_dead_jobs(
    store: Store, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    def work(r: Repositories) -> None:
        for name in ("failed", "dead", "waiting", "past"):
            due = 10 if name == "past" else 100
            r.jobs.arm("l1", r.conversations.append(scope, name, "", [new_message()], 0), due)

    await store.write(work)
    leases = {lease.target.session_id: lease for lease in await claim(store, 100)}  # type: ignore[union-attr]
    await store.write(lambda r: r.jobs.fail(leases["failed"], 900, "no answer"))
    await store.write(lambda r: r.jobs.bury(leases["dead"], "broken"))
    await store.write(lambda r: r.jobs.finish(leases["waiting"], 900))
    await store.write(lambda r: r.jobs.finish(leases["past"], 10))

    assert await store.write(lambda r: r.jobs.hasten("l1", 50)) == 2
    due = {job.target.session_id: job.due_at for job in await jobs(store, scope)}  # type: ignore[union-attr]
    assert due == {"failed": 900, "dead": 100, "waiting": 50, "past": 10}
    assert await store.write(lambda r: r.jobs.hasten("l2", 50)) == 0


async def test_a_job_whose_session_was_deleted_is_not_claimed(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await arm(store, session, 100)
    await store.write(lambda r: r.erasure.messages(scope, [], ["s1"], None))

    assert await claim(store, 100) == ()


async def try_once(store: Store, now: int) -> Lease:
    (lease,) = await claim(store, now)
    return lease


async def fail(store: Store, lease: Lease, due: int) -> None:
    await store.write(lambda r: r.jobs.fail(lease, due, "no answer"))


async def defer(store: Store, lease: Lease, due: int) -> None:
    await store.write(lambda r: r.jobs.defer(lease, due, "no key"))


async def test_a_job_that_was_put_off_waits_and_has_not_used_up_a_try(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await arm(store, session, 100)
    for now in (100, 200, 300):
        lease = await try_once(store, now)
        await defer(store, lease, now + 100)
        assert await jobs(store, scope) == [Job("l1", session, "waiting", now + 100, 0, "no key")]
        assert await claim(store, now + 99) == ()

    lease = await try_once(store, 400)
    assert (lease.attempt, lease.deferrals) == (1, 3)


async def test_failed_tries_count_through_an_outage(store: Store, session: SessionTarget) -> None:
    await arm(store, session, 0)
    seen = []
    for now, outcome in enumerate(("fail", "defer", "defer", "fail", "defer", "fail")):
        lease = await try_once(store, now)
        seen.append((lease.attempt, lease.deferrals))
        if outcome == "fail":
            await fail(store, lease, 0)
        else:
            await defer(store, lease, 0)
    last = await try_once(store, 9)

    assert seen == [(1, 0), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1)]  # deferrals are those in a row
    assert (last.attempt, last.deferrals) == (4, 0)


async def test_a_finished_job_forgets_how_often_it_was_put_off(store: Store, session: SessionTarget) -> None:
    await arm(store, session, 0)
    lease = await try_once(store, 0)
    await store.write(lambda r: r.jobs.defer(lease, 10, "no key"))
    lease = await try_once(store, 10)
    await store.write(lambda r: r.jobs.finish(lease, 20))

    again = await try_once(store, 20)
    assert (again.attempt, again.deferrals) == (1, 0)


async def test_new_input_does_not_wake_a_job_that_was_put_off(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await arm(store, session, 0)
    lease = await try_once(store, 0)
    await store.write(lambda r: r.jobs.defer(lease, 500, "no key"))

    await arm(store, session, 110)
    await store.write(lambda r: r.jobs.hasten("l1", 50))

    assert [job.due_at for job in await jobs(store, scope)] == [500]


@pytest.mark.parametrize("outcome", ["fail", "defer"])
async def test_reviving_hastens_jobs_that_wait_out_a_failure_and_gives_them_all_their_tries(
    store: Store, scope: Scope, session: SessionTarget, profile: ProfileTarget, outcome: str
) -> None:
    """Who has just entered the right key need not wait for the back-off to end."""
    await arm(store, session, 0)
    lease = await try_once(store, 0)
    put_back = "fail" if outcome == "fail" else "defer"
    await store.write(lambda r: getattr(r.jobs, put_back)(lease, 90_000, "no key"))
    await store.write(lambda r: r.jobs.arm("l2", profile, 80_000))

    revive = lambda r: r.jobs.revive(scope, profile.profile, 300)  # noqa: E731
    assert await store.write(revive) == 1
    assert await store.write(revive) == 0

    due = {job.kind: job.due_at for job in await jobs(store, scope)}
    assert due == {"l1": 300, "l2": 80_000}  # what waits for its time alone keeps it
    again = await try_once(store, 300)
    assert (again.attempt, again.deferrals) == (1, 0)


async def test_reviving_leaves_alone_what_runs_and_what_is_due_anyway(
    store: Store, scope: Scope, session: SessionTarget
) -> None:
    await arm(store, session, 0)
    lease = await try_once(store, 0)
    await store.write(lambda r: r.jobs.fail(lease, 200, "no answer"))
    assert await store.write(lambda r: r.jobs.revive(scope, scope.profile("agent"), 300)) == 0

    running = await try_once(store, 200)
    assert await store.write(lambda r: r.jobs.revive(scope, scope.profile("agent"), 100)) == 0
    await store.write(lambda r: r.jobs.hold(running))


async def test_a_dead_letter_that_comes_back_starts_a_new_row_of_deferrals(
    store: Store, session: SessionTarget
) -> None:
    await arm(store, session, 0)
    lease = await try_once(store, 0)
    await store.write(lambda r: r.jobs.defer(lease, 10, "no key"))
    lease = await try_once(store, 10)
    await store.write(lambda r: r.jobs.bury(lease, "unreadable"))

    await arm(store, session, 20)

    assert (await try_once(store, 20)).deferrals == 0


@pytest.mark.parametrize(
    "made",
    [
        Provenance(),
        Provenance(
            model="qwen-max",
            mode="work",
            prompt=PromptRef("mp-1", 3, "agent", "ab" * 32),
            usage=Usage(900, 80, 500, 2),
            notes=("m1: too long", "草稿 2：重复 🙂"),
        ),
        Provenance(model="m", prompt=PromptRef("builtin:l1"), usage=Usage(1, 1, 0, 1)),
    ],
    ids=["rules", "custom prompt", "built-in prompt"],
)
async def test_the_last_run_tells_how_it_was_made(
    store: Store, scope: Scope, session: SessionTarget, made: Provenance
) -> None:
    await record(store, session, RunRecord("l1", "items", 1, 5, 1, 0, "model", 10, 20, provenance=made))

    last = await store.read(lambda r: r.jobs.last_run("l1", scope, scope.profile("agent")))

    assert last is not None
    assert last.provenance == made


async def test_a_run_that_touched_a_row_twice_tells_the_last_of_it(
    store: Store, scope: Scope, session: SessionTarget, new_memory: Callable[..., NewMemory]
) -> None:
    memory = await store.write(lambda r: r.memories.add(scope, scope.profile("agent"), new_memory()))
    outputs = (RunOutput("l1", memory.seq, "store", note="first"), RunOutput("l1", memory.seq, "support", note="then"))

    await record(store, session, RunRecord("l1", "items", 1, 1, 1, 0, "model", 1, 2, outputs=outputs))

    (run,) = await store.read(lambda r: r.generations.of_output("default", "l1", memory.seq))
    assert run.run.outputs == outputs[1:]
