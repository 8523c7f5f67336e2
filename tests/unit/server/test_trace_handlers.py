"""What `/v3/trace`, the histories, undo and restore ask of `Memory`, and how their answers look on the wire."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest

from memstrata.errors import Conflict
from memstrata.records import Derivation, MemoryRecord, MemoryVersion, Scope, VersionRef

SCOPE = Scope("default", "t", "a", "u")
MADE = {
    "id": "home.md",
    "version": "v3",
    "action": "write",
    "at": "2026-01-02T03:04:06.000Z",
    "run_id": 9,
    "model": "m",
    "mode": "chat",
    "prompt": {"id": "mp-1", "version": "v2", "source": "team"},
    "note": "why",
    "notes": ["d2"],
}


async def data(api: httpx.AsyncClient, route: str, /, **body: Any) -> Any:
    response = await api.post(route, json=body)
    assert response.status_code == 200, response.text
    return response.json()["data"]


async def test_a_memory_is_traced_by_either_name_of_its_id(api: httpx.AsyncClient, memory: Any) -> None:
    for body in ({"id": "m_1"}, {"memory_id": "m_1"}):
        answer = await data(api, "/v3/trace", **body)
        assert memory.last == ("trace", (SCOPE, "m_1"), {})
        assert set(answer) == {"memory", "messages", "replaced", "scenes", "persona", "generation"}
        assert answer["generation"] == [MADE]


async def test_a_scene_is_traced_by_its_path(api: httpx.AsyncClient, memory: Any) -> None:
    answer = await data(api, "/v3/trace", path="home.md")

    assert memory.last == ("trace_scene", (SCOPE, "home.md"), {})
    assert (answer["scene"]["path"], answer["generation"]) == ("home.md", [MADE])
    (support,) = answer["memories"]
    assert (support["content"], support["messages"][0]["id"]) == ("Lives in Lisbon", "msg-1")


async def test_the_persona_is_traced_whole_or_by_line(api: httpx.AsyncClient, memory: Any) -> None:
    await data(api, "/v3/trace", persona=True)
    assert memory.last == ("trace_persona", (SCOPE, ""), {})

    answer = await data(api, "/v3/trace", persona=True, line="tea")

    assert memory.last == ("trace_persona", (SCOPE, "tea"), {})
    assert (answer["persona"]["content"], answer["line"]) == ("# Maya", "tea")
    assert [scene["path"] for scene in answer["scenes"]] == ["home.md"]
    assert [support["messages"][0]["id"] for support in answer["memories"]] == ["msg-1"]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"id": "m_1", "memory_id": "m_1"},
        {"id": "m_1", "path": "home.md"},
        {"path": "home.md", "persona": True},
        {"persona": False},
        {"id": "m_1", "line": "tea"},
        {"line": "tea"},
        {"path": "../home.md"},
        {"persona": True, "line": "x" * 2_049},
        {"persona": "yes"},
    ],
)
async def test_a_trace_of_none_or_of_several_things_is_400(
    api: httpx.AsyncClient, memory: Any, body: dict[str, Any]
) -> None:
    assert (await api.post("/v3/trace", json=body)).status_code == 400
    assert memory.calls == []


async def test_what_rules_did_names_no_model_and_no_prompt(api: httpx.AsyncClient, memory: Any) -> None:
    by_rules = Derivation(VersionRef("m_1", 0), 3, 0, "store", "", "chat", None)
    memory.answers["trace"] = replace(memory.answers["trace"], derivations=(by_rules,))

    (made,) = (await data(api, "/v3/trace", id="m_1"))["generation"]

    assert (made["id"], made["version"], made["model"], made["prompt"]) == ("m_1", "v0", None, None)


async def test_a_memorys_history_tells_when_each_version_held_and_what_took_its_place(
    api: httpx.AsyncClient, memory: Any
) -> None:
    (newest,) = memory.answers["history"]
    row: MemoryRecord = newest.memory
    old = replace(row, version=1, valid_to=row.updated_at + 1, superseded_by=row.seq)
    memory.answers["history"] = (newest, MemoryVersion(old, VersionRef(row.memory_id, 2), (), True, ()))

    answer = await data(api, "/v3/atomic/history", id=row.memory_id)

    assert memory.last == ("history", (SCOPE, row.memory_id), {})
    assert answer["total"] == 2
    first, second = answer["items"]
    assert (first["version"], first["live"], first["proposal"], first["valid_to"]) == ("v2", True, False, None)
    assert (first["message_ids"], first["superseded_by"], first["generation"]) == (["msg-1"], None, [MADE])
    assert (first["content"], first["origin"], first["user_id"]) == ("Lives in Lisbon", "rules", "u")
    assert (second["version"], second["live"], second["proposal"]) == ("v1", False, True)
    assert (second["valid_from"], second["valid_to"]) == ("2026-01-02T03:04:06.000Z", "2026-01-02T03:04:06.001Z")
    assert second["superseded_by"] == {"id": row.memory_id, "version": "v2"}
    assert "seq" not in first


async def test_an_undo_answers_with_what_holds_again_and_409_where_there_is_nothing(
    api: httpx.AsyncClient, memory: Any
) -> None:
    answer = await data(api, "/v3/atomic/undo", id="m_1")
    assert memory.last == ("undo", (SCOPE, "m_1"), {})
    assert ([item["version"] for item in answer["items"]], answer["total"]) == (["v2"], 1)

    memory.answers["undo"] = Conflict("nothing to undo")
    response = await api.post("/v3/atomic/undo", json={"id": "m_1"})
    assert (response.status_code, response.json()["code"]) == (409, 409)


async def test_histories_of_documents_carry_their_texts(api: httpx.AsyncClient, memory: Any) -> None:
    (scene,) = (await data(api, "/v3/scenario/history", path="home.md"))["items"]
    assert memory.last == ("scene_history", (SCOPE, "home.md"), {})
    assert scene["content"].startswith("-----META-START-----")
    assert (scene["version"], scene["live"], scene["valid_to"], scene["generation"]) == ("v3", True, None, [MADE])

    (persona,) = (await data(api, "/v3/core/history"))["items"]
    assert memory.last == ("persona_history", (SCOPE,), {})
    assert (persona["content"], persona["live"], persona["proposal"]) == ("# Maya", False, True)
    assert persona["valid_to"] == "2026-01-02T03:04:07.000Z"


@pytest.mark.parametrize("version", [3, "v3"])
async def test_a_version_is_named_as_it_is_shown_or_by_its_number(
    api: httpx.AsyncClient, memory: Any, version: Any
) -> None:
    scene = await data(api, "/v3/scenario/restore", path="home.md", version=version)
    assert memory.last == ("restore_scene", (SCOPE, "home.md", 3), {})
    assert (scene["path"], scene["version"]) == ("home.md", "v3")

    persona = await data(api, "/v3/core/restore", version=version)
    assert memory.last == ("restore_persona", (SCOPE, 3), {})
    assert persona["version"] == "v1"


@pytest.mark.parametrize("version", [None, "", "3", "v", "v-1", "vv3", -1, 1.5, True, "v" + "9" * 16, "v3\n"])
async def test_what_is_no_version_is_400(api: httpx.AsyncClient, memory: Any, version: Any) -> None:
    for route, body in (("scenario", {"path": "home.md"}), ("core", {})):
        response = await api.post(f"/v3/{route}/restore", json={**body, "version": version})
        assert response.status_code == 400, response.text
    assert memory.calls == []


@pytest.mark.parametrize("route", ["history", "restore"])
async def test_a_path_that_leads_elsewhere_is_400(api: httpx.AsyncClient, memory: Any, route: str) -> None:
    response = await api.post(f"/v3/scenario/{route}", json={"path": "../x.md", "version": 1})

    assert response.status_code == 400
    assert memory.calls == []
