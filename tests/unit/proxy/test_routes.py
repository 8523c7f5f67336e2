"""Which paths are the proxy's, and what they mean."""

from __future__ import annotations

import pytest

from memstrata.proxy.routes import Route, route_of


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/messages", Route("claude-code", "", "anthropic", "generate", "/v1/messages")),
        ("/v1/messages/count_tokens", Route("claude-code", "", "anthropic", "count", "/v1/messages/count_tokens")),
        ("/v1/embeddings", Route("openai", "", "chat", "auxiliary", "/v1/embeddings")),
        ("/claude-code/mem-1/v1/messages", Route("claude-code", "mem-1", "anthropic", "generate", "/v1/messages")),
        ("/Cursor/mem-1/v1/chat/completions", Route("cursor", "mem-1", "chat", "generate", "/v1/chat/completions")),
        ("/codex/mem-1/responses", Route("codex", "mem-1", "responses", "generate", "/responses")),
        (
            "/codex/mem-1/v1/responses/compact",
            Route("codex", "mem-1", "responses", "generate", "/v1/responses/compact"),
        ),
        ("/codex/mem-1/realtime/calls", Route("codex", "mem-1", "responses", "auxiliary", "/realtime/calls")),
        ("/dsh/mem-1/chat/completions", Route("dsh", "mem-1", "chat", "generate", "/chat/completions")),
        ("/hermes/mem-1/v1/moderations", Route("hermes", "mem-1", "chat", "auxiliary", "/v1/moderations")),
        ("/my-own-agent/mem-1/v1/messages", Route("my-own-agent", "mem-1", "anthropic", "generate", "/v1/messages")),
        ("/my-own-agent/v1/messages", Route("my-own-agent", "", "anthropic", "generate", "/v1/messages")),
        ("/proxy/mem-1/v1/messages", Route("claude-code", "mem-1", "anthropic", "generate", "/v1/messages")),
        ("/claude-code/%E7%A9%BA/v1/messages", Route("claude-code", "空", "anthropic", "generate", "/v1/messages")),
        (
            "/codex/m/v1/responses/resp_1/cancel",
            Route("codex", "m", "responses", "auxiliary", "/v1/responses/resp_1/cancel"),
        ),
        ("/openai/m/v1/files", Route("openai", "m", "chat", "auxiliary", "/v1/files")),
    ],
)
def test_a_path_names_agent_instance_protocol_and_what_goes_upstream(path: str, expected: Route) -> None:
    assert route_of("POST", path) == expected


@pytest.mark.parametrize("path", ["/claude-code/mem-1", "/claude-code/mem-1/", "/anything/mem-1/v1"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_asking_whether_anybody_is_there_is_a_probe(method: str, path: str) -> None:
    route = route_of(method, path)
    assert route is not None
    assert route.endpoint == "probe"


def test_the_list_of_models_is_in_the_protocol_of_who_asks() -> None:
    plain = route_of("GET", "/v1/models")
    anthropic = route_of("GET", "/v1/models", anthropic=True)
    one = route_of("GET", "/claude-code/mem-1/v1/models/model-1")
    assert plain is not None
    assert anthropic is not None
    assert one is not None
    assert (plain.wire, anthropic.wire, one.wire) == ("chat", "anthropic", "anthropic")
    assert one.suffix == "/v1/models/model-1"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v3/conversation/add"),
        ("POST", "/v2/memory/add"),
        ("GET", "/health"),
        ("POST", "/v1/unknown"),
        ("GET", "/v1/messages"),
        ("GET", "/nothing/here"),
        ("POST", "/nothing/here/at/all"),
        ("POST", "/claude-code"),
        ("POST", "/claude-code/mem-1"),
        ("POST", "/claude-code/mem-1/cost-guard/v1/messages"),
        ("POST", "/claude-code/mem-1/analyse/v1/messages"),
        ("POST", "/mcp/mem-1/v1/messages"),
        ("POST", "//v1/messages"),
        ("POST", "/a b/mem-1/v1/messages"),
        ("POST", "*"),
    ],
)
def test_what_is_not_the_proxys_is_left_alone(method: str, path: str) -> None:
    assert route_of(method, path) is None


@pytest.mark.parametrize("part", ["..", ".", "%2e%2e", "%2E.", "a%2fb", "a%5cb", "%00", "%0d%0a"])
def test_no_path_climbs_out_of_the_upstreams_folder(part: str) -> None:
    assert route_of("POST", f"/openai/mem-1/v1/{part}/files") is None
    assert route_of("POST", f"/openai/{part}/v1/files") is None


def test_an_instance_that_is_no_name_has_no_route() -> None:
    assert route_of("POST", "/claude-code/%FF/v1/messages") is None
    assert route_of("POST", "/claude-code/%20/v1/messages") is None
    assert route_of("POST", f"/claude-code/{'x' * 513}/v1/messages") is None
