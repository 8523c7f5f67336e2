"""What a model may answer about conflicts, and what of an answer is heard: names that were shown, each used once.

Nothing here decides; `settle` does. Whatever is not understood is noted and leaves the memory as new (user needs A15).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

import msgspec

from memstrata.distill.atoms.items import Text, named, plain
from memstrata.distill.calls import Aliases
from memstrata.distill.validate import Rejected, valid_content
from memstrata.llm import Shape

__all__ = ["Verdict", "VerdictItem", "Verdicts", "read_verdicts", "shape_of"]

_ACTIONS: Final = ("store", "skip", "update", "merge", "revise")
_KEYS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("id", "alias", "record_id", "memory_id", "new", "draft"), "item"),
    **dict.fromkeys(("decision", "event", "operation"), "action"),
    **dict.fromkeys(("target", "target_ids", "target_id", "ids"), "targets"),
    **dict.fromkeys(("text", "merged_content", "new_content", "merged_text"), "content"),
    "merged_type": "type",
    "merged_priority": "priority",
}


class VerdictItem(msgspec.Struct, kw_only=True):
    """One decision, as a model writes it."""

    item: Text
    action: Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(_ACTIONS)})]
    targets: list[Text] = msgspec.field(default_factory=list)
    content: str = ""
    type: Text = ""
    priority: Annotated[Any, msgspec.Meta(extra_json_schema={"type": "integer"})] = None
    start: Text = ""
    end: Text = ""
    value: Text = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said about one draft. `known` are numbers of memories, `new` places of other drafts, in the order named.

    `content` has passed the validator; empty where none was given.
    """

    action: Literal["store", "skip", "update", "merge", "revise"]
    known: tuple[int, ...] = ()
    new: tuple[int, ...] = ()
    content: str = ""
    type: str = ""
    priority: int | None = None
    start: str = ""
    end: str = ""
    value: str = ""


@dataclass(slots=True)
class Verdicts:
    """What was heard. `of` has the verdict of each draft that got one, by place; `notes` what was not heard."""

    of: dict[int, Verdict] = field(default_factory=dict)
    revisions: list[tuple[int, Verdict]] = field(default_factory=list)
    notes: dict[int, list[str]] = field(default_factory=dict)
    stray: int = 0  # decisions about memories that are not among the new ones

    def note(self, place: int, text: str) -> None:
        self.notes.setdefault(place, []).append(text)


def shape_of(new: Aliases) -> Shape[VerdictItem]:
    """Return what the answer must look like: all of it, because one decision changes what the others mean."""
    return Shape(VerdictItem, name="decisions", aliases=_KEYS, check=lambda item: _fault(item, new))


def read_verdicts(items: Sequence[VerdictItem], known: Aliases, new: Aliases) -> Verdicts:
    """Return what the items say about drafts that there are, with aliases that were shown."""
    heard = Verdicts()
    for item in items:
        place = _place(item, new)
        if place is None:
            heard.stray += 1
            continue
        verdict = _verdict(item, place, known, new, heard)
        if verdict.action == "revise":
            heard.revisions.append((place, verdict))
        elif place in heard.of:
            heard.note(place, f"a second decision ({verdict.action})")
        else:
            heard.of[place] = verdict
    return heard


def _fault(item: VerdictItem, new: Aliases) -> str:
    """Return what makes a decision unusable: the text of a merge or a revision, or of an update that has one."""
    action = _action(item)
    if _place(item, new) is None or action not in ("update", "merge", "revise"):
        return ""
    if action == "update" and not item.content.strip():
        return ""
    content = valid_content(item.content)
    return f"{action} needs its whole new text as content: {content.reason}" if isinstance(content, Rejected) else ""


def _verdict(item: VerdictItem, place: int, known: Aliases, new: Aliases, heard: Verdicts) -> Verdict:
    names = named(item.targets)
    memories, others = known.read(names), new.read(names)
    drafts = tuple(other for other in others[0] if other != place)
    dropped = len(set(memories[1]) & set(others[1])) + len(others[0]) - len(drafts)
    if dropped:
        heard.note(place, f"{dropped} targets that it cannot have")
    action = _action(item)
    if action is None:
        heard.note(place, "an action that there is not")
        return Verdict("store")
    content = valid_content(item.content) if action in ("update", "merge", "revise") and item.content.strip() else ""
    assert isinstance(content, str), "the shape has checked it"
    return Verdict(
        action,
        memories[0],
        drafts,
        content,
        plain(item.type).casefold(),
        _number(item.priority),
        plain(item.start),
        plain(item.end),
        plain(item.value),
    )


def _place(item: VerdictItem, new: Aliases) -> int | None:
    places, _ = new.read(named([item.item]))
    return places[0] if len(places) == 1 else None


def _number(value: object) -> int | None:
    text = plain(value)
    return int(text) if re.fullmatch(r"-?\d{1,3}", text) else None


def _action(item: VerdictItem) -> Literal["store", "skip", "update", "merge", "revise"] | None:
    said = item.action.strip().casefold()
    return next((action for action in _ACTIONS if action == said), None)
