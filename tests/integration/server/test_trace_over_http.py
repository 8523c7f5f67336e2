"""Traces, histories, undo and restore through client, server and store; and what another tenant learns of them: nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from memstrata.client import AsyncMemoryClient, Conflict, Forbidden, InvalidRequest, NotFound

TURN = [("user", "Remember: I live in Lisbon and I love oolong tea."), ("assistant", "I will.")]


@pytest.fixture
async def maya(url: str) -> AsyncIterator[AsyncMemoryClient]:
    async with AsyncMemoryClient(url, team="acme", agent="helper", user="maya", session="s1") as client:
        await client.add(TURN)
        await client.flush()
        yield client


async def id_of(client: AsyncMemoryClient, word: str) -> str:
    return next(item.id for item in (await client.memories()).items if word in item.content)


async def test_a_wrong_correction_is_seen_in_the_history_and_taken_back(maya: AsyncMemoryClient) -> None:
    memory_id = await id_of(maya, "Lisbon")
    (old,) = await maya.history(memory_id)
    await maya.update_memory(memory_id, "Lives in Porto")

    newest, before = await maya.history(memory_id)
    assert (newest.memory.content, newest.memory.origin, newest.live) == ("Lives in Porto", "human", True)
    assert (before.memory.content, before.live, before.superseded_by) == (old.memory.content, False, (memory_id, 1))
    assert before.message_ids == old.message_ids
    assert before.derivations == old.derivations
    assert [(made.action, made.model, made.version) for made in old.derivations] == [("store", "", 0)]

    (again,) = await maya.undo(memory_id)
    assert (again.id, again.version, again.content) == (memory_id, 2, old.memory.content)
    assert "Porto" not in str((await maya.memories()).items)
    with pytest.raises(Conflict, match="nothing to undo"):
        await maya.undo(await id_of(maya, "oolong"))
    with pytest.raises(NotFound):
        await maya.undo("m_unknown")


async def test_memory_scene_and_persona_are_traced_down_to_what_was_said(maya: AsyncMemoryClient) -> None:
    evidence = await maya.trace(await id_of(maya, "oolong"))
    said = {message.id for message in evidence.messages}
    assert said
    assert [made.action for made in evidence.derivations] == ["store"]

    scene = await maya.trace_scene(evidence.scenes[0].path)
    assert said <= {message.id for one in scene.supports for message in one.messages}

    persona = await maya.trace_persona("oolong tea")
    assert "oolong" in persona.supports[0].memory.content
    assert said <= {message.id for message in persona.supports[0].messages}
    assert (await maya.trace_persona("plays the violin")).supports == ()


async def test_scenes_and_persona_are_restored(maya: AsyncMemoryClient) -> None:
    path = (await maya.scenes())[0].path
    await maya.write_scene(path, "# Edited\n")
    await maya.remove_scene(path)
    assert [version.version for version in await maya.scene_history(path)] == [2, 1]

    assert await maya.restore_scene(path, 1) == 3
    scene = await maya.read_scene(path)
    assert scene is not None
    assert "# Edited" not in scene.content

    first = (await maya.persona_history())[-1]
    await maya.write_persona("somebody else")
    assert await maya.restore_persona(first.version) == first.version + 2
    assert (await maya.persona_history())[0].content == first.content
    with pytest.raises(NotFound):
        await maya.restore_persona(99)


async def test_other_tenants_learn_nothing(url: str, maya: AsyncMemoryClient) -> None:
    memory_id, path = await id_of(maya, "Lisbon"), (await maya.scenes())[0].path
    await maya.update_memory(memory_id, "Lives in Porto")

    rex = maya.with_scope(user="rex")  # another user of the same agent, who shares its scenes and persona
    for call in (rex.history(memory_id), rex.undo(memory_id), rex.trace(memory_id)):
        with pytest.raises(Forbidden):
            await call
    for evidence in (await rex.trace_scene(path), await rex.trace_persona(), await rex.trace_persona("Lisbon")):
        assert evidence.supports == ()

    other = maya.with_scope(agent="other")
    async with AsyncMemoryClient(url, instance="elsewhere", team="acme", agent="helper", user="maya") as elsewhere:
        for stranger, error in ((other, Forbidden), (elsewhere, NotFound)):
            for call in (stranger.history(memory_id), stranger.undo(memory_id), stranger.trace(memory_id)):
                with pytest.raises(error):
                    await call
            for missing in (
                stranger.trace_scene(path),
                stranger.trace_persona(),
                stranger.scene_history(path),
                stranger.restore_scene(path, 1),
                stranger.restore_persona(1),
            ):
                with pytest.raises(NotFound):
                    await missing
            assert await stranger.persona_history() == ()
    assert len(await maya.history(memory_id)) == 2


async def test_a_path_that_leads_elsewhere_is_refused(maya: AsyncMemoryClient) -> None:
    for call in (maya.trace_scene("../x.md"), maya.scene_history("/etc/passwd"), maya.restore_scene("a\x00.md", 1)):
        with pytest.raises(InvalidRequest):
            await call
