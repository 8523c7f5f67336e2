"""What a model may answer to the extraction question, and how an item becomes a draft.

Fields that decide (content, type, priority, sources) must be right, or the item is asked for again; in the others what
cannot be used is left out and noted. `validate.valid_drafts` comes after this and is not repeated here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import tzinfo
from typing import Annotated, Any, Final

import msgspec

from memstrata.distill.atoms.examples import examples_of, may_be_rendered, stands_in
from memstrata.distill.atoms.identity import names_somebody_else
from memstrata.distill.atoms.times import read_time
from memstrata.distill.atoms.transcript import Shown
from memstrata.distill.calls import Aliases
from memstrata.distill.scenes.meta import one_line
from memstrata.distill.validate import Rejected, valid_content
from memstrata.llm import Shape
from memstrata.records import AppliesTo, MemoryDraft, MemoryType, Mode
from memstrata.text.graphemes import cut

__all__ = [
    "WORK_FIELDS",
    "Draft",
    "MemoryItem",
    "Reader",
    "Text",
    "WorkItem",
    "memory_type",
    "named",
    "plain",
    "shape_of",
]

Text = Annotated[Any, msgspec.Meta(extra_json_schema={"type": "string"})]
"""Asked for as a text; a number in its place is read as one (`plain`), anything else as nothing."""

_TYPES: Final[Mapping[Mode, tuple[MemoryType, ...]]] = {
    "chat": ("persona", "episodic", "instruction"),
    "work": ("work_fact", "work_task", "work_method", "work_artifact"),
}
_TYPE_NAMES: Final[Mapping[str, str]] = {"episode": "episodic", "instruct": "instruction", "preference": "persona"}
_SUBJECTS = ("user", "assistant", "project", "person")
_REACHES = ("always", "project", "scene")
_FIELD_CHARACTERS = 200

WORK_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "owner": (),
    "deadline": (),
    "status": ("todo", "doing", "done", "blocked", "deferred", "cancelled"),
    "method_type": ("sop", "principle", "constraint", "anti_pattern", "heuristic", "evaluation_criterion"),
    "method_scope": ("project", "team", "module", "agent", "workflow"),
    "artifact_type": (
        *("doc", "pr", "issue", "repo", "branch", "design", "report", "prompt", "dataset", "meeting_note"),
    ),
    "artifact_ref": (),
}
"""The metadata of work memories: each field with the values that it may have, none for free text."""

_KEYS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("text", "memory", "statement", "fact", "summary"), "content"),
    **dict.fromkeys(("memory_type", "kind", "category"), "type"),
    **dict.fromkeys(("importance", "score"), "priority"),
    **dict.fromkeys(("message_ids", "message_id", "source_message_ids", "source_ids", "source", "messages"), "sources"),
    **dict.fromkeys(("evidence", "citations", "cites", "ids"), "sources"),
    **dict.fromkeys(("scene_name", "topic"), "scene"),
    **dict.fromkeys(("reach", "scope"), "applies_to"),
    **dict.fromkeys(("slot", "property"), "attribute"),
    **dict.fromkeys(("start_time", "activity_start_time", "happened_from"), "start"),
    **dict.fromkeys(("end_time", "activity_end_time", "happened_to"), "end"),
    **dict.fromkeys(("due", "due_date"), "deadline"),
    "assignee": "owner",
    "atoms": "memories",
    "facts": "memories",
}


def _of(*values: str) -> msgspec.Meta:
    return msgspec.Meta(extra_json_schema={"enum": list(values)})


class MemoryItem(msgspec.Struct, kw_only=True):
    """One memory of a person's life, as a model writes it."""

    content: str
    type: Annotated[str, _of(*_TYPES["chat"])]
    priority: int
    sources: list[Text] = msgspec.field(default_factory=list)
    scene: Text = ""
    subject: Annotated[Any, msgspec.Meta(extra_json_schema={"type": "string", "enum": list(_SUBJECTS)})] = "user"
    subject_name: Text = ""
    applies_to: Annotated[Any, msgspec.Meta(extra_json_schema={"type": "string", "enum": list(_REACHES)})] = "scene"
    attribute: Text = ""
    value: Text = ""
    start: Text = ""
    end: Text = ""


