"""`memstrata setup --with proxy`: whose values stand where, what a screen never shows, and what is found behind it."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from memstrata.testing.upstream import Fails, FakeUpstream, Sends

from .shell import Finished, Shell

pytestmark = pytest.mark.slow

Setup = Callable[..., Finished]
Serve = Callable[..., dict[str, Any]]

KEY = "sk-mem-a-key-that-nobody-sees"
OLD_KEY = "sk-mem-the-key-before-it"
SETTINGS = """\
{
  "env": {
    "ANTHROPIC_BASE_URL": "https://gateway.example", // the company's
    "ANTHROPIC_AUTH_TOKEN": "their-own-token-0123456789",
    "ANTHROPIC_CUSTOM_HEADERS": "X-Team: blue"
  }
}
"""
CONFIG = 'model_provider = "azure" # ours at work\nmodel = "gpt-5"\n\n[model_providers.azure]\nname = "Azure"\n'


@pytest.fixture
def home(memstrata: Shell) -> Path:
    """A home whose clients speak to somebody else's address already."""
    for name, text in ((".claude/settings.json", SETTINGS), (".codex/config.toml", CONFIG)):
        (memstrata.folder / name).parent.mkdir()
        memstrata.write(name, text)
    return memstrata.folder


@pytest.fixture
async def upstream() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as running:
        yield running


def files_of(home: Path) -> dict[str, bytes]:
    return {str(file.relative_to(home)): file.read_bytes() for file in home.rglob("*") if file.is_file()}


def environment(home: Path) -> dict[str, str]:
    text = (home / ".claude" / "settings.json").read_text().replace("// the company's", "")
    env: dict[str, str] = json.loads(text)["env"]
    return env


def codex(home: Path) -> dict[str, Any]:
    return tomllib.loads((home / ".codex" / "config.toml").read_text())


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_the_proxy_takes_the_place_of_hooks_and_is_undone_to_the_byte(home: Path, setup: Setup, client: str) -> None:
    before = files_of(home)
    setup(client, "--yes")
    assert b"hook" in b"".join(files_of(home).values())
    done = setup(client, "--with", "proxy", "--yes", "--user-key", KEY)
    assert done.code == 0, done
    written = "".join(text.decode() for name, text in files_of(home).items() if name.startswith((".claude", ".codex")))
    assert f"http://127.0.0.1:8420/{client}/default" in written
    assert KEY in written
    assert f"hook {client}" not in written
    between = files_of(home)
    assert f"nothing to change for {client}" in setup(client, "--with", "proxy", "--yes", "--user-key", KEY).out
    assert files_of(home) == between
    assert setup(client, "--undo", "--yes").code == 0
    assert files_of(home) == before


def test_what_stood_there_of_somebody_elses_is_named_and_other_headers_stay(home: Path, setup: Setup) -> None:
    done = setup("claude-code", "--with", "proxy", "--yes", "--user-key", KEY)
    assert "https://gateway.example stands in" in done.out
    env = environment(home)
    assert env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:8420/claude-code/default"
    assert env["ANTHROPIC_CUSTOM_HEADERS"] == f"X-Team: blue\nx-tdai-user-key: {KEY}"
    assert "azure stands in" in setup("codex", "--with", "proxy", "--yes").out


def test_a_value_of_theirs_comes_back_into_a_file_that_was_written_since(home: Path, setup: Setup) -> None:
    setup("claude-code", "--with", "proxy", "--yes", "--user-key", KEY)
    setup("codex", "--with", "proxy", "--yes")
    for name in (".claude/settings.json", ".codex/config.toml"):
        file = home / name
        file.write_text(file.read_text().replace("blue", "green").replace("gpt-5", "gpt-6"))
    setup("claude-code", "--undo", "--yes")
    setup("codex", "--undo", "--yes")
    env = environment(home)
    assert (env["ANTHROPIC_BASE_URL"], env["ANTHROPIC_CUSTOM_HEADERS"]) == ("https://gateway.example", "X-Team: green")
    assert codex(home) == {"model": "gpt-6"} | {
        name: value for name, value in tomllib.loads(CONFIG).items() if name != "model"
    }


