"""The client against the real server: writes of any size, recall for a request, the tools of an agent."""

from __future__ import annotations

from typing import Any

from memstrata.client import AsyncMemoryClient, AsyncMetadataClient, AsyncRecaller, AsyncToolset, MessageLike


def client(url: str, **given: Any) -> AsyncMemoryClient:
    return AsyncMemoryClient(url, team="home", agent="helper", user="lin", session="s1", **given)


async def test_a_write_of_any_size_is_stored_whole_and_once(serve: Any) -> None:
    said: list[MessageLike] = [("user", f"message {number}") for number in range(130)]
    said.append({"role": "user", "content": "字👨‍👩‍👧" * 4_000, "id": "long"})
    async with serve() as url, client(url) as memory:
        receipt = await memory.add(said, idempotency_key="import-1")
        stored = await memory.count_messages()
        again = await memory.add(said, idempotency_key="import-1")

        assert len(receipt.message_ids) == stored == 130 + 3
        assert (again.message_ids, again.replayed) == (receipt.message_ids, True)
        assert await memory.count_messages() == stored
        newest = await memory.messages(limit=3)
        assert "".join(one.content for one in reversed(newest.items)) == "字👨‍👩‍👧" * 4_000


async def test_a_request_carries_what_was_remembered_and_the_tools_find_the_rest(serve: Any) -> None:
    async with serve() as url, client(url) as memory:
        await memory.add([("user", "记住：以后推荐菜谱都要注明过敏原"), ("assistant", "好的。")])
        await memory.flush(wait_seconds=10.0)
        messages = [{"role": "user", "content": "推荐一个菜谱"}]

        recalled = await AsyncRecaller(memory, snapshot=True).recall(messages)
        tools = AsyncToolset(memory, language="zh")
        found = await tools.call("memory_search", {"query": "过敏原"})
        said = await tools.call("conversation_search", '{"query": "过敏原"}')
        scene = (await memory.scenes())[0]
        read = await tools.call("read_scene", {"path": scene.path})

        (request,) = recalled.in_messages(messages)
        assert request["content"].startswith('<relevant-memories source="memstrata">')
        assert request["content"].endswith("推荐一个菜谱")
        assert "[instruction" in request["content"]
        assert recalled.in_system("你好").startswith("你好\n\n<")
        assert recalled.reason == ""
        assert "过敏原" in found
        assert "user: 记住：以后推荐菜谱都要注明过敏原" in said
        assert "过敏原" in read
        assert "已用完" in await tools.call("memory_search", {"query": "过敏原"})
        assert "没有这个路径" in await tools.begin_turn().call("read_scene", {"path": "none.md"})


async def test_the_tools_of_one_session_find_what_was_said_in_another(serve: Any) -> None:
    async with serve() as url, client(url) as memory:
        await memory.add([("user", "记住：以后推荐菜谱都要注明过敏原")], session="last week")
        await memory.flush(session="last week", wait_seconds=10.0)
        tools = AsyncToolset(memory, language="zh")

        assert "过敏原" in await tools.call("memory_search", {"query": "过敏原"})
        assert "过敏原" in await tools.call("conversation_search", {"query": "过敏原"})


async def test_the_directory_is_asked_by_the_person_whose_key_it_is(serve: Any) -> None:
    async with serve() as url:
        async with AsyncMetadataClient(url) as operator:
            root = await operator.init_admin({"username": "root"})
            users = await operator.list_instance_users()
        async with AsyncMetadataClient(url, user_key=root["user_key"]) as meta:
            made = await meta.create_user_with_key({"username": "lin", "user_key": "a-key-of-her-own"})
            late = await meta.create_user_key({"user_id": made["user_id"], "expires_at": "2030-01-01T00:00:00Z"})
            kept = await meta.keep_user_key(late["key_id"])
        async with AsyncMetadataClient(url, user_key="a-key-of-her-own") as lin:
            seen = await lin.get_user(made["user_id"])

        assert [user["username"] for user in users["items"]] == ["root"]
        assert seen["username"] == "lin"
        assert (late["expires_at"], kept["expires_at"]) == ("2030-01-01T00:00:00.000Z", None)
