"""The SDK: `MemoryClient`, its twin `AsyncMemoryClient`, clients for operators, and what they answer with.

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
from memstrata.client._evidence import (
    Derivation,
    DocumentVersion,
    Evidence,
    MemoryVersion,
    PersonaEvidence,
    SceneEvidence,
    Support,
)
from memstrata.client._generations import AsyncMemoryGenerationLogClient, MemoryGenerationLogClient
from memstrata.client._operator_results import (
    DeletedPrompts,
    EffectivePrompt,
    Generation,
    GenerationEntry,
    GenerationOutput,
    GenerationPage,
    Prompt,
    PromptChange,
    PromptSetting,
    RecordRef,
)
from memstrata.client._prompts import AsyncMemoryPromptClient, MemoryPromptClient
from memstrata.client._results import (
    Budget,
    Found,
    Health,
    Hit,
    LayerLoad,
    LayerStatus,
    Memory,
    Message,
    Neighbours,
    Page,
    Persona,
    PipelineStatus,
    Recall,
    Receipt,
    Scene,
    SceneText,
    SpendingLine,
)
from memstrata.client._sync import MemoryClient

__all__ = [
    "AsyncMemoryClient",
    "AsyncMemoryGenerationLogClient",
    "AsyncMemoryPromptClient",
    "Budget",
    "Conflict",
    "DeletedPrompts",
    "Derivation",
    "DocumentVersion",
    "EffectivePrompt",
    "Evidence",
    "Forbidden",
    "Found",
    "Generation",
    "GenerationEntry",
    "GenerationOutput",
    "GenerationPage",
    "Health",
    "Hit",
    "InvalidRequest",
    "LayerLoad",
    "LayerStatus",
    "Memory",
    "MemoryClient",
    "MemoryGenerationLogClient",
    "MemoryPromptClient",
    "MemoryVersion",
    "MemstrataClientError",
    "Message",
    "MessageLike",
    "Neighbours",
    "NotFound",
    "Page",
    "Persona",
    "PersonaEvidence",
    "PipelineStatus",
    "Prompt",
    "PromptChange",
    "PromptSetting",
    "Recall",
    "Receipt",
    "RecordRef",
    "Scene",
    "SceneEvidence",
    "SceneText",
    "ServerFailed",
    "SpendingLine",
    "Support",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
]
