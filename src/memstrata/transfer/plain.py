"""Conversations as people paste them: `User:` and `Assistant:` at the start of a line, the text after it.

    # A title opens a session
    [2026-01-02 03:04] User: what was said,
    on as many lines as it takes
    助手：回答

    ---
    User: a line of dashes opens the next session

Labels are English or Chinese, in any case, with a half- or full-width colon, bare or `**bold**`. A time stands in
brackets before the label, after the name, or on a line of its own before it. A title or a line of dashes separates
sessions only where a label follows it, and nothing inside a ``` block is ever a label: answers contain Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from io import StringIO

from memstrata.clock import Instant
from memstrata.records import Role
from memstrata.transfer.builder import ImportBuilder
from memstrata.transfer.conversation import ImportFile
from memstrata.transfer.place import Place
from memstrata.transfer.times import time_from_text

__all__ = ["is_plain", "read"]

# None is a speaker who is known and not imported.
_LABELS: Mapping[str, Role | None] = {
    "user": "user",
    "human": "user",
    "用户": "user",
    "我": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "chatgpt": "assistant",
    "claude": "assistant",
    "助手": "assistant",
    "助理": "assistant",
    "system": None,
    "系统": None,
}
_STAMP = r"[\[【]\s*(?P<{}>\d{{4,}}[-/][^\]】]*)[\]】]"
_LABEL = re.compile(
    rf"(?:{_STAMP.format('before')}\s*)?\**(?P<name>{'|'.join(_LABELS)})\**\s*"
    rf"(?:{_STAMP.format('after')}\s*)?[:：]\**[ \t　]*(?P<text>.*)",
    re.IGNORECASE | re.DOTALL,
)
_STAMP_LINE = re.compile(rf"{_STAMP.format('stamp')}\s*")
_DASHES = re.compile(r"(?:-{3,}|={3,}|\*{3,}|_{3,})\s*")
_TITLE = re.compile(r"#{1,6}\s+(?P<title>\S.*)")
_FENCE = re.compile(r"\s{0,3}(?P<marks>`{3,}|~{3,})(?P<info>.*)", re.DOTALL)
_LINE_END = re.compile(r"\r\n|\n|\r")


def is_plain(text: str) -> bool:
    """Say whether a label opens the text, with nothing but titles, stamps, dashes and blank lines before it."""
    for line in StringIO(text, newline=None):
        if _LABEL.fullmatch(line):
            return True
        if not _stands_between_turns(line.rstrip("\n")):
            return False
    return False


def read(text: str, place: Place) -> ImportFile:
    """Read a whole text. Raises InvalidRequest naming the line of text that nobody says, or of a time that is none."""
    lines = _LINE_END.split(text)
    code = _code_lines(lines)
    leads_to_label = _leads_to_label(lines, code)
    reading = _Reading()
    for index, line in enumerate(lines):
        here = place.at_line(index + 1)
        label = None if index in code else _LABEL.fullmatch(line)
        if label is not None:
            stamp = label["after"] or label["before"]
            reading.begin_turn(label["name"], time_from_text(stamp, here) if stamp else None, label["text"])
        elif not leads_to_label[index]:
            reading.add_line(line, here)
        elif (stamped := _STAMP_LINE.fullmatch(line)) is not None:
            reading.next_said_at = time_from_text(stamped["stamp"], here)
        elif (title := _TITLE.fullmatch(line)) is not None:
            reading.begin_session(title["title"])
        elif _DASHES.fullmatch(line):
            reading.begin_session("")
    return reading.build()


class _Reading:
    """How far a text has been read: the session and the turn that the next line belongs to."""

    def __init__(self) -> None:
        self.next_said_at: Instant | None = None
        self._file = ImportBuilder("plain")
        self._session = self._file.session(None)
        self._speaker = ""
        self._said_at: Instant | None = None
        self._lines: list[str] = []

    def begin_turn(self, speaker: str, said_at: Instant | None, text: str) -> None:
        self._end_turn()
        self._speaker, self._lines = speaker.lower(), [text]
        self._said_at = self.next_said_at if said_at is None else said_at
        self.next_said_at = None

    def begin_session(self, title: str) -> None:
        self._end_turn()
        # Dashes under a title belong to it; they do not open another session.
        if title or self._session.messages:
            self._session = self._file.session(None, title)

    def add_line(self, line: str, place: Place) -> None:
        if self._speaker:
            self._lines.append(line)
        elif line.strip():
            raise place.error("nobody says this: expected a label such as `User:` or `助手：` before it")

    def build(self) -> ImportFile:
        self._end_turn()
        return self._file.build()

    def _end_turn(self) -> None:
        if self._speaker:
            role = _LABELS[self._speaker]
            if role is None:
                self._file.skip("system message")
            else:
                self._session.add(role, "\n".join(self._lines).strip(), self._said_at)
        self._speaker, self._lines = "", []


def _leads_to_label(lines: Sequence[str], code: Collection[int]) -> list[bool]:
    """Return for each line whether it is a label or only titles, stamps, dashes and blank lines part it from one."""
    leads = [False] * len(lines)
    follows = False
    for index in range(len(lines) - 1, -1, -1):
        line = lines[index]
        if index in code:
            follows = False
        elif _LABEL.fullmatch(line):
            follows = True
        elif not _stands_between_turns(line):
            follows = False
        leads[index] = follows
    return leads


def _stands_between_turns(line: str) -> bool:
    forms = (_TITLE, _STAMP_LINE, _DASHES)
    return not line.strip() or any(form.fullmatch(line) for form in forms)


def _code_lines(lines: Sequence[str]) -> frozenset[int]:
    """Return the indices of the lines inside fenced code. A fence that is never closed opens nothing."""
    inside: set[int] = set()
    opened_at, marks = 0, ""
    for index, line in enumerate(lines):
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if not marks:
            opened_at, marks = index, fence["marks"]
        elif fence["marks"].startswith(marks) and not fence["info"].strip():
            inside.update(range(opened_at, index + 1))
            marks = ""
    return frozenset(inside)
