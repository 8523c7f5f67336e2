"""What makes a client speak to the proxy: its base URL, and the header that says who it is. Pure: text in, text out.

A value of somebody else's that stands where ours goes is theirs: setup names it, and undoing brings it back.

Sources: Claude Code's settings (`ANTHROPIC_CUSTOM_HEADERS` is one `Name: Value` a line); Codex's configuration reference. A
provider of Codex with `requires_openai_auth` uses the login that Codex has, whichever it is.
"""

from __future__ import annotations

import re

from memstrata.setup.change import Seat
from memstrata.setup.json_text import plain, with_member, without_member
from memstrata.setup.json_tree import parse
from memstrata.setup.toml_text import root_value, with_root_value, with_table, without_root_value, without_table

__all__ = [
    "BASE_URL_SEAT",
    "KEY_HEADER",
    "PROVIDER_SEAT",
    "put_codex",
    "put_environment",
    "take_codex",
    "take_environment",
]

KEY_HEADER = "x-tdai-user-key"
PROVIDER = "memstrata"
_URL = "ANTHROPIC_BASE_URL"
_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"
_OURS = re.compile(r"/claude-code/[^/]+/?$")
_CHOICE = "model_provider"


def put_environment(text: str, url: str, user_key: str) -> str:
    """Return Claude Code's settings with the proxy in `env`, and the user's key among its headers if there is one."""
    text = with_member(text, ("env", _URL), url)
    lines = [*_other_headers(text), *([f"{KEY_HEADER}: {user_key}"] if user_key else [])]
    return _with_headers(text, lines)


def take_environment(text: str) -> str:
    """Return the settings without what is ours in `env`."""
    if _OURS.search(_environment(text).get(_URL, "")):
        text = without_member(text, ("env", _URL))
    return _with_headers(text, _other_headers(text))


def put_codex(text: str, url: str, user_key: str) -> str:
    """Return Codex's configuration with a provider of our name, chosen for every start."""
    provider = ("model_providers", PROVIDER)
    text = with_table(
        text,
        provider,
        {"name": "OpenAI through Memstrata", "base_url": url, "wire_api": "responses", "requires_openai_auth": True},
    )
    if user_key:
        text = with_table(text, (*provider, "http_headers"), {KEY_HEADER: user_key})
    return with_root_value(text, _CHOICE, PROVIDER)


def take_codex(text: str) -> str:
    """Return the configuration without our provider and the choice of it."""
    if root_value(text, _CHOICE) == PROVIDER:
        text = without_root_value(text, _CHOICE)
    return without_table(text, ("model_providers", PROVIDER))


def _other_url(text: str) -> str:
    url = _environment(text).get(_URL, "")
    return "" if _OURS.search(url) else url


def _other_provider(text: str) -> str:
    chosen = root_value(text, _CHOICE)
    return "" if chosen == PROVIDER else chosen


BASE_URL_SEAT = Seat(_other_url, lambda text, url: with_member(text, ("env", _URL), url))
PROVIDER_SEAT = Seat(_other_provider, lambda text, name: with_root_value(text, _CHOICE, name))


def _with_headers(text: str, lines: list[str]) -> str:
    if lines == _environment(text).get(_HEADERS, "").splitlines():
        return text
    return with_member(text, ("env", _HEADERS), "\n".join(lines)) if lines else without_member(text, ("env", _HEADERS))


def _other_headers(text: str) -> list[str]:
    lines = _environment(text).get(_HEADERS, "").splitlines()
    return [line for line in lines if line.partition(":")[0].strip().lower() != KEY_HEADER]


def _environment(text: str) -> dict[str, str]:
    """Return the strings in `env`; whatever else stands there is not ours to read."""
    settings = plain(parse(text)) if text.strip() else {}
    env = settings.get("env") if isinstance(settings, dict) else None
    return {name: value for name, value in env.items() if isinstance(value, str)} if isinstance(env, dict) else {}
