"""Three legs under one deadline: a leg that fails or is late costs itself and is named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, cast

import pytest

from memstrata.errors import Unavailable
from memstrata.recall import Leg, Recaller
from memstrata.records import ComponentHealth, Document, Found, Scope
from memstrata.search import Finder
from memstrata.settings import RecallSettings
from memstrata.store.protocol import Repositories, Store

T = TypeVar("T")
PERSONA = Document(1, "persona", "persona.md", 1, "Lin drinks tea.", "", 1, "model", 0, 0)
SCENE = Document(2, "scene", "tea.md", 1, "## Tea", "about tea", 1, "model", 0, 0)
ORDER: tuple[Leg, ...] = ("memories", "persona", "scenes")


class Legs:
    """A store that answers the three reads of a recall, in their order, each as a test wants it."""

    def __init__(self, **answers: Callable[[], Awaitable[Any]]) -> None:
        usual = {"memories": given(Found(())), "persona": given(PERSONA), "scenes": given((SCENE,))}
        self._answers = [{**usual, **answers}[leg] for leg in ORDER]
        self._asked = 0

    async def write(self, work: Callable[[Repositories], T]) -> T:
        raise AssertionError("a recall writes nothing")

    async def read(self, work: Callable[[Repositories], T], *, timeout_seconds: float = 10.0) -> T:
        answer = self._answers[self._asked]
        self._asked += 1
        return cast("T", await answer())

    def health(self) -> ComponentHealth:
        return ComponentHealth("ok")

    async def close(self) -> None: ...


def given(value: Any) -> Callable[[], Awaitable[Any]]:
    async def answer() -> Any:
        return value

    return answer


def failing(error: Exception) -> Callable[[], Awaitable[Any]]:
    async def answer() -> Any:
        raise error

    return answer


async def never() -> Any:
    await asyncio.Event().wait()


class Finding:
    """A search that is the first of the store's answers, whatever is looked for."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def find(self, *_: object, **__: object) -> Found[Any]:
        return await self._store.read(lambda _: Found(()))


def recaller(store: Store, **settings: Any) -> Recaller:
    return Recaller(cast("Finder", Finding(store)), store, RecallSettings(**settings), "agent")


async def test_what_all_legs_bring_is_returned(scope: Scope) -> None:
    recall = await recaller(Legs()).recall(scope, "tea")

    assert (recall.persona, recall.scenes, recall.hits) == (PERSONA, (SCENE,), ())
    assert recall.degraded == ()
    assert "Lin drinks tea." in recall.append_system_context


@pytest.mark.parametrize("leg", ORDER)
async def test_a_leg_that_fails_costs_itself_alone_and_is_named(scope: Scope, leg: Leg) -> None:
    """Invariants 11 and 12: nothing fails silently, and no failure of memory reaches the turn."""
    broken = recaller(Legs(**{leg: failing(Unavailable("the disk is gone"))}))
    recall = await broken.recall(scope, "tea")

    assert recall.degraded == (f"{leg}: the disk is gone",)
    assert broken.failures == {leg: 1}
    assert (recall.persona == PERSONA) == (leg != "persona")
    assert (recall.scenes == (SCENE,)) == (leg != "scenes")


@pytest.mark.parametrize("leg", ORDER)
async def test_a_bug_in_a_leg_is_named_without_its_details(
    scope: Scope, leg: Leg, caplog: pytest.LogCaptureFixture
) -> None:
    recall = await recaller(Legs(**{leg: failing(KeyError("secret"))})).recall(scope, "tea")

    assert recall.degraded == (f"{leg}: internal error",)
    assert "secret" in caplog.text


@pytest.mark.parametrize("leg", ORDER)
async def test_a_leg_that_is_late_is_left_behind(scope: Scope, leg: Leg) -> None:
    async with asyncio.timeout(20):
        recall = await recaller(Legs(**{leg: never}), timeout_seconds=0.05).recall(scope, "tea")

    assert recall.degraded == (f"{leg}: did not arrive within 0.05 s",)
    assert (recall.persona == PERSONA) == (leg != "persona")
    assert (recall.scenes == (SCENE,)) == (leg != "scenes")


async def test_a_deadline_of_the_call_goes_before_that_of_the_settings(scope: Scope) -> None:
    legs = Legs(memories=never, persona=never, scenes=never)
    async with asyncio.timeout(20):
        recall = await recaller(legs, timeout_seconds=600).recall(scope, "tea", budget_ms=20)

    assert [line.split(":")[0] for line in recall.degraded] == list(ORDER)
    assert (recall.prepend_context, recall.append_system_context) == ("", "")


async def test_only_the_legs_that_are_asked_for_are_read(scope: Scope) -> None:
    legs = Legs(memories=failing(AssertionError("not asked for")))
    legs._asked = 1
    recall = await recaller(legs).recall(scope, "tea", include=["persona"])

    assert (recall.persona, recall.scenes, recall.degraded) == (PERSONA, (), ())
    nothing = await recaller(Legs()).recall(scope, "tea", include=[])
    assert (nothing.persona, nothing.append_system_context, nothing.degraded) == (None, "", ())


async def test_what_a_search_lacked_is_passed_on(scope: Scope) -> None:
    found: Found[Any] = Found((), ("embedding: no answer",))
    recall = await recaller(Legs(memories=given(found))).recall(scope, "tea")

    assert recall.degraded == ("embedding: no answer",)


async def test_a_cancelled_recall_leaves_no_leg_running(scope: Scope) -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def slow() -> Any:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.ensure_future(recaller(Legs(memories=slow)).recall(scope, "tea"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with asyncio.timeout(20):
        await ended.wait()
