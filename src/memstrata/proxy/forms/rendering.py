"""A form as the arguments of each client's question tool. Source: `reference/proxy.md` §4.5. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from memstrata.proxy.clients.client import QuestionTool
from memstrata.proxy.forms.machine import Asking, Question

__all__ = ["REASONING", "arguments_of"]

REASONING = "The session's memory has to be chosen first."
"""What stands in `reasoning_content` where a client's model refuses a history without one."""


def arguments_of(asking: Asking, tool: QuestionTool) -> Mapping[str, object]:
    """Return the arguments of the call that asks a form's questions."""
    if tool.shape == "codebuddy":
        asked = [
            {
                "id": one.key,
                "question": one.text,
                "options": [option.label for option in one.options],
                "multiSelect": False,
            }
            for one in asking.questions
        ]
        return {"title": asking.questions[0].header, "questions": json.dumps(asked, ensure_ascii=False)}
    return {"questions": [_asked(one, tool) for one in asking.questions]}


def _asked(question: Question, tool: QuestionTool) -> Mapping[str, object]:
    options = [{"label": option.label, "description": option.about} for option in question.options]
    common = {"question": question.text, "header": question.header, "options": options}
    if tool.shape == "claude":
        return {**common, "multiSelect": False}
    if tool.shape == "dsh":
        return {"id": question.key, **common, "multi_select": False}
    return {"id": question.key, **common}
