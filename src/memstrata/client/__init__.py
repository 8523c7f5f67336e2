"""The SDK: `MemoryClient`, its twin `AsyncMemoryClient`, clients for operators, and what they answer with.

It needs `httpx` and nothing of the rest of this package, so it can be installed where no server runs. Names load on first
use, so that a program that only recalls does not wait for turn capture.

    with MemoryClient(team="acme", agent="helpdesk", user="maya", session="2026-03-01") as memory:
        memory.add([("user", "I moved to Lisbon."), ("assistant", "Noted.")])
        print(memory.recall("where do I live?").prepend_context)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstrata.client._lazy import homes, loader

if TYPE_CHECKING:
    from memstrata.client._async import AsyncMemoryClient
    from memstrata.client._calls import MessageLike
    from memstrata.client._errors import (
        Conflict,
        Forbidden,
        InvalidRequest,
        MemstrataClientError,
        NotFound,
        ParamError,
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
    from memstrata.client._forgetting import Forgettable, ForgettingReceipt, Policy, PolicyState
    from memstrata.client._generations import AsyncMemoryGenerationLogClient, MemoryGenerationLogClient
    from memstrata.client._metadata import AsyncMetadataClient, MetadataClient
    from memstrata.client._metadata_results import (
        Agent,
        AgentBindings,
        Asset,
        Binding,
        BindingSummaries,
        BoundAgent,
        BoundAsset,
        Deleted,
        Done,
        Grant,
        InstanceQuota,
        Listed,
        Member,
        NewAdmin,
        NewUser,
        NewUserKey,
        Participation,
        Task,
        TaskAgent,
        Team,
        User,
        UserConfig,
        UserKey,
        Verdict,
        VerifiedUser,
    )
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
    from memstrata.client._tool_calls import ToolSpec
    from memstrata.client.memory_tool import AsyncMemoryTool, MemoryTool
    from memstrata.client.recalling import AsyncRecaller, Recalled, Recaller
    from memstrata.client.toolset import AsyncToolset, Toolset
    from memstrata.client.turn import (
        AsyncTurnRecorder,
        CaptureRules,
        LangGraphWatermarkStore,
        MemoryWatermarkStore,
        RecorderStatus,
        RedisWatermarkStore,
        SqliteWatermarkStore,
        Turn,
        TurnIds,
        TurnRecorder,
        WatermarkStore,
        view_anthropic,
        view_langchain,
        view_openai_chat,
        view_openai_responses,
        view_plain,
    )

__all__ = [
    "Agent",
    "AgentBindings",
    "Asset",
    "AsyncMemoryClient",
    "AsyncMemoryGenerationLogClient",
    "AsyncMemoryPromptClient",
    "AsyncMemoryTool",
    "AsyncMetadataClient",
    "AsyncRecaller",
    "AsyncToolset",
    "AsyncTurnRecorder",
    "Binding",
    "BindingSummaries",
    "BoundAgent",
    "BoundAsset",
    "Budget",
    "CaptureRules",
    "Conflict",
    "Deleted",
    "DeletedPrompts",
    "Derivation",
    "DocumentVersion",
    "Done",
    "EffectivePrompt",
    "Evidence",
    "Forbidden",
    "Forgettable",
    "ForgettingReceipt",
    "Found",
    "Generation",
    "GenerationEntry",
    "GenerationOutput",
    "GenerationPage",
    "Grant",
    "Health",
    "Hit",
    "InstanceQuota",
    "InvalidRequest",
    "LangGraphWatermarkStore",
    "LayerLoad",
    "LayerStatus",
    "Listed",
    "Member",
    "Memory",
    "MemoryClient",
    "MemoryGenerationLogClient",
    "MemoryPromptClient",
    "MemoryTool",
    "MemoryVersion",
    "MemoryWatermarkStore",
    "MemstrataClientError",
    "Message",
    "MessageLike",
    "MetadataClient",
    "Neighbours",
    "NewAdmin",
    "NewUser",
    "NewUserKey",
    "NotFound",
    "Page",
    "ParamError",
    "Participation",
    "Persona",
    "PersonaEvidence",
    "PipelineStatus",
    "Policy",
    "PolicyState",
    "Prompt",
    "PromptChange",
    "PromptSetting",
    "Recall",
    "Recalled",
    "Recaller",
    "Receipt",
    "RecordRef",
    "RecorderStatus",
    "RedisWatermarkStore",
    "Scene",
    "SceneEvidence",
    "SceneText",
    "ServerFailed",
    "SpendingLine",
    "SqliteWatermarkStore",
    "Support",
    "Task",
    "TaskAgent",
    "Team",
    "ToolSpec",
    "Toolset",
    "Turn",
    "TurnIds",
    "TurnRecorder",
    "Unauthorized",
    "Unavailable",
    "Unreachable",
    "User",
    "UserConfig",
    "UserKey",
    "Verdict",
    "VerifiedUser",
    "WatermarkStore",
    "view_anthropic",
    "view_langchain",
    "view_openai_chat",
    "view_openai_responses",
    "view_plain",
]

_HOMES = homes(
    {
        "_async": "AsyncMemoryClient",
        "_calls": "MessageLike",
        "_errors": (
            "Conflict Forbidden InvalidRequest MemstrataClientError NotFound ParamError ServerFailed Unauthorized "
            "Unavailable Unreachable"
        ),
        "_evidence": "Derivation DocumentVersion Evidence MemoryVersion PersonaEvidence SceneEvidence Support",
        "_forgetting": "Forgettable ForgettingReceipt Policy PolicyState",
        "_generations": "AsyncMemoryGenerationLogClient MemoryGenerationLogClient",
        "_metadata": "AsyncMetadataClient MetadataClient",
        "_metadata_results": (
            "Agent AgentBindings Asset Binding BindingSummaries BoundAgent BoundAsset Deleted Done Grant "
            "InstanceQuota Listed Member NewAdmin NewUser NewUserKey Participation Task TaskAgent Team User "
            "UserConfig UserKey Verdict VerifiedUser"
        ),
        "_operator_results": (
            "DeletedPrompts EffectivePrompt Generation GenerationEntry GenerationOutput GenerationPage Prompt "
            "PromptChange PromptSetting RecordRef"
        ),
        "_prompts": "AsyncMemoryPromptClient MemoryPromptClient",
        "_results": (
            "Budget Found Health Hit LayerLoad LayerStatus Memory Message Neighbours Page Persona PipelineStatus "
            "Recall Receipt Scene SceneText SpendingLine"
        ),
        "_sync": "MemoryClient",
        "_tool_calls": "ToolSpec",
        "memory_tool": "AsyncMemoryTool MemoryTool",
        "recalling": "AsyncRecaller Recalled Recaller",
        "toolset": "AsyncToolset Toolset",
        "turn": (
            "AsyncTurnRecorder CaptureRules LangGraphWatermarkStore MemoryWatermarkStore RecorderStatus "
            "RedisWatermarkStore SqliteWatermarkStore Turn TurnIds TurnRecorder WatermarkStore view_anthropic "
            "view_langchain view_openai_chat view_openai_responses view_plain"
        ),
    }
)

__getattr__ = loader(__name__, globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
