"""What makes a client speak to the proxy: its base URL, and the header that says who it is. Pure: text in, text out.

A base URL that somebody else has set is theirs: it is replaced by setup, which shows it, and comes back with `--undo`. When
the file was written since, taking out leaves a URL that is not ours alone.
"""

from __future__ import annotations

from memstrata.setup.json_text import plain, with_member, without_member
from memstrata.setup.json_tree import parse
from memstrata.setup.toml_text import with_table, without_table

__all__ = ["KEY_HEADER", "put_codex", "put_environment", "take_codex", "take_environment"]

KEY_HEADER = "x-tdai-user-key"
PROVIDER = "memstrata"
_URL = "ANTHROPIC_BASE_URL"
_HEADERS = "ANTHROPIC_CUSTOM_HEADERS"


def put_environment(text: str, url: str, user_key: str) -> str:
    """Return Claude Code's settings with the proxy in `env`, and the user's key where there is one."""
    text = with_member(text, ("env", _URL), url)
    return with_member(text, ("env", _HEADERS), f"{KEY_HEADER}: {user_key}") if user_key else text


def take_environment(text: str) -> str:
    """Return the settings without what is ours in `env`."""
    env = _environment(text)
    if "/claude-code/" in str(env.get(_URL, "")):
        text = without_member(text, ("env", _URL))
    if str(env.get(_HEADERS, "")).startswith(f"{KEY_HEADER}:"):
        text = without_member(text, ("env", _HEADERS))
    return text


def put_codex(text: str, url: str, user_key: str) -> str:
    """Return Codex's configuration with a provider of our name, which a profile or `-c model_provider=` chooses."""
    values = {"name": "OpenAI through Memstrata", "base_url": url, "wire_api": "responses", "env_key": "OPENAI_API_KEY"}
    text = with_table(text, ("model_providers", PROVIDER), values)
    headers = ("model_providers", PROVIDER, "http_headers")
    return with_table(text, headers, {KEY_HEADER: user_key}) if user_key else text


def take_codex(text: str) -> str:
    """Return the configuration without our provider."""
    return without_table(text, ("model_providers", PROVIDER))


def _environment(text: str) -> dict[str, object]:
    settings = plain(parse(text)) if text.strip() else {}
    env = settings.get("env") if isinstance(settings, dict) else None
    return env if isinstance(env, dict) else {}
