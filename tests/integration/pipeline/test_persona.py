"""L3: the five reasons to draw a portrait, in their order, and none besides."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

from memstrata.distill.protocol import PersonaDraft, PersonaRequest, SceneDraft, SceneRequest
from memstrata.memory import Memory, MessageInput
from memstrata.records import Scope
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
Settled = Callable[[Memory, Scope], Awaitable[None]]


def fact(number: int) -> str:
    """Return a statement unlike the others: a scene of look-alike lines is refused as debris."""
    return f"fact {number} {hashlib.sha256(str(number).encode()).hexdigest()[:16]}"


async def one_round(memory: Memory, scope: Scope, clock: FakeClock, settled: Settled, *numbers: int) -> None:
    """Say facts in a session of their own and let L1, L2 and what follows run by their timers."""
    await memory.add(scope, f"s{numbers[0]}", [MessageInput("user", fact(number)) for number in numbers])
    await settled(memory, scope)
    clock.advance(10)
    await settled(memory, scope)


async def body(memory: Memory, scope: Scope) -> str | None:
    persona = await memory.persona(scope)
    return persona.body if persona else None


async def test_the_first_scenes_bring_the_first_portrait(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory() as memory:
        await one_round(memory, scope, clock, settled, 1)

        persona = await memory.persona(scope)
        assert persona is not None
        assert (persona.body, persona.version, persona.origin) == ("A person with 1 notes.", 1, "model")
        assert (await memory.status(scope)).layers["l3"].pending == 0
        (found,) = (await memory.memories(scope)).items
        assert (await memory.trace(scope, found.memory_id)).persona == persona


async def test_a_portrait_is_renewed_after_enough_new_memories_and_not_before(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    """Invariant 7: counted from rows."""
    async with open_memory(l2_min_interval_seconds=0, persona_every_n=50) as memory:
        await one_round(memory, scope, clock, settled, 0)
        assert distiller.calls["portray"] == 1
        for start in range(1, 49, 8):
            await one_round(memory, scope, clock, settled, *range(start, start + 8))
        await one_round(memory, scope, clock, settled, 49)
        layer = (await memory.status(scope)).layers["l3"]
        assert (layer.pending, distiller.calls["portray"]) == (49, 1)

        await one_round(memory, scope, clock, settled, 50)
        layer = (await memory.status(scope)).layers["l3"]
        assert (layer.pending, distiller.calls["portray"]) == (0, 2)


async def test_l2_may_ask_for_a_portrait_and_is_answered_once(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    asking = Asking()
    async with open_memory(distiller=asking, l2_min_interval_seconds=0) as memory:
        await one_round(memory, scope, clock, settled, 1)
        asking.reason = "moved to another city"
        await one_round(memory, scope, clock, settled, 2)
        assert asking.calls["portray"] == 2
        asking.reason = ""
        await one_round(memory, scope, clock, settled, 3)
        assert asking.calls["portray"] == 2


async def test_a_portrait_that_lost_its_text_is_drawn_again(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory(l2_min_interval_seconds=0) as memory:
        await one_round(memory, scope, clock, settled, 1)
        await memory.write_persona(scope, "")
        await one_round(memory, scope, clock, settled, 2)

        assert distiller.calls["portray"] == 2
        assert await body(memory, scope) == "A person with 2 notes."


async def test_a_portrait_that_a_person_wrote_stays_and_the_pipelines_is_a_proposal_in_its_history(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory(l2_min_interval_seconds=0) as memory:
        human = await memory.write_persona(scope, "Brought along from elsewhere.")
        await one_round(memory, scope, clock, settled, 1)

        assert distiller.calls["portray"] == 1
        assert await memory.persona(scope) == human
        proposed, by_hand = await memory.persona_history(scope)
        assert (proposed.document.body, proposed.proposal) == ("A person with 1 notes.", True)
        assert (by_hand.document, by_hand.valid_to) == (human, None)
        layer = (await memory.status(scope)).layers["l3"]
        assert (layer.pending, layer.last_outcome) == (0, "items")

        await one_round(memory, scope, clock, settled, 2)
        assert distiller.calls["portray"] == 1  # it counts as done


async def test_the_same_proposal_is_not_made_twice(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    same = Asking()
    async with open_memory(distiller=same, l2_min_interval_seconds=0) as memory:
        await memory.write_persona(scope, "Written by hand.")
        await one_round(memory, scope, clock, settled, 1)
        same.reason, same.portrait = "again", "A person with 1 notes."
        await one_round(memory, scope, clock, settled, 2)

        assert same.calls["portray"] == 2
        assert len(await memory.persona_history(scope)) == 2
        assert (await memory.status(scope)).layers["l3"].last_outcome == "nothing"


async def test_the_distiller_is_told_why_and_which_scenes_no_portrait_has_seen(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    asking = Asking()
    async with open_memory(distiller=asking, l2_min_interval_seconds=0) as memory:
        asking.path = "tea.md"
        await one_round(memory, scope, clock, settled, 1)
        asking.path, asking.reason = "rain.md", "moved to another city"
        await one_round(memory, scope, clock, settled, 2)
        asking.path, asking.reason = "tea.md", ""
        await memory.add(scope, "s3", [MessageInput("user", fact(3))])
        await memory.flush(scope)

        assert [(request.reason, sorted(request.changed)) for request in asking.requests] == [
            ("cold start", ["tea.md"]),
            ("asked for by L2: moved to another city", ["rain.md"]),
            ("flush", ["tea.md"]),
        ]


async def test_a_long_portrait_by_hand_may_be_called_right(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    """What a person wrote is not held to the pipeline's limit, so L3 does not fail on it for ever."""
    asking = Asking()
    asking.portrait = " ".join(fact(number) for number in range(200))
    async with open_memory(distiller=asking) as memory:
        await memory.write_persona(scope, asking.portrait)
        await one_round(memory, scope, clock, settled, 1)
        assert (await memory.status(scope)).layers["l3"].last_outcome == "nothing"