def test_codex_is_given_a_provider_that_uses_its_own_login_and_chooses_it(home: Path, setup: Setup) -> None:
    setup("codex", "--with", "proxy", "--yes", "--user-key", KEY, "--instance", "müller")
    found = codex(home)
    assert found["model_provider"] == "memstrata"
    assert found["model_providers"]["memstrata"] == {
        "name": "OpenAI through Memstrata",
        "base_url": "http://127.0.0.1:8420/codex/m%C3%BCller/v1",
        "wire_api": "responses",
        "requires_openai_auth": True,
        "http_headers": {"x-tdai-user-key": KEY},
    }
    assert "# ours at work" in (home / ".codex" / "config.toml").read_text()
    assert not (home / ".codex" / "hooks.json").exists()


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_no_key_is_on_a_screen_not_an_older_one_nor_a_neighbour_nor_when_it_is_undone(
    home: Path, setup: Setup, client: str
) -> None:
    shown = [
        setup(client, "--with", "proxy", "--yes", "--user-key", OLD_KEY),
        setup(client, "--with", "proxy", "--user-key", KEY),
        setup(client, "--with", "proxy", "--json", "--user-key", KEY),
        setup(client, "--with", "proxy", "--yes", env={"MEMSTRATA_USER_KEY": KEY}),
        setup(client, "--undo", "--yes"),
    ]
    text = "".join(done.out + done.err for done in shown)
    assert "x-tdai-user-key" in text
    assert not [secret for secret in (KEY, OLD_KEY, "their-own-token-0123456789") if secret in text]


def test_hooks_beside_the_proxy_are_warned_of_and_both_at_once_are_wrong_usage(home: Path, setup: Setup) -> None:
    assert setup("claude-code", "--with", "proxy", "--with", "hooks", "--yes").code == 2
    assert "recalled twice" not in setup("claude-code", "--yes").out
    setup("claude-code", "--with", "proxy", "--yes")
    assert "recalled twice" in setup("claude-code").out
    assert "重复召回" in setup("claude-code", env={"LC_ALL": "zh_CN.UTF-8"}).out


def test_of_a_client_whose_files_are_not_known_it_says_what_to_set(home: Path, setup: Setup) -> None:
    before = files_of(home)
    done = setup("openclaw", "--with", "proxy", "--user-key", KEY, "--instance", "work")
    assert done.code == 0
    assert "http://127.0.0.1:8420/openclaw/work/v1" in done.out
    assert "x-tdai-user-key: sk-mem-…" in done.out
    assert KEY not in done.out
    assert setup("dsh", "--with", "proxy", "--json").json["base_url"] == "http://127.0.0.1:8420/dsh/default"
    assert files_of(home) == before


@pytest.mark.parametrize("name", ["mcp", "v1", "two words", "a/b", "../x"])
def test_a_name_that_no_path_can_have_is_wrong_usage(setup: Setup, name: str) -> None:
    assert setup(name, "--with", "proxy").code == 2


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (Fails(401), "401 to a request without a credential"),
        (Fails(529), "does not answer (529)"),
        (Sends(b'{"data":[]}', "application/json"), "the provider answers (200)"),
    ],
)
async def test_what_the_provider_says_through_the_proxy_is_told(
    serve: Serve, setup: Setup, upstream: FakeUpstream, answer: Fails | Sends, told: str
) -> None:
    upstream.always(answer)
    url = serve("data", env={"MEMSTRATA_PROXY_UPSTREAMS": f"anthropic={upstream.base_url}"})["url"]
    done = await asyncio.to_thread(setup, "claude-code", "--with", "proxy", "--yes", "--url", url)
    assert "the proxy answers" in done.out
    assert told in done.out
    assert [(one.method, one.target, one.body) for one in upstream.requests] == [("GET", "/v1/models", b"")]


async def test_a_proxy_that_does_not_know_the_user_is_told_from_a_provider_that_wants_a_credential(
    serve: Serve, setup: Setup, upstream: FakeUpstream
) -> None:
    env = {"MEMSTRATA_PROXY_UPSTREAMS": f"openai={upstream.base_url}/v1", "MEMSTRATA_API_KEY": "sesame"}
    url = serve("data", env=env)["url"]
    done = await asyncio.to_thread(setup, "any-name", "--with", "proxy", "--user-key", KEY, "--url", url)
    assert "the proxy answers" in done.out
    assert "the key of a user that it knows" in done.out
    assert upstream.requests == []


async def test_a_provider_that_cannot_be_reached_and_a_proxy_that_is_not_there_are_told_apart(
    serve: Serve, setup: Setup
) -> None:
    url = serve("data", env={"MEMSTRATA_PROXY_UPSTREAMS": "anthropic=http://127.0.0.1:9"})["url"]
    assert "does not answer (502)" in setup("claude-code", "--with", "proxy", "--yes", "--url", url).out
    assert "no proxy answers" in setup("claude-code", "--with", "proxy", "--yes", "--url", "http://127.0.0.1:9").out
