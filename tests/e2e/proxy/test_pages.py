"""What the READMEs and the pages on the proxy say of commands, addresses and settings is so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from memstrata.client import AsyncMemoryClient
from memstrata.proxy.commands.parsing import COMMANDS
from memstrata.proxy.routes import route_of
from memstrata.settings import ProxySettings, ServerSettings
from memstrata.testing.upstream import FakeUpstream

from ..shell import DEADLINE_SECONDS, EXECUTABLE

ROOT = Path(__file__).parents[3]
READMES = ("README.md", "README.zh-CN.md")
PAGES = ("docs/proxy.md", "docs/proxy.zh-CN.md")


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("readme", READMES)
async def test_the_addresses_of_the_readme_give_memory(
    readme: str, serve: Callable[..., dict[str, Any]], upstream: FakeUpstream
) -> None:
    (shown,) = (one for one in re.findall(r"```sh\n(.*?)```", read(readme), re.DOTALL) if "ANTHROPIC_BASE_URL" in one)
    first, *exports = (shlex.split(line, comments=True) for line in shown.splitlines())
    assert first == [EXECUTABLE.name, "serve"]
    set_to = dict(one.split("=", 1) for command, one in exports if command == "export")
    assert {urlsplit(one).port for one in set_to.values()} == {ServerSettings().port}
    there = f"anthropic={upstream.base_url},openai={upstream.base_url}/v1"
    url = serve("data", env={"MEMSTRATA_PROXY_UPSTREAMS": there})["url"]
    messages = [{"role": "user", "content": "when do deployments run?"}]
    tools = [{"name": "Bash", "input_schema": {"type": "object"}}]
    async with httpx.AsyncClient(timeout=DEADLINE_SECONDS, headers={"x-session-id": "s1"}) as http:
        for name, path, more in (
            ("ANTHROPIC_BASE_URL", "/v1/messages", {"max_tokens": 10, "tools": tools}),
            ("OPENAI_BASE_URL", "/chat/completions", {}),
            ("OPENAI_BASE_URL", "/responses", {}),
        ):
            told = {"input": messages} if path == "/responses" else {"messages": messages}
            answer = await http.post(url + urlsplit(set_to[name]).path + path, json={"model": "m", **told, **more})
            assert (answer.status_code, answer.headers.get("x-memstrata-bypass")) == (200, None)
    assert all(b"memory-tools-guide" in one.body for one in upstream.requests)
    async with AsyncMemoryClient(url, team="personal", agent="assistant", user="me") as memory:
        assert {one.content for one in (await memory.messages()).items} >= {"when do deployments run?"}


@pytest.mark.parametrize("page", PAGES)
def test_the_page_lists_the_commands_there_are_and_settings_and_ports_that_exist(page: str) -> None:
    text = read(page)

    assert set(re.findall(r"`mem:(\w+)", text)) == set(COMMANDS)
    settings = set(re.findall(r"`proxy\.(\w+)`", text))
    assert settings
    assert settings <= set(ProxySettings.__dataclass_fields__)
    assert str(ProxySettings().port) in text
    assert str(ServerSettings().port) in text


@pytest.mark.parametrize("page", PAGES)
def test_every_address_of_the_page_is_the_proxys(page: str) -> None:
    rows = [line for line in read(page).splitlines() if line.startswith("|") and "HOST:8420" in line]
    paths = [re.sub(r"INSTANCE", "default", one) for row in rows for one in re.findall(r"8420(/[^`]*)`", row)]

    assert len(paths) >= 5
    for path in paths:
        agent = re.sub(r"any-name|任意名|AGENT", "my-agent", path)
        versioned = agent if agent.endswith("/v1") else f"{agent}/v1"
        endings = [route_of("POST", versioned + one) for one in ("/messages", "/chat/completions", "/responses")]
        assert all(one is not None and one.endpoint == "generate" for one in endings), path


@pytest.mark.parametrize("page", PAGES)
def test_the_headers_that_the_page_names_are_those_of_the_code(page: str) -> None:
    source = "".join(file.read_text() for file in (ROOT / "src/memstrata/proxy").rglob("*.py"))
    named = set(re.findall(r"`(x-[a-z-]+)`", read(page)))

    assert {"x-memstrata-bypass", "x-tdai-user-key", "x-agent-id"} <= named
    assert [one for one in named if one not in source] == []
