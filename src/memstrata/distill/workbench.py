"""Files that a model works on with tools: in memory alone, under rules that it cannot talk its way out of.

Both upper layers use it. Nothing touches a disk or a row: what is staged here is a proposal, read and checked when the
loop has ended, so a run that breaks off leaves everything as it was (user needs B32). The model sees file names, texts
and aliases, never an id or META. What is refused is told in words that it can act on, and noted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memstrata.distill.calls import Aliases
from memstrata.distill.scenes.meta import one_line, parse_scene
from memstrata.distill.scenes.names import check_path, fold_path, scene_file_name
from memstrata.distill.scenes.navigation import strip_navigation
from memstrata.errors import InvalidRequest
from memstrata.llm.protocol import ToolSpec
from memstrata.llm.tools import ToolResult
from memstrata.text.wellformed import well_formed

__all__ = ["DELETED", "BenchFile", "BenchRules", "Staged", "Workbench"]

DELETED: Final = "[DELETED]"
"""As the whole content of a write it removes the file."""

_MOST_NOTES = 40
_NAME_CHARACTERS = 80  # of a name that is shown back
_LISTED_NAMES = 20
_ALIAS = re.compile(r"[^\s,;]+")


@dataclass(frozen=True, slots=True)
class BenchFile:
    """A file as it lies on the bench at first. `fixed` tells why it may only be read; empty if it may be written."""

    path: str
    text: str
    summary: str = ""
    fixed: str = ""


@dataclass(frozen=True, slots=True)
class BenchRules:
    """What may be written. `only`: these files and no others, none of which can be removed; None for any scene.

    `max_characters` of one text, `max_files` in all. Where scenes are written, writes carry summary and memories.
    """

    max_characters: int
    max_files: int
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """What a file is to become. `memory_seqs` are those that the model named; `merges` are files that it takes over."""

    text: str
    summary: str = ""
    memory_seqs: tuple[int, ...] = ()
    merges: tuple[str, ...] = ()


class Workbench:
    """Implements `llm.tools.Toolset`. `staged` and `removed` hold what is proposed, `notes` what was refused."""

    def __init__(self, files: Sequence[BenchFile], rules: BenchRules, aliases: Aliases | None = None) -> None:
        self.staged: dict[str, Staged] = {}
        self.removed: dict[str, None] = {}
        self.notes: list[str] = []
        self._files = {file.path: file for file in files}
        self._rules = rules
        self._aliases = aliases or Aliases("m", ())

    @property
    def specs(self) -> Sequence[ToolSpec]:
        return _SCENE_TOOLS if self._rules.only is None else _PLAIN_TOOLS

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        try:
            path = self._path(arguments.get("path"))
            match name:
                case "read":
                    return ToolResult(self._read(path))
                case "write":
                    return ToolResult(self._write(path, arguments))
                case _:
                    return ToolResult(self._edit(path, arguments))
        except _Refused as refusal:
            self._note(f"{name} {_shown(arguments.get('path'))}: {refusal}")
            return ToolResult(str(refusal), is_error=True)

    def live(self) -> tuple[str, ...]:
        """Return the paths that there would be if everything staged were stored."""
        gone = self._gone()
        return tuple(path for path in dict.fromkeys((*self._files, *self.staged)) if path not in gone)

    def _gone(self) -> set[str]:
        merged = {path for staged in self.staged.values() for path in staged.merges}
        return (merged | set(self.removed)) - set(self.staged)

    def _read(self, path: str) -> str:
        text = self._text(path)
        if text is None:
            raise _Refused(f"there is no file {_shown(path)}; {self._choice()}")
        return text or "(empty)"

    def _write(self, path: str, arguments: Mapping[str, Any]) -> str:
        content = arguments.get("content")
        if not isinstance(content, str):
            raise _Refused("`content` must be the whole new text of the file")
        if content.strip() == DELETED:
            return self._remove(path)
        text = self._fit(content)
        merges = self._merges(path, arguments.get("merges"))
        self._check_writable(path, merges)
        summary = arguments.get("summary")
        cited = self._cited(path, arguments.get("memories"))
        self.removed.pop(path, None)
        self.staged[path] = Staged(text, one_line(summary) if isinstance(summary, str) else "", cited, merges)
        return f"written: {path}, {len(text)} characters"

    def _edit(self, path: str, arguments: Mapping[str, Any]) -> str:
        text = self._text(path)
        if text is None or path in self.removed:
            raise _Refused(f"there is no file {_shown(path)} to edit; {self._choice()}")
        self._check_writable(path, ())
        edits = arguments.get("edits")
        cited = self._cited(path, arguments.get("memories"))
        if not isinstance(edits, list) or not (edits or cited):
            raise _Refused("`edits` must be a list of {old, new}")
        for number, edit in enumerate(edits, start=1):
            text = _edited(text, edit, number)
        old = self.staged.get(path) or Staged("", self._files[path].summary)
        summary = arguments.get("summary")
        said = one_line(summary) if isinstance(summary, str) else ""
        united = tuple(dict.fromkeys((*old.memory_seqs, *cited)))
        self.staged[path] = Staged(self._fit(text), said or old.summary, united, old.merges)
        return f"edited: {path}, {len(edits)} passages"

    def _remove(self, path: str) -> str:
        if self._rules.only is not None:
            raise _Refused("this file cannot be removed; write its new text")
        if path not in self._files:
            if self.staged.pop(path, None) is None:
                raise _Refused(f"there is no file {_shown(path)} to remove; {self._choice()}")
            return f"dropped: {path}"
        self._check_writable(path, ())
        self.staged.pop(path, None)
        self.removed[path] = None
        return f"marked for removal: {path}; what it said must stand in a file that you write in this run"

    def _path(self, value: object) -> str:
        """Return the file that is meant: a name that differs from an existing one only in how it is written is refused."""
        if not isinstance(value, str) or not value.strip():
            raise _Refused("`path` must be the name of a file")
        path = value.strip().removeprefix("./")
        known = dict.fromkeys((*self._files, *self.staged))
        if path in known:
            return path
        try:
            check_path(path)
        except InvalidRequest as error:
            raise _Refused(f"{error}; names are flat, as in theme-name.md") from None
        folded = fold_path(path)
        for other in known:
            if fold_path(other) == folded:
                raise _Refused(f"this is the same file as {other}; use that name")
        return path

    def _check_writable(self, path: str, merges: tuple[str, ...]) -> None:
        only = self._rules.only
        if only is not None and path not in only:
            raise _Refused(f"only {', '.join(sorted(only))} may be written; all else is for reading")
        if path in self._files:
            if self._files[path].fixed:
                raise _Refused(self._files[path].fixed)
            return
        if only is not None or path in self.staged:
            return
        if "/" in path or not path.endswith(".md"):
            raise _Refused("a file's name ends in .md and holds no slash: there are no folders")
        own = scene_file_name(path, ())
        if own != path:
            raise _Refused(f"a name holds letters, digits, '-', '_' and inner dots; use {own}")
        after = set(self.live()) - set(merges) | {path}
        if len(after) > self._rules.max_files:
            raise _Refused(
                f"there may be at most {self._rules.max_files} files: update one of them, or name in `merges` those that this "
                f"one takes over; {self._choice()}"
            )

    def _merges(self, path: str, value: object) -> tuple[str, ...]:
        merges: dict[str, None] = {}
        for name in value if isinstance(value, list) else [value] if isinstance(value, str) else []:
            other = self._path(name)
            if other not in self._files:
                raise _Refused(f"there is no file {_shown(name)} to merge; {self._choice()}")
            if self._files[other].fixed:
                raise _Refused(f"{other} cannot be merged: {self._files[other].fixed}")
            if other != path:
                merges[other] = None
        return tuple(merges)

    def _cited(self, path: str, value: object) -> tuple[int, ...]:
        names = value if isinstance(value, list) else _ALIAS.findall(value) if isinstance(value, str) else []
        known, unknown = self._aliases.read(str(name) for name in names)
        if unknown:
            self._note(f"{path}: {len(unknown)} names of memories that were not shown")
        return known

    def _fit(self, content: str) -> str:
        """Return a text as it may be staged. META and navigation are the code's and are taken off."""
        text = strip_navigation(parse_scene(content).body)
        if not text:
            raise _Refused(f"the text is empty; to remove a file, write {DELETED} as its whole content")
        if text == DELETED:
            raise _Refused(f"to remove a file, use write with {DELETED} as its whole content")
        if len(text) > self._rules.max_characters:
            raise _Refused(f"the text has {len(text)} characters, at most {self._rules.max_characters} fit: shorten it")
        return text

    def _text(self, path: str) -> str | None:
        if path in self.staged:
            return self.staged[path].text
        return self._files[path].text if path in self._files else None

    def _choice(self) -> str:
        names = self.live()
        more = f" and {len(names) - _LISTED_NAMES} more" if len(names) > _LISTED_NAMES else ""
        return f"there are: {', '.join(names[:_LISTED_NAMES])}{more}" if names else "there is none yet"

    def _note(self, note: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(note)
        elif len(self.notes) == _MOST_NOTES:
            self.notes.append("more was refused")


class _Refused(Exception):
    """What the model is told instead of a result."""


def _edited(text: str, edit: object, number: int) -> str:
    match edit:
        case {"old": str(old), "new": str(new)}:
            pass
        case _:
            raise _Refused(f"edit {number} is not of the form {{old, new}}; nothing was changed")
    # Overlapping places count too: "aa" stands twice in "aaa".
    first = text.find(old) if old else -1
    if first < 0:
        raise _Refused(f"edit {number}: `old` does not stand in the file; copy it exactly. Nothing was changed")
    if text.find(old, first + 1) >= 0:
        raise _Refused(f"edit {number}: `old` stands there more than once; take more of the text. Nothing was changed")
    return text[:first] + new + text[first + len(old) :]


def _shown(value: object) -> str:
    """Return a name that a model gave in a form that fits a line."""
    return repr(well_formed(one_line(str(value)))[:_NAME_CHARACTERS])


def _schema(required: Sequence[str], **properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


_TEXT: Final[Mapping[str, Any]] = {"type": "string"}
_NAMES: Final[Mapping[str, Any]] = {"type": "array", "items": _TEXT}
_EDITS: Final[Mapping[str, Any]] = {"type": "array", "items": _schema(("old", "new"), old=_TEXT, new=_TEXT)}

_READ = ToolSpec("read", "Returns the text of a file.", _schema(("path",), path=_TEXT))
_PLAIN_TOOLS: Final = (
    _READ,
    ToolSpec("write", "Sets the whole text of a file.", _schema(("path", "content"), path=_TEXT, content=_TEXT)),
    ToolSpec(
        "edit",
        "Replaces passages of a file. Each `old` must stand there exactly once; all edits are made or none.",
        _schema(("path", "edits"), path=_TEXT, edits=_EDITS),
    ),
)
_SCENE_TOOLS: Final = (
    _READ,
    ToolSpec(
        "write",
        f"Sets the whole text of a file, new or existing; {DELETED} as content removes it. `memories`: aliases that the text "
        "rests on. `merges`: files that this one takes over, which go.",
        _schema(
            ("path", "content", "summary", "memories"),
            path=_TEXT,
            content=_TEXT,
            summary=_TEXT,
            memories=_NAMES,
            merges=_NAMES,
        ),
    ),
    ToolSpec(
        "edit",
        "Replaces passages of a file. Each `old` must stand there exactly once; all edits are made or none.",
        _schema(("path", "edits"), path=_TEXT, edits=_EDITS, summary=_TEXT, memories=_NAMES),
    ),
)
