"""`mem:` commands, typed by a person into the client."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memstrata.memory import MessageInput
from memstrata.proxy.wire.request import Reply
from memstrata.records import Scope

SCOPE = Scope("default", "home", "helper", "local")


def request(*texts: str) -> dict[str, Any]:
    messages = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    return {"model": "m", "max_tokens": 900, "tools": [{"name": "Bash"}], "messages": messages}


async def told(proxy: Any, *texts: str, **more: Any) -> str:
    prepared = await proxy.send(request(*texts), **more)
    assert prepared.answer is not None, prepared.bypass
    assert prepared.watch is None
    return str(json.loads(prepared.answer.body)["content"][0]["text"])


async def test_help_and_what_is_no_command_are_answered_in_the_users_language(proxy: Any) -> None:
    assert "mem:forget" in await told(proxy, "mem:help")
    assert "记忆命令" in await told(proxy, "你好，帮我写一个登录页", "好的", "mem：help")
    assert "mem:dance" in await told(proxy, "mem:dance")
    assert (await proxy.send(request("what does mem:help do?"))).answer is None


async def test_status_says_whose_memory_this_is(proxy: Any, said: Callable[..., Reply]) -> None:
    first = await proxy.send(request("hello"))
    await first.watch.finished(200, said("hi"))
    status = await told(proxy, "hello", "hi", "mem:status")

    assert "Team home, agent helper, task none. Session s1." in status
    assert "Memory is on." in status
    assert "Today: 1 requests, 14 tokens read, 3 of them from the cache, 5 written." in status
    assert "Persona and scenes are as of" in status


async def test_off_and_on_switch_recall_and_writing_and_keep_the_prefix(proxy: Any, said: Callable[..., Reply]) -> None:
    await proxy.memory.add(SCOPE, "earlier", [MessageInput("user", "deployments go to the Lisbon cluster")])
    await proxy.memory.flush(SCOPE)
    first = json.loads((await proxy.send(request("where do deployments go?"))).body)
    assert "off" in await told(proxy, "where do deployments go?", "Lisbon", "mem:off")
    quiet = await proxy.send(request("where do deployments go?", "Lisbon", "mem:off", "off", "which Lisbon cluster?"))
    body = json.loads(quiet.body)
    assert body["messages"][0] == first["messages"][0]
    assert body["system"] == first["system"]
    assert body["messages"][-1]["content"] == "which Lisbon cluster?"
    assert "off" in quiet.bypass
    assert quiet.watch is not None
    await quiet.watch.finished(200, said("that one"))
    assert await proxy.memory.store.read(lambda r: r.proxy.turns.due(proxy.clock.now(), 9)) == ()

    assert "on again" in await told(proxy, "where do deployments go?", "Lisbon", "mem:off", "off", "mem:on")
    again = await proxy.send(
        request("where do deployments go?", "Lisbon", "mem:on", "on", "the cluster of deployments?")
    )
    assert again.bypass == ""


async def test_why_shows_where_a_memory_came_from_and_forget_lets_go_of_it(proxy: Any) -> None:
    await proxy.memory.add(SCOPE, "earlier", [MessageInput("user", "deployments go to the Lisbon cluster")])
    await proxy.memory.flush(SCOPE)
    assert "Lisbon" in (await proxy.send(request("where do deployments go?"))).body.decode()

    why = await told(proxy, "where do deployments go?", "Lisbon", "mem:why")
    assert "from: deployments go to the Lisbon cluster" in why
    found = await told(proxy, "where do deployments go?", "Lisbon", "mem:forget Lisbon cluster")
    memory_id = found.split("- ")[1].split(":")[0]
    assert memory_id in why
    assert "1 forgotten" in await told(proxy, "where do deployments go?", "Lisbon", f"mem:forget {memory_id}")

    later = await proxy.send(request("where do deployments go?", "To a cluster", "and now?"))
    assert "Lisbon" not in str(json.loads(later.body)["messages"])
    assert "No memory" in await told(proxy, "where do deployments go?", "x", "mem:forget Lisbon cluster")


async def test_sync_takes_the_persona_anew(proxy: Any) -> None:
    first = json.loads((await proxy.send(request("hello"))).body)
    await proxy.memory.add(SCOPE, "earlier", [MessageInput("user", "deployments go to the Lisbon cluster")])
    await proxy.memory.flush(SCOPE)
    same = json.loads((await proxy.send(request("hello", "hi", "go on"))).body)
    await told(proxy, "hello", "hi", "mem:sync")
    anew = json.loads((await proxy.send(request("hello", "hi", "go on"))).body)

    assert same["system"] == first["system"] != anew["system"]
    assert "scene-navigation" in str(anew["system"])


async def test_bind_with_names_moves_the_session(proxy: Any) -> None:
    await proxy.send(request("hello"))

    assert "Team shop, agent clerk, task t1" in await told(proxy, "hello", "hi", "mem:bind shop/clerk/t1")
    assert "Team shop, agent clerk" in await told(proxy, "hello", "hi", "mem:status")
    assert "team/agent" in await told(proxy, "hello", "hi", "mem:bind shop")


@pytest.mark.parametrize("command", ["mem:sync", "mem:forget words"])
async def test_a_core_that_is_down_is_said(proxy: Any, command: str) -> None:
    await proxy.send(request("hello"))
    proxy.transport.down = True

    assert "could not be asked" in await told(proxy, "hello", "hi", command)


async def test_a_session_without_memory_says_why(proxy: Any) -> None:
    answer = await told(proxy, "mem:why", user="nobody", key="a-key-that-is-none")

    assert "no memory" in answer
