"""What models have really done to the JSON they were asked for: user needs B09 to B19, by name.

    model.script("extract", malformed("unclosed_think_then_answer", items))

Each takes the right answer, a list of objects, and returns the reply with that fault. `fate` tells what a reader must
make of it: `items` (the right answer can be read), `nothing`, `failed` (to be asked for again), or `checked` (readable,
but wrong in what it says, so that the code behind the reader must refuse it).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from memstrata.testing.llm import Reply

__all__ = ["MALFORMATIONS", "Fate", "Fields", "Malformation", "malformed"]

Fate = Literal["items", "nothing", "failed", "checked"]
Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fields:
    """What the keys are called in the answer at hand."""

    text: str = "content"
    targets: str = "targets"  # the aliases that a decision names
    action: str = "action"


@dataclass(frozen=True, slots=True)
class Malformation:
    """One way to go wrong."""

    name: str
    case: str  # of user needs
    fate: Fate
    make: Callable[[Sequence[Item], Fields], Reply]


def malformed(name: str, items: Sequence[Item], fields: Fields | None = None) -> Reply:
    """Return the reply that gives `items` with the fault `name`. Raises KeyError for a name that there is not."""
    return MALFORMATIONS[name].make(items, fields or Fields())


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(template: Callable[[str], str]) -> Callable[[Sequence[Item], Fields], Reply]:
    return lambda items, fields: Reply(template(_json(list(items))))


def _value(change: Callable[[Sequence[Item]], object]) -> Callable[[Sequence[Item], Fields], Reply]:
    return lambda items, fields: Reply(_json(change(items)))


def _targets(value: object) -> Callable[[Sequence[Item], Fields], Reply]:
    return lambda items, fields: Reply(_json([{**item, fields.targets: value} for item in items]))


def _content(change: Callable[[str], str]) -> Callable[[Sequence[Item], Fields], Reply]:
    return lambda items, fields: Reply(
        _json([{**item, fields.text: change(str(item.get(fields.text, "")))} for item in items])
    )


def _without_text(items: Sequence[Item], fields: Fields) -> Reply:
    return Reply(_json([{key: value for key, value in item.items() if key != fields.text} for item in items]))


def _renamed(items: Sequence[Item], fields: Fields) -> Reply:
    other = "text" if fields.text != "text" else "content"
    return Reply(
        _json([{(other if key == fields.text else key): value for key, value in item.items()} for item in items])
    )


def _input_echo(items: Sequence[Item], fields: Fields) -> Reply:
    messages = [
        {"id": f"m{n}", "role": "user", "content": item.get(fields.text, "")} for n, item in enumerate(items, 1)
    ]
    return Reply(_json(messages))


def _deletion(items: Sequence[Item], fields: Fields) -> Reply:
    return Reply(_json([{**item, fields.action: "delete", fields.targets: ["c1"]} for item in items]))


def _raw_line_breaks(text: str) -> str:
    """Return JSON with a raw line break and a raw tab at the start of every value that is a text."""
    return text.replace('": "', '": "\n\t')


_SCHEMA = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": {"type": "object", "properties": {"content": {"type": "string"}}}}
    },
    "required": ["items"],
}
_THOUGHT = 'Maybe {"content": "a draft"} or [1, 2] or [{"content": "not this"}]?'

MALFORMATIONS: Mapping[str, Malformation] = {
    one.name: one
    for one in (
        Malformation("closed_think", "B09", "items", _text(lambda j: f"<think>{_THOUGHT}</think>\n```json\n{j}\n```")),
        Malformation("analysis_tag", "B09", "items", _text(lambda j: f"<analysis>{_THOUGHT}</analysis>{j}")),
        Malformation("lone_closing_think", "B09", "items", _text(lambda j: f"{_THOUGHT}</think>{j}")),
        Malformation("two_fences", "B09", "items", _text(lambda j: f"```json\n{j}\n```\nor\n```json\n[]\n```")),
        Malformation(
            "unclosed_think_then_answer", "B09", "items", _text(lambda j: f"<think>{_THOUGHT}\n```json\n{j}\n```")
        ),
        Malformation(
            "unclosed_think", "B09", "failed", _text(lambda j: f"<think>{_THOUGHT} Let me go through it once more")
        ),
        Malformation("reasoning_only", "B09", "failed", lambda items, fields: Reply("", reasoning=_json(list(items)))),
        Malformation(
            "brackets_in_prose",
            "B10",
            "items",
            _text(lambda j: f"[note] here is the list (see [1]): {j} Hope this helps [end]"),
        ),
        Malformation("empty", "B12", "failed", _text(lambda j: "")),
        Malformation("whitespace", "B12", "failed", _text(lambda j: " \n\t\n ")),
        Malformation("apology", "B12", "failed", _text(lambda j: "I'm sorry, but I can't help with that request.")),
        Malformation("chinese_apology", "B12", "failed", _text(lambda j: "很抱歉，我无法处理这段内容。")),
        Malformation(
            "friendly_prose", "B12", "failed", _text(lambda j: "Nothing here seems worth recording. Have a nice day!")
        ),
        Malformation("legal_empty", "B12", "nothing", _text(lambda j: "[]")),
        Malformation("bare_list", "B13", "items", _value(list)),
        Malformation("wrapped_in_result", "B13", "items", _value(lambda items: {"result": list(items)})),
        Malformation("renamed_keys", "B13", "items", _renamed),
        Malformation("single_object", "B13", "items", _value(lambda items: items[0])),
        Malformation(
            "numbers_as_keys", "B13", "items", _value(lambda items: {str(n): item for n, item in enumerate(items)})
        ),
        Malformation("schema_echo", "B13", "failed", _value(lambda items: _SCHEMA)),
        Malformation("input_echo", "B13", "failed", _input_echo),
        Malformation("trailing_comma", "A5", "items", _text(lambda j: j[:-1] + ",]")),
        Malformation("control_characters", "A5", "items", _text(_raw_line_breaks)),
        Malformation("missing_bracket", "A5", "items", _text(lambda j: j[:-1])),
        Malformation("cut_tail", "A5", "failed", _text(lambda j: f'{j[:-1]}, {{"content": "and the user al')),
        Malformation("unknown_alias", "B15", "checked", _targets(["m99"])),
        Malformation("number_as_alias", "B15", "checked", _targets([1, 7])),
        Malformation("made_up_uuid", "B15", "checked", _targets(["7b1e0a52-52f1-4f3a-9d5c-0c64bb1f0f11"])),
        Malformation("null_alias", "B15", "checked", _targets(None)),
        Malformation("merge_without_text", "B16", "checked", _without_text),
        Malformation("merge_with_empty_text", "B16", "checked", _content(lambda text: "")),
        Malformation("list_for_object", "B16", "checked", _value(lambda items: [[] for _ in items])),
        Malformation("phrase_repeated", "B18", "checked", _content(lambda text: "the user likes tea " * 400)),
        Malformation("json_in_text", "B18", "checked", _content(lambda text: text + '"}],"scene_name":')),
        Malformation(
            "far_too_long",
            "B18",
            "checked",
            _content(lambda text: ((text or "long") + " and so on; ") * (1 + 30_000 // (len(text) + 12))),
        ),
        Malformation("deletes_the_old", "B19", "checked", _deletion),
    )
}
