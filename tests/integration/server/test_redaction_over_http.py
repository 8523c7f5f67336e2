"""What callers are told of secrets that were taken out: a number, in the answer and in the counters."""

from __future__ import annotations

import httpx

HEADERS = {"authorization": "Bearer x", "x-tdai-service-id": "default"}
OWNER = {"team_id": "home", "agent_id": "assistant", "user_id": "lin", "session_id": "s1"}


async def test_an_answer_says_how_many_secrets_were_taken_out_and_nothing_where_none_was(url: str) -> None:
    async with httpx.AsyncClient(base_url=url, headers=HEADERS) as client:

        async def call(path: str, **body: object) -> dict[str, object]:
            answer = await client.post(path, json={**OWNER, **body})
            assert answer.status_code == 200, answer.text
            data: dict[str, object] = answer.json()["data"]
            return data

        said = "password=hunter2zz, token ghp_" + "a1B2" * 9
        added = await call("/v3/conversation/add", messages=[{"role": "user", "content": said}])
        assert added["redacted"] == 2
        plain = await call("/v3/conversation/add", messages=[{"role": "user", "content": "I like tea"}])
        assert "redacted" not in plain
        stored = await call("/v3/conversation/query")
        assert "hunter2zz" not in str(stored)

        written = await call("/v3/core/write", content="Lin. The password is hunter2zz")
        assert written["redacted"] == 1
        assert "redacted" not in await call("/v3/core/write", content="Lin. The password is [redacted:password]")

        counters = (await client.get("/metrics")).text
    assert 'memstrata_component{component="redaction",name="redacted"} 3.0' in counters
