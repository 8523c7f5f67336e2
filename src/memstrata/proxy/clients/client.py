"""One client as the proxy sees it: a row of facts, no behaviour. Source: `reference/proxy.md` §3.1, §4.5, §8.2."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Client", "QuestionShape", "QuestionTool"]

QuestionShape = Literal["claude", "codebuddy", "codex", "dsh"]
"""How a client's question tool takes its arguments and gives its answers."""


@dataclass(frozen=True, slots=True)
class QuestionTool:
    """The tool with which a client asks its user something.

    `most_options` is how many answers one question may offer; 0: any number. `call_prefix` starts the id of every call
    that the proxy makes up, so that form artefacts are known by their id alone.
    """

    name: str
    shape: QuestionShape
    call_prefix: str
    most_options: int = 0
    several_questions: bool = False


@dataclass(frozen=True, slots=True)
class Client:
    """`elements` are tags that its runtime puts around text of its own, on lines of their own. `questions` are the tools
    that it may ask with; which one a request offers shows in its tools.

    `always_has_tools`: a request of this client without tools is a helper's, not the conversation's. `resends_history`:
    each request carries the whole conversation, so that what was put into it once can be put there again.
    """

    name: str
    elements: frozenset[str] = field(default_factory=frozenset)
    session_headers: tuple[str, ...] = ()
    questions: tuple[QuestionTool, ...] = ()
    always_has_tools: bool = False
    resends_history: bool = True
    marks_conversation: bool = False
    """Its cache mark stands on the newest message of the conversation; one earlier means a fork."""
