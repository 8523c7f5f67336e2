"""The SDK: `MemoryClient`, its twin `AsyncMemoryClient`, and what they answer with.

It needs `httpx` and nothing of the rest of this package, so it can be installed where no server runs.

    with MemoryClient(team="acme", agent="helpdesk", user="maya", session="2026-03-01") as memory:
        memory.add([("user", "I moved to Lisbon."), ("assistant", "Noted.")])
        print(memory.recall("where do I live?").prepend_context)
"""

from memstrata.client._async import AsyncMemoryClient
from memstrata.client._calls import MessageLike
from memstrata.client._errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    MemstrataClientError,
    NotFound,
    ServerFailed,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from memstrata.client._results import (
    Evidence,
    Found,
    Health,
    Hit,
    LayerLoad,
    LayerStatus,
    Memory,
    Message,
    Page,
    Persona,
    PipelineStatus,
    Recall,
    Receipt,
    Scene,
    SceneText,
)
from memstrata.client._sync import MemoryClient

__all__ = [
    "AsyncMemoryClient",
    "Conflict",
    "Evidence",
    "Forbidden",
    "Found",
    "Health",
    "Hit",
    "InvalidRequest",
    "LayerLoad",
    "LayerStatus",
    "Memory",
    "MemoryClient",
    "MemstrataClientError",
    "Message",
    "MessageLike",
    "NotFound",
    "Page",
    "Persona",
    "PipelineStatus",
    "Recall",
    "Receipt",
    "Scene",
    "SceneText",
    "ServerFailed",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
]
