"""An export goes out and comes in over HTTP, as a stream."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager

import httpx
import pytest

from memstrata.settings import PipelineSettings

Start = Callable[..., AbstractAsyncContextManager[str]]
HEADERS = {"authorization": "Bearer local", "x-tdai-service-id": "default"}
WHO = {"team_id": "home", "agent_id": "assistant", "user_id": "lin"}


@pytest.fixture
async def undistilled(start: Start) -> AsyncIterator[str]:
    """Return the address of a server that keeps messages alone, so that an export is what was said and no more."""
    async with start(pipeline=PipelineSettings(enabled=False)) as found:
        yield found


async def said(http: httpx.AsyncClient, *texts: str, user: str = "lin") -> None:
    messages = [{"role": "user", "content": text} for text in texts]
    body = {**WHO, "user_id": user, "session_id": "s", "messages": messages}
    assert (await http.post("/v3/conversation/add", json=body)).status_code == 200


async def test_an_export_comes_back_in_another_instance_and_twice_is_nothing_new(undistilled: str) -> None:
    async with httpx.AsyncClient(base_url=undistilled, headers=HEADERS) as http:
        await said(http, "I live in Lisbon", "我不吃花生")
        response = await http.post("/v3/export", json=WHO)
        assert response.headers["content-type"] == "application/x-ndjson"
        assert [json.loads(line).get("kind") for line in response.text.splitlines()] == [
            *(None, "session", "message", "message", "end")
        ]
        there = {"x-tdai-service-id": "other"}
        foreseen = await http.post("/v3/import?dry_run=true", content=response.content, headers=there)
        assert (foreseen.json()["data"]["dry_run"], foreseen.json()["data"]["added"]) == (True, 3)
        count = await http.post("/v3/conversation/count", json=WHO, headers=there)
        assert count.json()["data"]["total"] == 0
        packed = {**there, "content-encoding": "gzip"}
        done = (await http.post("/v3/import", content=gzip.compress(response.content), headers=packed)).json()["data"]
        assert (done["added"], done["known"], done["conflict"], done["problems"]) == (3, 0, 0, [])
        again = (await http.post("/v3/import", content=response.content, headers=there)).json()["data"]
        assert (again["added"], again["known"]) == (0, 3)
        count = await http.post("/v3/conversation/count", json=WHO, headers=there)
        assert count.json()["data"]["total"] == 2


async def test_a_user_becomes_another_beside_the_first(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers=HEADERS) as http:
        await said(http, "I live in Lisbon")
        assert (await http.post("/v3/pipeline/flush", json=WHO)).status_code == 200
        export = (await http.post("/v3/export", json={"user_id": "lin"})).content
        for added in (True, False):
            done = (await http.post("/v3/import?as_user=mia", content=export)).json()["data"]
            assert (done["added"] > 0, done["conflict"]) == (added, 0)
        found = await http.post("/v3/atomic/query", json={**WHO, "user_id": "mia"})
        mine = await http.post("/v3/atomic/query", json=WHO)
        assert [one["content"] for one in found.json()["data"]["items"]] == [
            one["content"] for one in mine.json()["data"]["items"]
        ]
        whole = (await http.post("/v3/export", json={})).content
        assert (await http.post("/v3/import?as_user=mia", content=whole)).status_code == 400


async def test_a_wrong_line_is_named_and_the_same_file_can_be_sent_again(undistilled: str) -> None:
    async with httpx.AsyncClient(base_url=undistilled, headers=HEADERS) as http:
        await said(http, "I live in Lisbon")
        export = (await http.post("/v3/export", json={})).content
        header, *lines = export.splitlines()
        session, message, _ = lines
        bad = {
            "a field of the wrong type": session.replace(b'"warmup":', b'"warmup":"x",'),
            "no JSON": b"{",
            "an unknown kind": b'{"kind":"secret"}',
            "deep": b'{"kind":"memory","metadata":' + b"[" * 100_000,
            "too large a number": message.replace(b'"seq":', b'"seq":99999999999999999999,"seq":'),
        }
        there = {"x-tdai-service-id": "other"}
        for name, line in bad.items():
            sent = b"\n".join([header, lines[0], line, *lines[1:]])
            response = await http.post("/v3/import", content=sent, headers=there)
            assert response.status_code == 400, name
            assert "line 3" in response.json()["message"], name
            assert "Lisbon" not in response.text
        cut = await http.post("/v3/import", content=b"\n".join([header, *lines[:-1]]), headers=there)
        assert (cut.status_code, "cut short" in cut.json()["message"]) == (400, True)
        for wrong in (b"", b"[]", b'{"memstrata_export":3}', b'{"memstrata_export":1}'):
            response = await http.post("/v3/import", content=wrong, headers=there)
            assert (response.status_code, "line 1" in response.json()["message"]) == (400, True), wrong
        done = await http.post("/v3/import", content=export, headers=there)
        assert done.status_code == 200


async def test_what_is_here_stays_and_the_conflict_is_named(undistilled: str) -> None:
    async with httpx.AsyncClient(base_url=undistilled, headers=HEADERS) as http:
        await said(http, "I live in Lisbon")
        export = (await http.post("/v3/export", json={})).text
        changed = export.replace("Lisbon", "Berlin")
        done = (await http.post("/v3/import", content=changed.encode())).json()["data"]
        assert (done["added"], done["conflict"]) == (0, 1)
        assert done["problems"] == [
            {"line": 3, "kind": "message", "reason": "another message of this id is in the session"}
        ]
        found = await http.post("/v3/conversation/query", json=WHO)
        assert "Berlin" not in found.text
