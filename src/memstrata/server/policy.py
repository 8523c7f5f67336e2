"""Who may call which route: the one table. A route without a row does not start, and a test walks both against each other.

`create_app` hands each endpoint its row, so what stands here is what is enforced. A caller is the gateway (its key, or no
user's key at all where none is configured) or a user (a user's key, with or without the gateway's: it narrows).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

__all__ = ["POLICY", "Identity"]

Identity = Literal["nobody", "internal", "operator", "scope", "owner", "target", "user_key"]
"""Who must be behind a request.

nobody     anybody who reaches the server (below `/v3/meta` the gateway's key or a user's)
internal   the gateway alone; no user's key opens it
operator   the gateway, or the system administrator of the instance
scope      the gateway; or a user about their own data, with an agent that they may use
owner      the gateway; or the owner of the scope's agent, because all its users share what changes
target     the gateway, the system administrator; or a user, where the handler finds what is named to be theirs
user_key   a user, whatever else the gateway wants; what they may do is decided in the directory
"""

_LAYERS: Final[Mapping[Identity, tuple[str, ...]]] = {
    "scope": (
        "conversation/add",
        "conversation/search",
        "conversation/query",
        "conversation/delete",
        "atomic/search",
        "atomic/query",
        "atomic/update",
        "atomic/delete",
        "scenario/ls",
        "scenario/read",
        "core/read",
    ),
    "owner": ("scenario/write", "scenario/rm", "core/write"),
}
"""What is under `/v2` and `/v3` alike."""

_V3: Final[Mapping[Identity, tuple[str, ...]]] = {
    "scope": (
        *_LAYERS["scope"],
        "recall",
        "conversation/count",
        "atomic/count",
        "atomic/history",
        "atomic/undo",
        "scenario/count",
        "scenario/history",
        "core/count",
        "core/history",
        "trace",
        "pipeline/status",
        "pipeline/flush",
        "pipeline/retry",
        "pipeline/spending",
    ),
    "owner": (*_LAYERS["owner"], "scenario/restore", "core/restore"),
    "target": (
        "chat-memory/clear",
        "forget",
        "forget/receipt",
        "memory-prompt/get",
        "memory-prompt/set",
        "memory-prompt/setting/list",
        "memory-prompt/log",
    ),
    "operator": (
        "memory-prompt/create",
        "memory-prompt/update",
        "memory-prompt/delete",
        "memory-generation-log/list",
        "memory-generation-log/get",
        "policy/get",
        "policy/set",
        "policy/list",
        "audit/list",
        "audit/verify",
        "proxy/usage",
    ),
}

_META: Final[Mapping[str, tuple[str, ...]]] = {
    "user": ("create", "create-with-key", "get", "delete", "list"),
    "user-key": ("create", "list", "get", "revoke", "update"),
    "team": ("create", "get", "update", "delete", "list"),
    "team-member": ("add", "remove", "list", "get"),
    "agent": ("create", "get", "update", "delete", "list", "archive"),
    "task": ("create", "get", "update", "delete", "list", "archive"),
    "task-agent": ("link", "unlink", "list"),
    "participation-log": ("append", "list"),
    "asset": ("create", "get", "update", "delete", "list", "list-accessible", "touch-usage"),
    "agent-fixed-asset": ("set", "list", "list-with-detail", "summary-by-agents"),
    "acl": ("grant", "revoke", "list", "check"),
    "instance-quota": ("get",),
    "config/user": ("get", "set"),
}

POLICY: Final[Mapping[str, Identity]] = {
    "/health": "nobody",
    "/metrics": "internal",
    "/mcp": "scope",
    "/v2/pipeline/status": "operator",
    "/v3/export": "internal",
    "/v3/import": "internal",
    **{f"/v2/{path}": identity for identity, paths in _LAYERS.items() for path in paths},
    **{f"/v3/{path}": identity for identity, paths in _V3.items() for path in paths},
    "/v3/meta/auth/verify": "nobody",
    **{f"/v3/meta/{noun}/{verb}": "user_key" for noun, verbs in _META.items() for verb in verbs},
    "/v3/internal/meta/user/init-admin": "internal",
    "/v3/internal/meta/user/list-by-instance": "internal",
}
"""The identity that each path requires."""
