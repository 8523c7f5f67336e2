"""Tool calls that a model wrote into its text, because it does not know where else they go.

Common for small models, and for endpoints that do not translate a model's own notation. Only what can be nothing else is
taken: a JSON object with the name of a tool at hand and its arguments, alone on its lines. Prose about a call, a call
that is cut, and text that was shown to the model and comes back are none.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from memstrata.llm.protocol import ToolCall
from memstrata.llm.scan import Candidate, candidates
from memstrata.text.wellformed import well_formed

__all__ = ["written_calls"]

_KEYS = frozenset({"name", "arguments", "parameters", "id", "type"})
_SIGNS = " \t`"


def written_calls(text: str, names: Collection[str], shown: str, number: int) -> tuple[ToolCall, ...]:
    """Return the calls in `text`, in order. Never raises.

    `names`: the tools that there are. `shown`: what the model was shown. `number`: of the turn, so that ids differ.
    """
    meant = [one for one in candidates(text) if not one.cut and _stands_apart(text, one)]
    found = [(candidate, call) for candidate in meant for call in _calls(candidate.value, names)]
    told = _squeezed(shown) if found else ""
    own = [call for candidate, call in found if _squeezed(candidate.source) not in told]
    return tuple(ToolCall(f"written_{number}_{place}", *call) for place, call in enumerate(own))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _stands_apart(text: str, candidate: Candidate) -> bool:
    """Say whether a value has its lines to itself; of one that had to be repaired only the start is known for sure."""
    return candidate.alone or (
        candidate.repaired and not text[: candidate.start].rpartition("\n")[2].strip(_SIGNS).removeprefix("<tool_call>")
    )


def _calls(value: object, names: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield the names and arguments of the calls that a value is, or that a list in it holds."""
    match value:
        case {"tool_calls": list(listed)} | {"calls": list(listed)} | list(listed):
            pass
        case _:
            listed = [value]
    for one in listed:
        match one:
            case {"function": dict(function), **rest} if rest.keys() <= _KEYS:
                call = _call(function, names)
            case _:
                call = _call(one, names)
        if call is not None:
            yield call


def _call(value: object, names: Collection[str]) -> tuple[str, str] | None:
    match value:
        case {"name": str(name), **rest} if name in names and rest.keys() <= _KEYS:
            arguments = rest.get("arguments", rest.get("parameters"))
        case _:
            return None
    if isinstance(arguments, dict):
        try:
            return name, well_formed(json.dumps(arguments, ensure_ascii=False))
        except RecursionError:  # thousands of brackets are no arguments
            return None
    return (name, arguments) if isinstance(arguments, str) and arguments.lstrip().startswith("{") else None
