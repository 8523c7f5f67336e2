"""Chat models: the protocol, providers for two wire formats, and the one reader of what models write.

`Models` answers for all roles; `Metered` books and bounds what is spent; `ask` puts one question and reads the answer;
`run_tools` lets a model work with tools. Everything below them is theirs.
"""

from memstrata.llm.ask import Asked, Attempt, Deferred, Divisible, Items, Nothing, ask, outcome_of
from memstrata.llm.models import Models
from memstrata.llm.protocol import (
    MODEL_ROLES,
    Chat,
    ChatMessage,
    ChatReply,
    ChatRequest,
    ModelRole,
    ToolCall,
    ToolSpec,
    Usage,
)
from memstrata.llm.reply import Read, Unreadable, read_reply
from memstrata.llm.roles import ModelChoice, RoleModels
from memstrata.llm.shape import Shape
from memstrata.llm.spend import MemorySpendBook, Metered, SpendBook, Spending, SpendKey, budget_state
from memstrata.llm.tools import LoopEnd, LoopLimits, ToolResult, Toolset, run_tools

__all__ = [
    "MODEL_ROLES",
    "Asked",
    "Attempt",
    "Chat",
    "ChatMessage",
    "ChatReply",
    "ChatRequest",
    "Deferred",
    "Divisible",
    "Items",
    "LoopEnd",
    "LoopLimits",
    "MemorySpendBook",
    "Metered",
    "ModelChoice",
    "ModelRole",
    "Models",
    "Nothing",
    "Read",
    "RoleModels",
    "Shape",
    "SpendBook",
    "SpendKey",
    "Spending",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Toolset",
    "Unreadable",
    "Usage",
    "ask",
    "budget_state",
    "outcome_of",
    "read_reply",
    "run_tools",
]
