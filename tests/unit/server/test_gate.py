"""What happens to a request wherever it goes: preflights, the key, errors, counting."""

import logging
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from memstrata.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    Misconfigured,
    NotFound,
    Unavailable,
)
from memstrata.records import ComponentHealth, Health
from memstrata.server import create_app
from memstrata.settings import ServerSettings

ORIGIN = {"origin": "https://app.example"}


def client(memory: Any, settings: ServerSettings, headers: Mapping[str, str] | None = None) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(create_app(memory, settings))
    return httpx.AsyncClient(transport=transport, base_url="http://server", headers=headers)


@pytest.mark.parametrize("path", ["/v3/core/read", "/v2/core/read", "/nope", "/metrics"])
async def test_with_a_key_every_path_but_health_wants_it(memory: Any, path: str) -> None:
    async with client(memory, ServerSettings(api_key="key"), {"x-tdai-service-id": "default"}) as api:
        assert (await api.post(path, json={})).status_code == 401
        assert (await api.post(path, json={}, headers={"authorization": "Bearer wrong"})).status_code == 401
        assert (await api.get("/health")).status_code == 200
        assert (await api.options(path)).status_code == 204


async def test_a_refused_key_is_an_envelope_only_on_the_data_plane(memory: Any) -> None:
    async with client(memory, ServerSettings(api_key="key")) as api:
        data_plane = (await api.post("/v3/core/read", json={})).json()
        elsewhere = (await api.post("/recall", json={})).json()

    assert (data_plane["code"], data_plane["message"]) == (401, "Unauthorized: missing Bearer token")
    assert elsewhere == {"error": "Unauthorized: missing Bearer token"}


async def test_the_right_key_passes(memory: Any) -> None:
    headers = {"authorization": "Bearer schlüssel".encode(), "x-tdai-service-id": b"default"}
    body = {"team_id": "t", "agent_id": "a", "user_id": "u"}

    async with client(memory, ServerSettings(api_key="schlüssel")) as api:
        response = await api.post("/v3/core/read", json=body, headers={k.encode(): v for k, v in headers.items()})

    assert response.status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        (InvalidRequest("too long", field="query"), 400, None),
        (Forbidden("not yours"), 403, None),
        (NotFound("no such thing"), 404, None),
        (Conflict("another body under this key"), 409, False),
        (Unavailable("the disk is full"), 503, True),
        (Misconfigured("secret path /etc/x"), 500, False),
        (RuntimeError("secret detail"), 500, True),
    ],
)
async def test_every_error_of_the_house_has_its_status(
    api: httpx.AsyncClient, memory: Any, error: Exception, status: int, retryable: bool | None
) -> None:
    memory.answers["persona"] = error

    response = await api.post("/v3/core/read", json={})

    answer = response.json()
    assert (response.status_code, answer["code"]) == (status, status)
    assert answer["request_id"].startswith("req-")
    assert answer.get("retryable") == retryable
    assert ("trace_id" in answer) == (retryable is not None)
    assert "secret" not in response.text


async def test_unavailable_says_when_to_come_back(api: httpx.AsyncClient, memory: Any) -> None:
    memory.answers["persona"] = Unavailable("busy", retry_after=2.1)

    assert (await api.post("/v3/core/read", json={})).headers["retry-after"] == "3"


async def test_an_unforeseen_error_is_logged_under_its_trace_id(
    api: httpx.AsyncClient, memory: Any, caplog: pytest.LogCaptureFixture
) -> None:
    memory.answers["persona"] = RuntimeError("secret detail")

    with caplog.at_level(logging.ERROR, "memstrata"):
        answer = (await api.post("/v3/core/read", json={})).json()

    assert answer["message"] == "Internal server error"
    assert answer["trace_id"] in caplog.text
    assert "RuntimeError: secret detail" in caplog.text


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v3/nope"), ("GET", "/nope"), ("GET", "/v3/core/read"), ("PUT", "/health"), ("POST", "/v3/core/read/")],
)
async def test_an_unknown_path_or_verb_is_404_and_no_envelope(api: httpx.AsyncClient, method: str, path: str) -> None:
    response = await api.request(method, path)

    assert (response.status_code, response.json()) == (404, {"error": f"Not found: {method} {path}"})


