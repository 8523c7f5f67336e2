"""A program that was written for the contract's own SDK runs against the real server when its imports are changed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memstrata import client
from memstrata.client.compat import (
    AsyncMemoryClient,
    AsyncMetadataClient,
    HttpStub,
    MemoryClient,
    MetadataClient,
    ParamError,
    TDAMError,
)

# Written against the signatures of wire contract §9.1 as if for its package; `run` is called with the server's address.
PROGRAM = """
from tencentdb_agent_memory.v3 import (
    MemoryClient, MemoryGenerationLogClient, MemoryPromptClient, MetadataClient,
)
from tencentdb_agent_memory import TDAMError

def run(endpoint, admin_key):
    seen = {}
    with MemoryClient(endpoint, "local", "default", team_id="home", agent_id="helper", user_id="lin",
                      session_id="s1", timeout=30, verify=True) as memory:
        added = memory.add_conversation([
            {"role": "user", "content": "记住：以后推荐菜谱都要注明过敏原", "timestamp": "2026-01-02T03:04:05Z"},
            {"role": "assistant", "content": "好的。"},
        ])
        seen["added"] = added["total_count"], len(added["accepted_ids"])
        page = memory.query_conversation(session_id="s1", limit=10, offset=0)
        seen["said"] = [m["role"] for m in page["messages"]], page["total"]
        seen["found"] = memory.search_conversation("过敏原", limit=3)["messages"][0]["id"] in added["accepted_ids"]
        seen["counted"] = memory.count_conversation()["total"], memory.count_atomic()["total"] >= 0
        seen["atoms"] = memory.query_atomic(type="instruction", limit=5)["total"] >= 0
        seen["hits"] = isinstance(memory.search_atomic("过敏原", limit=5)["items"], list)
        try:
            memory.update_atomic("m-unknown", "text")
        except TDAMError as error:
            seen["update"] = error.code, str(error).startswith("<TDAMError: (code=404, message=")
        seen["no_scene"] = memory.read_scenario("none.md").get("content")
        try:
            memory.write_scenario("home.md", "# Home", summary="where they live")
        except TDAMError as error:
            seen["write"] = error.code
        prefix = "no-such"
        seen["scenes"] = memory.list_scenarios(path_prefix=prefix)["entries"], memory.count_scenario(path_prefix=prefix)["total"]
        seen["rm"] = "content" in memory.rm_scenario("home.md")
        memory.write_core("# Lin")
        seen["core"] = memory.read_core()["content"].startswith("# Lin"), memory.count_core()["total"]
        other = memory.with_isolation(user_id="mei", session_id=None)
        seen["other"] = other.query_conversation()["total"]
        seen["deleted"] = memory.delete_conversation(message_ids=added["accepted_ids"])["deleted_count"]

    with MetadataClient(endpoint, "local", "default", user_key=admin_key) as meta:
        root = meta.verify_auth(admin_key)["user"]["user_id"]
        lin = meta.create_user({"username": "lin", "user_id": None})
        team = meta.create_team({"name": "kitchen", "owner_user_id": root})
        meta.add_team_member({"team_id": team["team_id"], "user_id": lin["user_id"]})
        seen["members"] = meta.list_team_members(team["team_id"], pagination={"limit": 10, "offset": 0})["total"]
        agent = meta.create_agent({"team_id": team["team_id"], "owner_user_id": root, "name": "cook"})
        seen["agents"] = any(a["agent_id"] == agent["agent_id"]
                             for a in meta.list_agents({"team_id": team["team_id"]})["items"])
        task = meta.create_task({"team_id": team["team_id"], "creator_user_id": root, "title": "dinner"})
        meta.link_task_agent(task["task_id"], agent["agent_id"])
        seen["links"] = meta.list_task_agents(task["task_id"])["total"]
        asset = meta.list_assets({"team_id": team["team_id"], "asset_type": "chat_memory"})["items"][0]["asset_id"]
        seen["allowed"] = meta.check_acl({"user_id": root, "asset_id": asset, "action": "read"})["allowed"]
        seen["quota"] = meta.get_instance_quota()["max_users_per_instance"]
        with MemoryClient(endpoint, "local", "default", team_id="t", agent_id="a", user_id="u",
                          user_key=admin_key) as owner:
            seen["cleared"] = owner.clear_chat_memory([asset])["all_cleared"]
        try:
            meta.get_team("no-such-team")
        except TDAMError as error:
            seen["missing"] = error.code, error.message.partition(":")[0]

    with MemoryPromptClient(endpoint, "local", "default") as prompts:
        made = prompts.create(name="short", layer="l1", prompt="Keep it short.")["memory_prompt_id"]
        seen["prompts"] = [item["memory_prompt_id"] == made for item in prompts.list(layer="l1")["items"]]
        seen["affected"] = prompts.apply(made, layer="l1", team_id="home")["affected"]
        seen["settings"] = len(prompts.list_settings(memory_prompt_id=made)["items"])
    with MemoryGenerationLogClient(endpoint, "local", "default") as log:
        seen["log"] = log.list(layer="l3", limit=5, start_time="2026-01-01T00:00:00Z", end_time="2026-01-02T00:00:00Z")["items"]
    return seen
