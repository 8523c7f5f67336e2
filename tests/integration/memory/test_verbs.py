"""What a caller can list, correct, remove, trace and ask about; each verb stays inside its scope."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.clock import Instant
from memstrata.errors import Conflict, Forbidden, InvalidRequest, Misconfigured, NotFound, Unavailable
from memstrata.memory import Memory, MessageInput
from memstrata.records import Deletion, Scope
from memstrata.settings import EmbeddingSettings, LlmSettings, MirrorSettings, PipelineSettings, Settings
from memstrata.testing import EchoDistiller, FakeClock

Open = Callable[..., AbstractAsyncContextManager[Memory]]
MONDAY = 1_767_603_600_000


def said(text: str, **given: Any) -> MessageInput:
    return MessageInput("user", text, **given)


async def known(memory: Memory, scope: Scope, *texts: str, session: str = "s1", task: str = "") -> None:
    """Say texts and have them distilled."""
    await memory.add(scope, session, [said(text) for text in texts], task_id=task)
    await memory.flush(scope)


async def test_messages_are_listed_by_session_task_and_time(open_memory: Open, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", [said("a", said_at=10), said("b", said_at=20)], task_id="t")
        await memory.add(scope, "s2", [said("c", said_at=20)])

        page = await memory.messages(scope, since=10, until=20, limit=1, offset=1)
        assert ([m.content for m in page.items], page.total) == (["b"], 3)
        assert (await memory.messages(scope, session_id="s1", task_id="t", since=20)).total == 1
        assert await memory.count_messages(scope, session_id="s2", until=19) == 0
        found = await memory.search_messages(scope, "c b", session_id="s2")
        assert [hit.item.content for hit in found.hits] == ["c"]


async def test_memories_are_listed_by_type_task_and_time(open_memory: Open, scope: Scope, clock: FakeClock) -> None:
    async with open_memory() as memory:
        await known(memory, scope, "green tea", task="t")
        clock.advance(60)
        await known(memory, scope, "black coffee", session="s2")

        page = await memory.memories(scope, limit=1)
        assert ([m.content for m in page.items], page.total) == (["black coffee"], 2)
        assert [m.content for m in (await memory.memories(scope, task_id="t", until=MONDAY)).items] == ["green tea"]
        assert await memory.count_memories(scope, type="episodic", since=MONDAY + 60_000) == 1
        assert await memory.count_memories(scope, type="persona") == 0
        found = await memory.search(scope, "green black", since=MONDAY + 1)
        assert [hit.item.content for hit in found.hits] == ["black coffee"]


async def test_a_correction_is_a_new_version_in_a_persons_name_and_is_found_instead(
    open_memory: Open, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory() as memory:
        await known(memory, scope, "I drink green tea")
        (old,) = (await memory.memories(scope)).items
        clock.advance(60)

        new = await memory.update_memory(scope, old.memory_id, "I drink oolong", scene_name="drinks\nat home")

        assert (new.memory_id, new.version, new.origin, new.scene_name) == (old.memory_id, 1, "human", "drinks at home")
        assert (new.created_at, new.updated_at) == (old.created_at, clock.now())
        assert (await memory.search(scope, "green")).hits == ()
        assert [hit.item for hit in (await memory.search(scope, "oolong")).hits] == [new]
        evidence = await memory.trace(scope, old.memory_id)
        assert [m.content for m in evidence.messages] == ["I drink green tea"]
        assert [m.content for m in evidence.replaced] == ["I drink green tea"]


async def test_another_users_memory_is_forbidden_and_an_unknown_one_not_found(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await known(memory, scope, "I drink green tea")
        (old,) = (await memory.memories(scope)).items

        with pytest.raises(Forbidden, match="different user"):
            await memory.update_memory(replace(scope, user="max"), old.memory_id, "x")
        with pytest.raises(Forbidden, match="different agent"):
            await memory.update_memory(replace(scope, agent="bot"), old.memory_id, "x")
        for stranger in (replace(scope, team="other"), replace(scope, instance="other")):
            with pytest.raises(NotFound):
                await memory.update_memory(stranger, old.memory_id, "x")
            with pytest.raises(NotFound):
                await memory.trace(stranger, old.memory_id)
        with pytest.raises(InvalidRequest, match="8192"):
            await memory.update_memory(scope, old.memory_id, "x" * 8_193)
        assert (await memory.memories(scope)).items == (old,)


async def test_scenes_and_persona_are_edited_in_a_persons_name(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await known(memory, scope, "I drink green tea")

        content = "-----META-START-----\nsummary: by hand\nheat: 99\n-----META-END-----\n\n## Tea"
        scene = await memory.write_scene(scope, "notes.md", content)
        assert (scene.body, scene.summary, scene.heat, scene.origin) == ("## Tea", "by hand", 1, "human")
        assert await memory.read_scene(scope, "notes.md") == scene
        with pytest.raises(NotFound):
            await memory.write_scene(scope, "unknown.md", "x")

        text = await memory.persona_text(scope)
        assert text is not None
        assert "`notes.md`" in text
        persona = await memory.write_persona(scope, text.replace("A person", "Somebody"))
        assert (persona.body, persona.origin) == ("Somebody with 1 notes.", "human")


async def test_a_scene_is_created_by_hand_where_nothing_of_its_name_is(open_memory: Open, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        scene = await memory.create_scene(scope, "work/Plan.md", "## Plan", summary="What is\nplanned")
        assert (scene.version, scene.heat, scene.origin, scene.summary) == (1, 1, "human", "What is planned")
        for taken in ("work/Plan.md", "work/plan.MD", "work", "work/Plan.md/x", "ＷＯＲＫ/plan.md"):
            with pytest.raises(Conflict):
                await memory.create_scene(scope, taken, "other")
        for nameless in ("work/", "a//b", "...", "x" * 81):
            with pytest.raises(InvalidRequest):
                await memory.create_scene(scope, nameless, "other")
        assert await memory.scenes(scope) == (scene,)


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x.md", "a/../../x.md", "a\\b.md", "a\x00.md", "a\nb.md"])
async def test_a_path_that_leads_elsewhere_is_refused(open_memory: Open, scope: Scope, path: str) -> None:
    async with open_memory(enabled=False) as memory:
        for call in (
            memory.read_scene(scope, path),
            memory.write_scene(scope, path, "x"),
            memory.create_scene(scope, path, "x"),
            memory.remove_scene(scope, path),
        ):
            with pytest.raises(InvalidRequest):
                await call


async def test_scenes_are_listed_by_prefix_and_removed_by_path_or_folder(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await known(memory, scope, "I drink green tea")

        assert [scene.path for scene in await memory.scenes(scope, prefix="no")] == ["notes.md"]
        assert await memory.scenes(scope, prefix="x") == ()
        assert await memory.remove_scene(replace(scope, agent="bot"), "notes.md") == 0
        assert await memory.remove_scene(scope, "notes.md/") == 0
        assert await memory.remove_scene(scope, "notes.md") == 1
        assert await memory.remove_scene(scope, "notes.md") == 0
        assert await memory.read_scene(scope, "notes.md") is None


async def test_after_a_deletion_nothing_is_found_by_any_verb(open_memory: Open, scope: Scope) -> None:
    """Invariant 10."""
    async with open_memory() as memory:
        await known(memory, scope, "the code is xyzzy")
        (old,) = (await memory.memories(scope)).items
        await memory.update_memory(scope, old.memory_id, "the code was xyzzy")
        await memory.flush(scope)

        assert await memory.delete_messages(scope, session_ids=["s1"]) == Deletion(1, 1, 2)

        assert (await memory.search(scope, "xyzzy")).hits == ()
        assert (await memory.search_messages(scope, "xyzzy")).hits == ()
        assert (await memory.messages(scope)).total == 0
        assert (await memory.memories(scope)).total == 0
        assert await memory.scenes(scope) == ()
        assert await memory.persona_text(scope) is None
        recall = await memory.recall(scope, "what is the code xyzzy")
        assert (recall.prepend_context, recall.append_system_context, recall.degraded) == ("", "", ())
        with pytest.raises(NotFound):
            await memory.trace(scope, old.memory_id)
        assert (await memory.flush(scope)).idle


async def test_a_deletion_counts_what_really_went(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await known(memory, scope, "I drink green tea")
        (old,) = (await memory.memories(scope)).items

        assert await memory.delete_memories(scope, ["unknown", old.memory_id], task_id="other") == Deletion()
        assert await memory.delete_memories(replace(scope, user="max"), [old.memory_id]) == Deletion()
        assert await memory.delete_memories(scope, ["unknown", old.memory_id, old.memory_id]) == Deletion(0, 1, 2)
        assert await memory.delete_messages(scope) == Deletion()
        assert await memory.count_messages(scope) == 1


async def test_clearing_agents_is_all_or_nothing(open_memory: Open, scope: Scope) -> None:
    ambiguous = [replace(scope, team="a-b", agent="c"), replace(scope, team="a", agent="b-c")]
    async with open_memory() as memory:
        await known(memory, scope, "I drink green tea")
        for who in ambiguous:
            await memory.add(who, "s1", [said("hello")])

        with pytest.raises(NotFound):
            await memory.clear("default", ["chat_memory-home-assistant", "chat_memory-no-one"])
        with pytest.raises(Conflict):
            await memory.clear("default", ["chat_memory-home-assistant", "chat_memory-a-b-c"])
        assert await memory.count_memories(scope) == 1

        (cleared,) = await memory.clear("default", ["chat_memory-home-assistant"])
        assert (cleared.memory_id, cleared.deletion) == ("chat_memory-home-assistant", Deletion(1, 1, 2))
        assert await memory.scenes(scope) == ()


async def test_the_status_tells_what_waits_and_when_it_is_due(
    open_memory: Open, scope: Scope, clock: FakeClock
) -> None:
    async with open_memory(warmup=False) as memory:
        await memory.add(scope, "s1", [said("I drink green tea")])

        status = await memory.status(scope)
        layer = status.layers["l1"]
        assert (layer.state, layer.pending, layer.next_due_at) == ("waiting", 1, clock.now() + 600_000)
        assert (status.idle, status.distiller) == (False, "model")
        assert (await memory.status(scope, session_id="other")).layers["l1"].pending == 0
        assert (await memory.load("default"))["l1"].queued == 1
        assert (await memory.load("other"))["l1"].queued == 0

        done = await memory.flush(scope)
        assert done.idle
        assert [done.layers[kind].last_outcome for kind in ("l1", "l2", "l3")] == ["items"] * 3
        assert done.layers["l1"].last_run_at == clock.now()


async def test_a_flush_of_one_session_leaves_the_others_waiting(
    open_memory: Open, scope: Scope, distiller: EchoDistiller
) -> None:
    async with open_memory(warmup=False) as memory:
        for session in ("s1", "s2"):
            await memory.add(scope, session, [said(f"said in {session}")])

        await memory.flush(scope, session_id="s1")
        assert distiller.seen == ["said in s1"]


async def test_a_flush_without_a_pipeline_ends_with_its_wait(open_memory: Open, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        await memory.add(scope, "s1", [said("I drink green tea")])
        status = await memory.flush(scope, wait_seconds=0)
        assert (status.idle, status.layers["l1"].pending) == (False, 1)


async def test_health_names_every_component_and_what_it_does_without(
    open_memory: Open, tmp_path: Path, clock: FakeClock
) -> None:
    settings = Settings(
        data_dir=tmp_path,
        pipeline=PipelineSettings(enabled=False),
        mirror=MirrorSettings(enabled=False),
        embedding=EmbeddingSettings(provider="openai", base_url="http://127.0.0.1:1/v1", model="m"),
    )
    async with open_memory(settings=settings, distiller=None) as memory:
        clock.advance(90)
        health = await memory.health()

        assert (health.status, health.uptime_seconds) == ("ok", 90.0)
        reasons = {name: part.reason for name, part in health.components.items() if part.state == "reduced"}
        assert set(health.components) - set(reasons) == {
            "store", "housekeeping", "forgetting", "redaction", "audit", "recall",
        }  # fmt: skip
        assert reasons["pipeline"] == reasons["mirror"] == "switched off"
        assert "the embedder has not answered yet" in reasons["embedding"] or "127.0.0.1" in reasons["embedding"]
        assert reasons["distiller"] == "no model configured: distilling by rules"


async def test_half_a_model_is_refused_with_the_setting_that_is_missing(open_memory: Open, tmp_path: Path) -> None:
    for llm, missing in (
        (LlmSettings(base_url="http://127.0.0.1:1/v1"), "llm.model"),
        (LlmSettings(model="m"), "llm.base_url"),
        (LlmSettings(base_url="http://127.0.0.1:1/v1", portray_model="m"), "llm.model"),
    ):
        with pytest.raises(Misconfigured, match=missing):
            async with open_memory(settings=Settings(data_dir=tmp_path, llm=llm), distiller=None):
                pass


async def test_the_longest_query_is_answered_and_a_longer_one_refused(open_memory: Open, scope: Scope) -> None:
    async with open_memory(enabled=False) as memory:
        for search in (memory.search, memory.search_messages):
            assert (await search(scope, "x" * 2_048)).hits == ()
            with pytest.raises(InvalidRequest, match="at most 2048 characters, got 2049"):
                await search(scope, "x" * 2_049)


async def test_a_search_says_when_a_configured_embedder_took_no_part(
    open_memory: Open, tmp_path: Path, scope: Scope
) -> None:
    settings = Settings(
        data_dir=tmp_path, embedding=EmbeddingSettings(provider="openai", base_url="http://127.0.0.1:1/v1", model="m")
    )
    async with open_memory(settings=settings) as memory:
        assert "embedding" in (await memory.search(scope, "tea")).degraded[0]
        assert "embedding" in (await memory.search_messages(scope, "tea")).degraded[0]


async def test_health_names_a_background_task_that_has_ended(
    open_memory: Open, eventually: Callable[..., Awaitable[None]], caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(FakeClock):
        async def wait(self, signal: asyncio.Event, until: Instant | None) -> None:
            raise ZeroDivisionError

    async with open_memory(clock=Broken()) as memory:
        await eventually(lambda: "the background task 'pipeline' has failed" in caplog.text)
        health = await memory.health()
        assert health.components["pipeline"].state == "failed"
        assert health.components["pipeline"].reason == "stopped by ZeroDivisionError"
        assert health.status == "degraded"


async def test_a_closed_memory_takes_nothing(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        pass
    with pytest.raises(Unavailable):
        await memory.add(scope, "s1", [said("too late")])


async def test_a_memory_is_opened_by_its_path_alone(
    tmp_path: Path, scope: Scope, distiller: EchoDistiller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMSTRATA_DATA_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("MEMSTRATA_PIPELINE_EVERY_N", "9")
    async with Memory.open(tmp_path / "here", distiller=distiller) as memory:
        assert memory.settings.pipeline.every_n == 9
        await memory.add(scope, "s1", [said("I drink green tea")])
    assert await asyncio.to_thread((tmp_path / "here").is_dir)
    assert not await asyncio.to_thread((tmp_path / "elsewhere").exists)