async def test_answers_are_json_with_a_length_and_an_id_of_their_own(api: httpx.AsyncClient) -> None:
    response = await api.post("/v3/core/read", json={}, headers={"x-request-id": "mine"})

    assert response.headers["content-type"] == "application/json"
    assert int(response.headers["content-length"]) == len(response.content)
    assert len(response.json()["request_id"]) == len("req-") + 16


async def test_no_origin_may_call_unless_it_is_listed(memory: Any) -> None:
    async with client(memory, ServerSettings(), ORIGIN) as api:
        for response in (await api.options("/v3/core/read"), await api.get("/health")):
            assert not [name for name in response.headers if name.startswith("access-control")]


async def test_a_listed_origin_gets_its_preflight_with_the_headers_that_clients_send(memory: Any) -> None:
    async with client(memory, ServerSettings(cors_origins=("https://app.example",))) as api:
        listed = await api.options("/v3/core/read", headers=ORIGIN)
        foreign = await api.options("/v3/core/read", headers={"origin": "https://evil.example"})

    assert listed.status_code == 204
    assert listed.headers["access-control-allow-origin"] == "https://app.example"
    assert listed.headers["vary"] == "Origin"
    allowed = {name.strip() for name in listed.headers["access-control-allow-headers"].split(",")}
    assert {"authorization", "x-tdai-service-id", "x-tdai-team-id", "x-request-id", "idempotency-key"} <= allowed
    assert foreign.status_code == 204
    assert "access-control-allow-origin" not in foreign.headers


async def test_errors_carry_the_cors_headers_too(memory: Any) -> None:
    async with client(memory, ServerSettings(cors_origins=("*",)), ORIGIN) as api:
        for response in (await api.post("/v3/core/read", json={}), await api.get("/nope"), await api.get("/health")):
            assert response.headers["access-control-allow-origin"] == "*"


async def test_health_names_components_and_tells_numbers_only_to_callers(memory: Any) -> None:
    parts = {
        "store": ComponentHealth("ok", "", {"messages": 3}),
        "embedder": ComponentHealth("reduced", "none configured"),
    }
    memory.answers["health"] = Health("ok", 12.7, parts)

    async with client(memory, ServerSettings(api_key="key")) as api:
        stranger = (await api.get("/health")).json()
        caller = (await api.get("/health", headers={"authorization": "Bearer key"})).json()

    assert (stranger["status"], stranger["uptime"]) == ("ok", 12)
    mcp = stranger["components"].pop("mcp")
    assert mcp["state"] in ("ok", "reduced")
    assert stranger["components"] == {
        "store": {"state": "ok"},
        "embedder": {"state": "reduced", "reason": "none configured"},
    }
    assert caller["components"]["store"]["details"] == {"messages": 3}


async def test_metrics_count_requests_by_route_and_status_and_show_components(
    api: httpx.AsyncClient, memory: Any
) -> None:
    memory.answers["health"] = Health("ok", 1.0, {"store": ComponentHealth("ok", "", {"messages": 3, "path": "x"})})
    memory.answers["scenes"] = RuntimeError("broken")
    await api.post("/v3/core/read", json={})
    await api.post("/v3/core/read", json={})
    await api.post("/v3/scenario/ls", json={})
    await api.post("/a/path/that/somebody/made/up", json={})

    lines = (await api.get("/metrics")).text.splitlines()

    assert 'memstrata_http_requests_total{route="/v3/core/read",status="200"} 2.0' in lines
    assert 'memstrata_http_requests_total{route="/v3/scenario/ls",status="500"} 1.0' in lines
    assert 'memstrata_http_requests_total{route="other",status="404"} 1.0' in lines
    assert 'memstrata_http_request_duration_seconds_count{route="/v3/core/read"} 2.0' in lines
    assert 'memstrata_component_state{component="store",state="ok"} 1.0' in lines
    assert 'memstrata_component{component="store",name="messages"} 3.0' in lines
    assert not any("made" in line for line in lines)
