"""What kind of request this is, and how one can tell: the table of `reference/proxy.md` §5, with its *Better* notes.

Only `main` is remembered. `main`, `fork` and `compaction` carry the same memory, byte for byte, because they share the
conversation's cached prefix; a compaction or a fork gets nothing new. Everything else passes as it came. Pure.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from memstrata.proxy.clients.client import Client
from memstrata.proxy.clients.spoken import first_spoken, newest_spoken
from memstrata.proxy.wire.request import ProxyRequest
from memstrata.records.proxy import MainPrompt

__all__ = ["INJECTED", "RequestKind", "Verdict", "classify", "fingerprints"]

RequestKind = Literal["main", "fork", "side", "compaction", "title", "probe", "subagent", "auxiliary"]

INJECTED: frozenset[RequestKind] = frozenset({"main", "fork", "compaction"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` is for people: the status page and the response header show it."""

    kind: RequestKind
    reason: str


_CLASSES: Mapping[str, RequestKind] = {
    "main": "main",
    "subagent": "subagent",
    "workflow": "subagent",
    "compaction": "compaction",
    "auxiliary": "auxiliary",
}
_AUXILIARY_PATHS = ("/memories/trace_summarize", "/realtime/calls", "/embeddings", "/completions", "/moderations")
_AUXILIARY_THREADS = frozenset({"memory_consolidation", "system"})
_COMPACTION = re.compile(
    r"Your task is to create a detailed summary of (?:the|this) (?:conversation|session)|"
    r"You are performing a CONTEXT CHECKPOINT COMPACTION"
)
_TITLE = re.compile(r"\btitles?\b|\bnew (?:conversation )?topic\b|标题", re.IGNORECASE)
_LOOKED_AT = 2_000  # characters of a prompt in which its purpose shows
_TITLE_TOKENS = 128
_ATTRIBUTION = "x-anthropic-billing-header"


def classify(
    request: ProxyRequest, headers: Mapping[str, str], client: Client, suffix: str, known: MainPrompt | None
) -> Verdict:
    """Return the kind of a request to the path `suffix`. `headers` have lower-case names.

    `known` is the session's last main request, None where this session has none yet.
    """
    return (
        _by_path(request, suffix)
        or _by_hints(request, headers)
        or _by_size(request)
        or _by_words(request, client)
        or _by_place(request, client, known)
        or _by_prompt(request, client, known)
        or Verdict("main", "nothing speaks against it")
    )


def fingerprints(request: ProxyRequest, client: Client) -> MainPrompt:
    """Return what is remembered of a main request, so that others can be told from it."""
    system = "\0".join(block.text for block in request.system if not block.text.startswith(_ATTRIBUTION))
    return MainPrompt(request.tools_digest, _digest(system), _digest(first_spoken(request, client)))


def _by_path(request: ProxyRequest, suffix: str) -> Verdict | None:
    if suffix.endswith("/responses/compact"):
        return Verdict("compaction", "its path is that of a compaction")
    if suffix.endswith(_AUXILIARY_PATHS) and not suffix.endswith("/chat/completions"):
        return Verdict("auxiliary", "its path is that of a helper")
    return None


def _by_hints(request: ProxyRequest, headers: Mapping[str, str]) -> Verdict | None:
    if headers.get("x-claude-code-agent-id"):
        return Verdict("subagent", "x-claude-code-agent-id names a sub-agent")
    if headers.get("x-claude-code-compaction"):
        return Verdict("compaction", "x-claude-code-compaction says so")
    if hinted := _CLASSES.get(headers.get("x-claude-code-request-class", "")):
        return Verdict(hinted, "x-claude-code-request-class says so")
    if headers.get("x-deepseek-harness-compact") == "1":
        return Verdict("compaction", "x-deepseek-harness-compact says so")
    if headers.get("x-openai-memgen-request") == "true":
        return Verdict("auxiliary", "x-openai-memgen-request says so")
    if by := headers.get("x-openai-subagent"):
        return Verdict("compaction" if by == "compact" else "subagent", "x-openai-subagent says so")
    turn = _object(headers.get("x-codex-turn-metadata", ""))
    thread = turn.get("thread_source") or request.metadata.get("thread_source")
    if thread in _AUXILIARY_THREADS:
        return Verdict("auxiliary", "thread_source is a helper's")
    if thread == "subagent" or turn.get("subagent_kind") or turn.get("parent_thread_id"):
        return Verdict("subagent", "x-codex-turn-metadata names a parent thread")
    return None


def _by_size(request: ProxyRequest) -> Verdict | None:
    if request.max_tokens is not None and 0 <= request.max_tokens <= 1:
        return Verdict("probe", f"it wants {request.max_tokens} token")
    return None


def _by_words(request: ProxyRequest, client: Client) -> Verdict | None:
    newest = request.messages[-1] if request.messages else None
    said = "" if newest is None or newest.role != "user" else _first_words(block.text for block in newest.blocks)
    if _COMPACTION.search(said):
        return Verdict("compaction", "its newest message asks for a summary of the conversation")
    if newest_spoken(request, client).runtime == "mode":
        return Verdict("fork", "its newest message is one of the client's own modes")
    if request.tools or len(request.messages) > 2:
        return None
    system = _first_words(block.text for block in request.system)
    small = request.max_tokens is not None and request.max_tokens <= _TITLE_TOKENS
    if _TITLE.search(system) and (request.structured or small or client.always_has_tools):
        return Verdict("title", "it has no tools and its prompt is about a title or a topic")
    return None


def _by_place(request: ProxyRequest, client: Client, known: MainPrompt | None) -> Verdict | None:
    """A forked agent of Claude Code leaves its own newest message out of the cache."""
    if not client.marks_conversation:
        return None
    marked = [at for at, said in enumerate(request.messages) if any(block.marked for block in said.blocks)]
    if not marked or marked[-1] != len(request.messages) - 2 or not request.tools:
        return None
    if known is not None and known.tools != request.tools_digest:
        return None
    return Verdict("fork", "its cache mark stands before its newest message")


def _by_prompt(request: ProxyRequest, client: Client, known: MainPrompt | None) -> Verdict | None:
    if not request.tools and client.always_has_tools:
        return Verdict("side", "it has no tools, and this client's conversations have some")
    if known is None or known == MainPrompt():
        return None
    seen = fingerprints(request, client)
    if seen.first == known.first or seen.system == known.system:
        return None
    if request.tools and seen.tools != known.tools:
        return Verdict("subagent", "its prompt, tools and first message are not those of the session")
    if not request.tools and known.tools:
        return Verdict("side", "it has neither the tools nor the prompt of the session")
    return None


def _first_words(texts: Iterable[str]) -> str:
    """Return the beginnings of some texts; a purpose stands there, and the rest may be megabytes."""
    return "\n".join(text[:_LOOKED_AT] for text in texts)


def _object(text: str) -> Mapping[str, object]:
    try:
        read = json.loads(text) if text else None
    except ValueError:
        return {}
    return read if isinstance(read, dict) else {}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
