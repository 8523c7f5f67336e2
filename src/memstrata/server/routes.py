"""The table of everything that the server answers: path, verb, what it accepts, what it does.

The application is built from it and a test walks it, so a route cannot be added without the checks of all others.
Frequent ones come first, because they are tried in this order. Source: wire contract §13; `docs/compatibility.md`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.server.audit import AuditList, AuditVerify
from memstrata.server.call import InstanceWide, Scoped, SessionUse
from memstrata.server.forgetting import ForgetRequest, PolicyGet, PolicyList, PolicySet, ReceiptRequest
from memstrata.server.handlers import (
    atomic,
    audit,
    conversation,
    forgetting,
    generations,
    pipeline,
    profile,
    prompts,
    recall,
    trace,
    usage,
)
from memstrata.server.meta.agents import AGENT_ROUTES
from memstrata.server.meta.assets import ASSET_ROUTES
from memstrata.server.meta.bindings import BINDING_ROUTES
from memstrata.server.meta.call import MetaRoute
from memstrata.server.meta.configuration import CONFIGURATION_ROUTES
from memstrata.server.meta.grants import GRANT_ROUTES
from memstrata.server.meta.keys import KEY_ROUTES
from memstrata.server.meta.participations import PARTICIPATION_ROUTES
from memstrata.server.meta.people import PEOPLE_ROUTES
from memstrata.server.meta.tasks import TASK_ROUTES
from memstrata.server.meta.teams import TEAM_ROUTES
from memstrata.server.requests import (
    ClearRequest,
    ConversationAdd,
    ConversationCount,
    ConversationDelete,
    ConversationQuery,
    ConversationSearch,
    CoreRestore,
    CoreWrite,
    FlushRequest,
    MemoryCount,
    MemoryDelete,
    MemoryNamed,
    MemoryQuery,
    MemorySearch,
    MemoryUpdate,
    RecallRequest,
    Request,
    SceneList,
    ScenePath,
    SceneRestore,
    SceneWrite,
    SpendingRequest,
    TraceRequest,
)
from memstrata.server.strict import (
    GenerationGet,
    GenerationList,
    PromptCreate,
    PromptDelete,
    PromptGet,
    PromptLog,
    PromptSet,
    PromptUpdate,
    SettingList,
    StrictRequest,
)
from memstrata.server.usage import ProxyUsageList

__all__ = ["META_ROUTES", "ROUTES", "Operation", "Route"]

Operation = Literal["health", "metrics"]


@dataclass(frozen=True, slots=True)
class Route:
    """One row. Operations are GET without a body; everything else is POST with a JSON object.

    Where `takes_get` is set, GET with a query string is the same as POST.
    """

    path: str
    request: type[Request | StrictRequest]
    handler: Scoped | InstanceWide | Operation
    takes_get: bool = False

    @property
    def method(self) -> Literal["GET", "POST"]:
        return "GET" if isinstance(self.handler, str) else "POST"


_WRITES = SessionUse.REQUIRED
_FILTERS = SessionUse.FILTER
_NAMED = SessionUse.NAMED

# Under /v3 and, as the contract has it, under /v2 as well.
_SHARED: tuple[tuple[str, type[Request], Scoped], ...] = (
    ("/conversation/add", ConversationAdd, Scoped(conversation.add, _WRITES)),
    ("/atomic/search", MemorySearch, Scoped(atomic.search, _NAMED)),
    ("/core/read", Request, Scoped(profile.read_core)),
    ("/scenario/ls", SceneList, Scoped(profile.list_scenes)),
    ("/conversation/search", ConversationSearch, Scoped(conversation.search, _FILTERS)),
    ("/conversation/query", ConversationQuery, Scoped(conversation.query, _FILTERS)),
    ("/conversation/delete", ConversationDelete, Scoped(conversation.delete, _NAMED)),
    ("/atomic/query", MemoryQuery, Scoped(atomic.query, _NAMED)),
    ("/atomic/update", MemoryUpdate, Scoped(atomic.update, _NAMED)),
    ("/atomic/delete", MemoryDelete, Scoped(atomic.delete, _NAMED)),
    ("/scenario/read", ScenePath, Scoped(profile.read_scene)),
    ("/scenario/write", SceneWrite, Scoped(profile.write_scene)),
    ("/scenario/rm", ScenePath, Scoped(profile.remove_scene)),
    ("/core/write", CoreWrite, Scoped(profile.write_core)),
)

ROUTES: tuple[Route, ...] = (
    Route("/v3/conversation/add", ConversationAdd, Scoped(conversation.add, _WRITES)),
    Route("/v3/recall", RecallRequest, Scoped(recall.recall)),
    *(Route(f"/v3{path}", request, handler) for path, request, handler in _SHARED[1:]),
    Route("/v3/conversation/count", ConversationCount, Scoped(conversation.count, _FILTERS)),
    Route("/v3/atomic/count", MemoryCount, Scoped(atomic.count, _NAMED)),
    Route("/v3/scenario/count", SceneList, Scoped(profile.count_scenes)),
    Route("/v3/core/count", Request, Scoped(profile.count_core)),
    Route("/v3/trace", TraceRequest, Scoped(trace.trace)),
    Route("/v3/atomic/history", MemoryNamed, Scoped(trace.memory_history, _NAMED)),
    Route("/v3/atomic/undo", MemoryNamed, Scoped(atomic.undo, _NAMED)),
    Route("/v3/scenario/history", ScenePath, Scoped(trace.scene_history)),
    Route("/v3/scenario/restore", SceneRestore, Scoped(profile.restore_scene)),
    Route("/v3/core/history", Request, Scoped(trace.core_history)),
    Route("/v3/core/restore", CoreRestore, Scoped(profile.restore_core)),
    Route("/v3/pipeline/status", Request, Scoped(pipeline.status, _FILTERS)),
    Route("/v3/pipeline/flush", FlushRequest, Scoped(pipeline.flush, _FILTERS)),
    Route("/v3/pipeline/retry", Request, Scoped(pipeline.retry)),
    Route("/v3/pipeline/spending", SpendingRequest, Scoped(pipeline.spending)),
    Route("/v3/chat-memory/clear", ClearRequest, InstanceWide(atomic.clear)),
    Route("/v3/forget", ForgetRequest, Scoped(forgetting.forget)),
    Route("/v3/forget/receipt", ReceiptRequest, InstanceWide(forgetting.receipt), takes_get=True),
    Route("/v3/policy/get", PolicyGet, InstanceWide(forgetting.get_policy), takes_get=True),
    Route("/v3/policy/set", PolicySet, InstanceWide(forgetting.set_policy)),
    Route("/v3/policy/list", PolicyList, InstanceWide(forgetting.list_policies), takes_get=True),
    Route("/v3/audit/list", AuditList, InstanceWide(audit.list_rows), takes_get=True),
    Route("/v3/audit/verify", AuditVerify, InstanceWide(audit.verify), takes_get=True),
    Route("/v3/proxy/usage", ProxyUsageList, InstanceWide(usage.list_usage), takes_get=True),
    Route("/v3/memory-prompt/create", PromptCreate, InstanceWide(prompts.create)),
    Route("/v3/memory-prompt/get", PromptGet, InstanceWide(prompts.get), takes_get=True),
    Route("/v3/memory-prompt/update", PromptUpdate, InstanceWide(prompts.update)),
    Route("/v3/memory-prompt/delete", PromptDelete, InstanceWide(prompts.delete)),
    Route("/v3/memory-prompt/set", PromptSet, InstanceWide(prompts.set_prompt)),
    Route("/v3/memory-prompt/setting/list", SettingList, InstanceWide(prompts.list_settings), takes_get=True),
    Route("/v3/memory-prompt/log", PromptLog, InstanceWide(prompts.log), takes_get=True),
    Route("/v3/memory-generation-log/list", GenerationList, InstanceWide(generations.list_generations), takes_get=True),
    Route("/v3/memory-generation-log/get", GenerationGet, InstanceWide(generations.get), takes_get=True),
    Route("/health", Request, "health"),
    Route("/metrics", Request, "metrics"),
    Route("/v2/pipeline/status", Request, InstanceWide(pipeline.load)),
    *(Route(f"/v2{path}", request, handler) for path, request, handler in _SHARED),
)

META_ROUTES: tuple[MetaRoute, ...] = (
    *PEOPLE_ROUTES,
    *KEY_ROUTES,
    *TEAM_ROUTES,
    *CONFIGURATION_ROUTES,
    *AGENT_ROUTES,
    *ASSET_ROUTES,
    *BINDING_ROUTES,
    *GRANT_ROUTES,
    *TASK_ROUTES,
    *PARTICIPATION_ROUTES,
)
