"""What the routes about prompts and generations accept. Here, and only here, an unknown key is an error.

Where a route answers GET as well, the query string takes the place of the body, and numbers in it are read from text.
Source: wire contract §1.1, §4.2, §4.3. Lengths of names and texts are the book's business, because it trims them first.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from memstrata.provenance import GenerationStatus
from memstrata.records import Layer
from memstrata.server.requests import Limit, Offset
from memstrata.server.requests import MemoryId as Id

__all__ = [
    "GenerationGet",
    "GenerationList",
    "PagedRequest",
    "PromptCreate",
    "PromptDelete",
    "PromptGet",
    "PromptLog",
    "PromptSet",
    "PromptUpdate",
    "SettingList",
    "StrictRequest",
]

Cursor = Annotated[str, Meta(max_length=512)]
TimeOrder = Literal["asc", "desc"]
TargetType = Literal["instance", "team", "agent"]


class StrictRequest(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The base of all of them."""


class PagedRequest(StrictRequest, kw_only=True, frozen=True):
    """What answers with a page, newest first unless told otherwise."""

    limit: Limit | None = None
    offset: Offset | None = None
    time_order: TimeOrder | None = None


class PromptCreate(StrictRequest, kw_only=True, frozen=True):
    """`/memory-prompt/create`."""

    name: str
    layer: Layer
    prompt: str


class PromptGet(PagedRequest, kw_only=True, frozen=True):
    """`/memory-prompt/get`: one by its id, the one in force for a team or an agent, or a page of all."""

    memory_prompt_id: Id | None = None
    team_id: Id | None = None
    agent_id: Id | None = None
    layer: Layer | None = None


class PromptUpdate(StrictRequest, kw_only=True, frozen=True):
    """`/memory-prompt/update`."""

    memory_prompt_id: Id
    name: str | None = None
    prompt: str | None = None


class PromptDelete(StrictRequest, kw_only=True, frozen=True):
    """`/memory-prompt/delete`."""

    memory_prompt_ids: Annotated[list[Id], Meta(min_length=1, max_length=100)]


class PromptSet(StrictRequest, kw_only=True, frozen=True):
    """`/memory-prompt/set`. Whom it is about: the agents, else the team, else the instance."""

    action: Literal["apply", "clear"]
    layer: Layer
    memory_prompt_id: Id | None = None
    team_id: Id | None = None
    agent_ids: Annotated[list[Id], Meta(min_length=1, max_length=100)] | None = None


class SettingList(PagedRequest, kw_only=True, frozen=True):
    """`/memory-prompt/setting/list`."""

    memory_prompt_id: Id | None = None
    target_type: TargetType | None = None
    team_id: Id | None = None
    agent_id: Id | None = None
    layer: Layer | None = None


class PromptLog(PagedRequest, kw_only=True, frozen=True):
    """`/memory-prompt/log`. `target_type` and `layer` are ours: without the first, no log of the instance's own."""

    memory_prompt_id: Id | None = None
    target_type: TargetType | None = None
    team_id: Id | None = None
    agent_id: Id | None = None
    layer: Layer | None = None
    start_time: str | None = None
    end_time: str | None = None
    action: Literal["apply", "replace", "clear"] | None = None


class GenerationList(StrictRequest, kw_only=True, frozen=True):
    """`/memory-generation-log/list`."""

    layer: Layer | None = None
    status: GenerationStatus | None = None
    start_time: str | None = None
    end_time: str | None = None
    limit: Limit | None = None
    cursor: Cursor | None = None


class GenerationGet(StrictRequest, kw_only=True, frozen=True):
    """`/memory-generation-log/get`: by the log's own id, or by a memory's and its layer."""

    log_id: Id | None = None
    memory_id: Id | None = None
    layer: Layer | None = None