class WorkItem(MemoryItem, kw_only=True):
    """One memory of a team's work."""

    type: Annotated[str, _of(*_TYPES["work"])]
    owner: Text = ""
    deadline: Text = ""
    status: Text = ""
    method_type: Text = ""
    method_scope: Text = ""
    artifact_type: Text = ""
    artifact_ref: Text = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft and what of its item was left out, without contents."""

    draft: MemoryDraft
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """How the items of one call are read: what it was shown, and whom it is about."""

    aliases: Aliases
    user_name: str
    mode: Mode
    zone: tzinfo
    shown: Shown

    def fault(self, item: MemoryItem) -> str:
        """Return what makes an item unusable, in words that a model can act on; empty if nothing does."""
        if memory_type(item.type, self.mode) is None:
            return f"type must be one of {', '.join(_TYPES[self.mode])}"
        seqs = self.aliases.read(named(item.sources))[0]
        if not seqs:
            return "sources must hold labels of new messages, such as c1"
        content = valid_content(item.content)
        if isinstance(content, Rejected):
            return f"content: {content.reason}"
        if self.shown.mark in content:
            return "content holds the mark of the headers, which is no name and nobody's word"
        examples = examples_of(self.mode)
        if examples.is_echo(content, self.user_name, self.shown.cited(seqs), self.shown.transcript):
            return "content repeats an example of the instructions; only what the cited messages say counts"
        if names_somebody_else(content, self.user_name):
            return (
                "content puts a name to the user that is not the one given as `user` (what stands in brackets behind User is "
                "read as a name); other people and teams are subjects under their own names"
            )
        return ""

    def draft(self, item: MemoryItem) -> Draft:
        """Return the draft of an item without fault."""
        notes: list[str] = []
        kind = memory_type(item.type, self.mode)
        assert kind is not None
        seqs, unknown = self.aliases.read(named(item.sources))
        if unknown:
            notes.append(f"{len(unknown)} sources that were not shown")
        subject = plain(item.subject).casefold()
        if subject not in _SUBJECTS:
            notes.append("unknown subject")
            subject = "user"
        subject_name = self._said(item, "subject_name", notes) if subject != "user" else ""
        start, end = self._time(item, "start", notes), self._time(item, "end", notes)
        attribute, value = self._property(item, notes)
        facts = {"subject": subject, "subject_name": subject_name, "value": value}
        if isinstance(item, WorkItem):
            facts |= self._work(item, notes)
        draft = MemoryDraft(
            content=item.content,
            type=kind,
            priority=item.priority,
            source_seqs=seqs,
            scene_name=self._said(item, "scene", notes),
            applies_to=_reach(item) if kind == "instruction" else "always",
            slot=_slot(attribute, subject, subject_name),
            happened_from=start,
            happened_to=end,
            metadata={name: value for name, value in facts.items() if value},
        )
        return Draft(draft, tuple(notes))

    def _said(self, item: MemoryItem, name: str, notes: list[str]) -> str:
        """Return a minor field, unless it is the mark of the call, or an example's that nobody said."""
        text = plain(getattr(item, name))
        if self.shown.mark in text:
            notes.append(f"{name} is the mark of the headers")
            return ""
        if examples_of(self.mode).has(text) and not stands_in(text, item.content, self.shown.transcript):
            notes.append(f"{name} is that of an example")
            return ""
        return text

    def _property(self, item: MemoryItem, notes: list[str]) -> tuple[str, str]:
        """Return attribute and value; neither if the value was not said, because it would retire what holds."""
        value = self._said(item, "value", notes)
        if plain(item.value) and not value:
            return "", ""
        if stands_in(value, item.content, self.shown.transcript) or may_be_rendered(value, item.content):
            return plain(item.attribute), value
        notes.append("a value that nobody said, and its attribute")
        return "", ""

    def _time(self, item: MemoryItem, name: str, notes: list[str]) -> int | None:
        text = plain(getattr(item, name))
        example = examples_of(self.mode).like(item.content, self.user_name) if text else None
        if example is not None and text in example.days:
            notes.append(f"{name} is that of an example")
            return None
        found = read_time(text, self.zone, end=name == "end") if text else None
        if text and found is None:
            notes.append(f"{name} is no ISO 8601 time")
        return found

    def _work(self, item: WorkItem, notes: list[str]) -> dict[str, str]:
        facts: dict[str, str] = {}
        for name, allowed in WORK_FIELDS.items():
            value = self._said(item, name, notes)
            value = value.casefold() if allowed else value
            if value and not self._may_be(name, value):
                notes.append(f"{name} has no value that it may have")
            else:
                facts[name] = value
        return facts

    def _may_be(self, name: str, value: str) -> bool:
        if name == "deadline":
            return read_time(value, self.zone) is not None
        return not WORK_FIELDS[name] or value in WORK_FIELDS[name]


def shape_of(reader: Reader) -> Shape[MemoryItem]:
    """Return what the answer to one call must look like."""
    item = WorkItem if reader.mode == "work" else MemoryItem
    return Shape(item, name="memories", aliases=_KEYS, check=reader.fault, partial=True)


def memory_type(text: str, mode: Mode) -> MemoryType | None:
    """Return the type of the mode that a model means, None if there is none."""
    name = text.strip().casefold()
    name = _TYPE_NAMES.get(name, name)
    return next((kind for kind in _TYPES[mode] if kind == name), None)


def named(values: list[Any]) -> list[str]:
    """Return the aliases that a model wrote, also several of them in one text."""
    return [name for value in values for name in re.split(r"[,;，、；\s]+", str(value)) if name]


def plain(value: object) -> str:
    """Return a minor field as a short line of text."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = unicodedata.normalize("NFC", one_line(str(value)))
    return cut(text, _FIELD_CHARACTERS, "…")


def _reach(item: MemoryItem) -> AppliesTo:
    said = plain(item.applies_to).casefold()
    return "always" if said == "always" else "project" if said == "project" else "scene"


def _slot(attribute: str, subject: str, subject_name: str) -> str:
    """Return what two memories share that cannot both hold. What is said of others never contradicts the user's own."""
    name = re.sub(r"\W+", "_", attribute.casefold()).strip("_")
    if not name or subject == "user":
        return name
    return f"{name} of {subject_name.casefold() or subject}"
