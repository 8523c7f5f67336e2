"""How endpoints that speak the same wire format differ: a table, and a guess from the address.

`thinking_off` lists the ways to switch thinking off, tried in order until one is accepted; the last resort is to send
none and skip the reasoning when the reply is read. Sources: each provider's API reference; Ollama's compatible route
ignores its own `think` and obeys `reasoning_effort` (ollama issue 14820), older versions the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

__all__ = ["DIALECTS", "Dialect", "DialectName", "Form", "TokensField", "WireName", "dialect_of"]

WireName = Literal["openai", "anthropic"]
Form = Literal["json_schema", "json_object", "plain"]
TokensField = Literal["max_tokens", "max_completion_tokens"]
DialectName = Literal["generic", "openai", "deepseek", "qwen", "vllm", "ollama", "lmstudio", "openrouter", "anthropic"]


@dataclass(frozen=True, slots=True)
class Dialect:
    """`forms` are the ways to ask for structured output, best first; `tokens_field` names the completion's limit."""

    name: DialectName
    wire: WireName = "openai"
    thinking_off: tuple[Mapping[str, Any], ...] = ()
    forms: tuple[Form, ...] = ("json_schema", "json_object", "plain")
    tokens_field: TokensField = "max_tokens"


_BY_TEMPLATE: Mapping[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
_BY_TYPE: Mapping[str, Any] = {"thinking": {"type": "disabled"}}

DIALECTS: Mapping[DialectName, Dialect] = {
    dialect.name: dialect
    for dialect in (
        Dialect("generic"),
        Dialect(
            "openai",
            thinking_off=({"reasoning_effort": "none"}, {"reasoning_effort": "minimal"}, {"reasoning_effort": "low"}),
            tokens_field="max_completion_tokens",
        ),
        Dialect("deepseek", thinking_off=(_BY_TYPE,), forms=("json_object", "plain")),
        Dialect("qwen", thinking_off=({"enable_thinking": False}, _BY_TEMPLATE)),
        Dialect("vllm", thinking_off=(_BY_TEMPLATE,)),
        Dialect("ollama", thinking_off=({"reasoning_effort": "none", "think": False}, {"think": False})),
        Dialect("lmstudio", thinking_off=(_BY_TEMPLATE,), forms=("json_schema", "plain")),
        Dialect("openrouter", thinking_off=({"reasoning": {"enabled": False}},)),
        Dialect("anthropic", "anthropic", thinking_off=(_BY_TYPE,), forms=("json_schema", "plain")),
    )
}

_BY_HOST: tuple[tuple[str, DialectName], ...] = (
    ("api.openai.com", "openai"),
    ("deepseek.com", "deepseek"),
    ("bigmodel.cn", "deepseek"),
    ("volces.com", "deepseek"),
    ("moonshot.cn", "deepseek"),
    ("aliyuncs.com", "qwen"),
    ("openrouter.ai", "openrouter"),
    ("anthropic.com", "anthropic"),
)
_BY_PORT: Mapping[int, DialectName] = {11434: "ollama", 1234: "lmstudio"}


def dialect_of(base_url: str) -> Dialect:
    """Return the dialect that an address is known for, else `generic`, which sends nothing that is not common."""
    parts = urlsplit(base_url)
    host = (parts.hostname or "").lower()
    for suffix, name in _BY_HOST:
        if host == suffix or host.endswith("." + suffix):
            return DIALECTS[name]
    return DIALECTS[_BY_PORT.get(parts.port or 0, "generic")]