"""


def moved(program: str) -> Any:
    """Return the program's `run` after the one change that a move needs."""
    text = program.replace("tencentdb_agent_memory.v3", "memstrata.client.compat")
    text = text.replace("tencentdb_agent_memory", "memstrata.client.compat")
    names: dict[str, Any] = {}
    exec(compile(text, "program", "exec"), names)
    return names["run"]


async def admin_key(url: str) -> str:
    async with client.AsyncMetadataClient(url) as operator:
        return (await operator.init_admin({"username": "root"}))["user_key"]


async def test_a_program_for_the_contracts_sdk_needs_another_import_and_nothing_else(serve: Any) -> None:
    async with serve() as url:
        seen = await asyncio.to_thread(moved(PROGRAM), url, await admin_key(url))

    assert seen == {
        "added": (2, 2),
        "said": (["assistant", "user"], 2),
        "found": True,
        "counted": (2, True),
        "atoms": True,
        "hits": True,
        "update": (404, True),
        "no_scene": None,
        "write": 404,
        "scenes": ([], 0),
        "rm": False,
        "core": (True, 1),
        "other": 0,
        "deleted": 2,
        "members": 2,
        "agents": True,
        "links": 1,
        "allowed": True,
        "quota": 500,
        "cleared": True,
        "missing": (404, "team_not_found"),
        "prompts": [True],
        "affected": 1,
        "settings": 1,
        "log": [],
    }


async def test_the_asynchronous_twins_answer_the_same(serve: Any) -> None:
    async with serve() as url:
        scope: dict[str, Any] = {"team_id": "home", "agent_id": "helper", "user_id": "lin", "session_id": "s1"}
        async with AsyncMemoryClient(url, "local", "default", **scope) as memory:
            added = await memory.add_conversation([{"role": "user", "content": "hi"}])
            assert (await memory.query_conversation())["messages"][0]["id"] == added["accepted_ids"][0]
            with pytest.raises(TDAMError) as caught:
                await memory.search_atomic("")
            assert caught.value.code == 400
        async with AsyncMetadataClient(url, "local", "default", user_key=await admin_key(url)) as meta:
            assert (await meta.list_users(pagination={"limit": 1}))["limit"] == 1


def test_what_the_contracts_sdk_refuses_is_refused_before_anything_is_sent() -> None:
    ids: dict[str, Any] = {"team_id": "t", "agent_id": "a", "user_id": "u"}
    for endpoint, key, instance in (
        ("", "k", "i"),
        ("ftp://h", "k", "i"),
        ("http://h", " ", "i"),
        ("http://h", "k", ""),
    ):
        with pytest.raises(ParamError):
            MemoryClient(endpoint, key, instance, **ids)
    for timeout in (0, -1, True):
        with pytest.raises(ParamError):
            HttpStub("http://h", "k", "i", timeout=timeout)
    with pytest.raises(ParamError, match="always verified"):
        MemoryClient("https://h", "k", "i", verify=False, **ids)
    with MemoryClient("http://127.0.0.1:1", "k", "i", **ids) as memory:
        with pytest.raises(ValueError, match="session_id"):
            memory.add_conversation([{"role": "user", "content": "hi"}])
        with pytest.raises(ParamError):
            memory.delete_conversation()
        for bad in ([], [" "], ["m"] * 5_001):
            with pytest.raises(ParamError):
                memory.delete_conversation(message_ids=bad)
            with pytest.raises(ParamError):
                memory.delete_atomic(bad)
    with MetadataClient("http://127.0.0.1:1", "k", "i") as meta:
        with pytest.raises(ParamError):
            meta.create_user(["lin"])  # type: ignore[arg-type]
        with pytest.raises(ParamError):
            meta.list_teams({"name": "kitchen"})
