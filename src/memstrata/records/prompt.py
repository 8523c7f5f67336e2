"""Custom prompts: what an operator adds to a layer's own instructions, and whom it applies to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from memstrata.clock import Instant

__all__ = [
    "CustomPrompt",
    "Layer",
    "MemoryPrompt",
    "PromptRef",
    "PromptSetting",
    "PromptSettingChange",
    "PromptSource",
    "PromptTarget",
]

Layer = Literal["l1", "l2", "l3"]
PromptSource = Literal["system", "instance", "team", "agent"]
"""Where the prompt in force comes from; `system`: nothing was bound, the built-in one alone."""


@dataclass(frozen=True, slots=True)
class PromptRef:
    """Which prompt made something. `sha256` is of the custom text, empty for a built-in one."""

    prompt_id: str  # "builtin:l1", or "mp-…"
    version: int = 1
    source: PromptSource = "system"
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class CustomPrompt:
    """The custom text in force for a layer of an agent. It may steer what is looked for, never form or limits."""

    ref: PromptRef
    text: str


@dataclass(frozen=True, slots=True)
class MemoryPrompt:
    """A stored prompt of an instance."""

    prompt_id: str
    name: str
    layer: Layer
    text: str
    version: int  # 1 at first, one more with each change
    created_by: str
    updated_by: str
    created_at: Instant
    updated_at: Instant


@dataclass(frozen=True, slots=True)
class PromptTarget:
    """Whom a prompt is bound to: an instance, one of its teams, or an agent of a team. Empty parts are wider."""

    instance: str
    team: str = ""
    agent: str = ""

    @property
    def kind(self) -> Literal["instance", "team", "agent"]:
        return "agent" if self.agent else "team" if self.team else "instance"


@dataclass(frozen=True, slots=True)
class PromptSetting:
    """A prompt bound to a target for one layer."""

    target: PromptTarget
    layer: Layer
    prompt_id: str
    updated_by: str
    updated_at: Instant


@dataclass(frozen=True, slots=True)
class PromptSettingChange:
    """One line of the bindings' history. Ids are empty where nothing was bound before or after."""

    seq: int
    target: PromptTarget
    layer: Layer
    action: Literal["apply", "replace", "clear"]
    reason: Literal["explicit", "prompt_deleted"]
    before_prompt_id: str
    after_prompt_id: str
    operator: str
    at: Instant
