"""A memory's life over HTTP: said, distilled, recalled, traced, changed, deleted; and never seen by another scope."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import httpx
import pytest

from memstrata.client import AsyncMemoryClient, InvalidRequest, NotFound, Unauthorized
from memstrata.text.tokens import count_tokens

TURN = [
    ("user", "Remember: I live in Lisbon and I love oolong tea. From now on always answer in English."),
    ("assistant", "I will."),
]


@pytest.fixture
async def maya(url: str) -> AsyncIterator[AsyncMemoryClient]:
    async with AsyncMemoryClient(url, team="acme", agent="helper", user="maya", session="s1") as client:
        yield client


async def test_what_was_said_is_distilled_recalled_and_traced(maya: AsyncMemoryClient) -> None:
    receipt = await maya.add(TURN)
    state = await maya.flush()

    assert state.idle
    found = await maya.search("where does Maya live, Lisbon?")
    memory = next(item for item in found.items if "Lisbon" in item.content)
    assert 0 < found.hits[0].score <= 1

    recalled = await maya.recall("Lisbon oolong tea")
    assert "Lisbon" in recalled.prepend_context
    assert recalled.append_system_context

    evidence = await maya.trace(memory.id)
    assert receipt.message_ids[0] in {message.id for message in evidence.messages}

    scenes = await maya.scenes()
    scene = await maya.read_scene(scenes[0].path)
    assert scene is not None
    assert scene.content.startswith("-----META-START-----")
    assert await maya.persona() is not None


async def test_a_found_message_brings_what_was_said_around_it(maya: AsyncMemoryClient) -> None:
    await maya.add(TURN)
    await maya.add([("user", "Lisbon is sunny")], session="s2")

    hits = (await maya.search_messages("oolong tea", neighbours=1)).hits
    assert hits[0].neighbours is not None
    assert hits[0].neighbours.before == ()
    assert [(message.session_id, message.content) for message in hits[0].neighbours.after] == [("s1", "I will.")]
    assert (await maya.search_messages("oolong tea")).hits[0].neighbours is None
    with pytest.raises(InvalidRequest, match="neighbours: expected int <= 5"):
        await maya.search_messages("oolong tea", neighbours=6)


async def test_a_recall_keeps_to_the_parts_and_tokens_that_are_asked_for(maya: AsyncMemoryClient) -> None:
    await maya.add(TURN)
    await maya.flush()

    whole = await maya.recall("Lisbon oolong tea", budget_ms=60_000)
    narrow = await maya.recall("Lisbon oolong tea", budget_ms=60_000, max_tokens=120)
    assert count_tokens(narrow.prepend_context) + count_tokens(narrow.append_system_context) <= 120
    assert count_tokens(whole.prepend_context) + count_tokens(whole.append_system_context) > 120
    assert narrow.prepend_context
    assert [hit.item.id for hit in narrow.hits] == [hit.item.id for hit in whole.hits]
    part = await maya.recall("Lisbon oolong tea", max_tokens=120, include=["persona"])
    assert (part.hits, part.scenes, part.prepend_context) == ((), (), "")
    assert "user-persona" in part.append_system_context


async def test_a_repeated_write_stores_nothing_and_says_so(maya: AsyncMemoryClient) -> None:
    first = await maya.add(TURN, idempotency_key="turn-1")
    again = await maya.add(TURN, idempotency_key="turn-1")

    assert (first.replayed, again.replayed) == (False, True)
    assert again.message_ids == first.message_ids
    assert await maya.count_messages() == 2


async def test_nothing_is_seen_from_another_scope_or_instance(url: str, maya: AsyncMemoryClient) -> None:
    await maya.add(TURN)
    await maya.flush()
    memory_id = (await maya.memories()).items[0].id

    for other in (maya.with_scope(user="rex"), maya.with_scope(team="other"), maya.with_scope(agent="other")):
        assert await other.count_messages() == 0
        assert await other.count_memories() == 0
        assert (await other.search("Lisbon")).hits == ()
        assert (await other.search_messages("Lisbon")).hits == ()
        assert await other.delete_memories([memory_id]) == 0
    async with AsyncMemoryClient(
        url, instance="elsewhere", team="acme", agent="helper", user="maya", session="s1"
    ) as elsewhere:
        assert await elsewhere.count_messages() == 0
        assert await elsewhere.persona() is None
    assert await maya.count_memories() > 0


async def test_memories_can_be_changed_and_deleted(maya: AsyncMemoryClient) -> None:
    await maya.add(TURN)
    await maya.flush()
    memory = next(item for item in (await maya.memories()).items if "Lisbon" in item.content)

    assert await maya.update_memory(memory.id, "Lives in Porto") == memory.version + 1
    assert "Lives in Porto" in {item.content for item in (await maya.memories()).items}
    assert await maya.delete_memories([memory.id, "m_nope"]) == 1
    assert "Lives in Porto" not in {item.content for item in (await maya.memories()).items}
    with pytest.raises(NotFound):
        await maya.update_memory("m_nope", "x")


async def test_documents_can_be_written_and_removed(maya: AsyncMemoryClient) -> None:
    await maya.add(TURN)
    await maya.flush()
    path = (await maya.scenes())[0].path

    await maya.write_scene(path, "# Edited\n", summary="By hand")
    scene = await maya.read_scene(path)
    assert scene is not None
    assert "# Edited" in scene.content
    assert "summary: By hand" in scene.content
    with pytest.raises(NotFound):
        await maya.write_scene("no-such.md", "x")
    await maya.remove_scene(path)
    await maya.remove_scene(path)
    assert await maya.read_scene(path) is None

    await maya.write_persona("# Maya\n- likes tea\n")
    persona = await maya.persona()
    assert persona is not None
    assert persona.content.startswith("# Maya\n- likes tea")


async def test_deleting_a_session_counts_what_went(maya: AsyncMemoryClient) -> None:
    await maya.add(TURN)
    await maya.add([("user", "another one")], session="s2")

    assert await maya.delete_messages(session_ids=["s1", "nope"]) == 2
    assert await maya.with_scope(session=None).count_messages() == 1


async def test_the_clients_and_the_servers_errors_meet(url: str, maya: AsyncMemoryClient) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await maya.add([("system", "x")])
    assert caught.value.code == 400
    assert "messages.0.role" in caught.value.message
    with pytest.raises(InvalidRequest):
        await maya.search("q" * 2_049)
    assert (await maya.health()).status == "ok"
    assert set(await maya.load()) == {"l1", "l2", "l3"}
    assert await maya.retry() == 0


async def test_a_server_with_a_key_lets_nobody_in_without_it(
    start: Callable[..., AbstractAsyncContextManager[str]],
) -> None:
    async with start(api_key="key") as url, httpx.AsyncClient(base_url=url) as stranger:
        async with AsyncMemoryClient(url, team="t", agent="a", user="u") as keyless:
            with pytest.raises(Unauthorized):
                await keyless.persona()
        async with AsyncMemoryClient(url, api_key="key", team="t", agent="a", user="u") as client:
            assert await client.persona() is None
        assert (await stranger.get("/health")).json()["status"] == "ok"
        assert (await stranger.get("/metrics")).status_code == 401
        assert (await stranger.options("/v3/core/read")).status_code == 204


async def test_what_was_acknowledged_is_there_after_a_restart(
    start: Callable[..., AbstractAsyncContextManager[str]],
) -> None:
    async with start() as url, AsyncMemoryClient(url, team="t", agent="a", user="u", session="s") as client:
        await client.add(TURN)

    async with start() as url, AsyncMemoryClient(url, team="t", agent="a", user="u") as client:
        assert await client.count_messages() == 2