async def test_scenes_alone_are_no_reason(
    open_memory: Open, scope: Scope, clock: FakeClock, distiller: EchoDistiller, settled: Settled
) -> None:
    async with open_memory(l2_min_interval_seconds=0) as memory:
        for number in range(3):
            await one_round(memory, scope, clock, settled, number)

        assert (distiller.calls["consolidate"], distiller.calls["portray"]) == (3, 1)


async def test_a_portrait_with_the_same_words_is_no_new_version(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [MessageInput("user", "fact one", message_id="a")])
        await memory.flush(scope)
        first = await memory.persona(scope)
        await memory.update_memory(scope, (await memory.memories(scope)).items[0].memory_id, "fact number one")
        await memory.flush(scope)

        assert await memory.persona(scope) == first
        assert (await memory.status(scope)).layers["l3"].last_outcome == "nothing"


async def test_a_portrait_that_a_person_edits_while_l3_runs_keeps_the_persons_text(
    open_memory: Open,
    scope: Scope,
    clock: FakeClock,
    distiller: EchoDistiller,
    settled: Settled,
    eventually: Callable[..., Awaitable[None]],
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [MessageInput("user", "fact one")])
        await settled(memory, scope)
        with distiller.paused("portray"):
            clock.advance(10)
            await eventually(lambda: distiller.calls["portray"] == 1)
            await memory.write_persona(scope, "Written by hand.")
        await settled(memory, scope)

        assert await body(memory, scope) == "Written by hand."
        assert (await memory.status(scope)).layers["l3"].last_outcome == "retry"


async def test_every_team_and_instance_has_scenes_and_a_persona_of_its_own(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    others = [replace(scope, team="red team"), replace(scope, instance="acme"), replace(scope, agent="bot")]
    async with open_memory() as memory:
        for number, who in enumerate(others):
            await one_round(memory, who, clock, settled, number)

        for number, who in enumerate(others):
            assert [scene.body for scene in await memory.scenes(who)] == [f"- {fact(number)}"]
            assert await body(memory, who) == "A person with 1 notes."
        assert await memory.scenes(scope) == ()
        assert await memory.persona(scope) is None


async def test_the_users_of_an_agent_share_a_profile(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    max_ = replace(scope, user="max")
    async with open_memory(l2_min_interval_seconds=0) as memory:
        await one_round(memory, scope, clock, settled, 1)
        await one_round(memory, max_, clock, settled, 2)

        (scene,) = await memory.scenes(scope)
        assert scene.body == f"- {fact(2)}\n- {fact(1)}"
        assert await memory.scenes(max_) == (scene,)
        assert await memory.persona(scope) == await memory.persona(max_)


async def test_a_profile_per_user_is_kept_apart_where_that_is_set(
    open_memory: Open, scope: Scope, clock: FakeClock, settled: Settled
) -> None:
    max_ = replace(scope, user="max")
    async with open_memory(profile_scope="agent_user") as memory:
        await one_round(memory, scope, clock, settled, 1)
        await one_round(memory, max_, clock, settled, 2)

        assert [scene.body for scene in await memory.scenes(scope)] == [f"- {fact(1)}"]
        assert [scene.body for scene in await memory.scenes(max_)] == [f"- {fact(2)}"]
        recall = await memory.recall(max_, fact(2))
        assert fact(1) not in recall.append_system_context + recall.prepend_context


class Asking(EchoDistiller):
    """Asks for a portrait while it has a reason; writes the scene and the portrait that a test names."""

    reason = ""
    path = "notes.md"
    portrait = ""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[PersonaRequest] = []

    async def consolidate(self, request: SceneRequest) -> Any:
        draft = await super().consolidate(request)
        if not isinstance(draft, SceneDraft):
            return draft
        return replace(draft, writes=(replace(draft.writes[0], path=self.path),), persona_request=self.reason)

    async def portray(self, request: PersonaRequest) -> Any:
        self.requests.append(request)
        draft = await super().portray(request)
        return replace(draft, body=self.portrait or draft.body) if isinstance(draft, PersonaDraft) else draft
