"""What a person said in a message of a client, without what its runtime wrote around it, and why nothing where nothing.

Blocks come first, text second: a block that is one wrapper is gone, a slash command becomes the command, media become
placeholders. A wrapper counts only where a runtime writes one, at the start of a line and outside of fences, so that
people may write about such tags. It never walks back to an older message. Source: `reference/proxy.md` §8.1, §8.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from memstrata.client.turn.cleaning import clean
from memstrata.proxy.clients.client import Client
from memstrata.proxy.wire.request import ProxyRequest, Said

__all__ = ["Runtime", "Spoken", "first_spoken", "newest_spoken", "open_question", "spoken"]

Runtime = Literal["", "not a user", "tool results", "mode", "summary", "receipt", "recap", "transcript", "empty"]


@dataclass(frozen=True, slots=True)
class Spoken:
    """The text of a person; or no text, and what the message is instead."""

    text: str
    runtime: Runtime = ""


_MEDIA = {"image": "[image]", "document": "[file]", "input_audio": "[audio]", "audio": "[audio]"}

_MODES = "SUGGESTION|TITLE|SUMMARY|COMPACT|COMPACTION|ANALYSIS|EVAL|RECAP|MEMORY|SIDECHAIN"
_WHOLE: tuple[tuple[Runtime, re.Pattern[str]], ...] = (
    ("mode", re.compile(rf"\[(?:{_MODES}) MODE\b[^\]\n]{{0,200}}\]")),
    ("summary", re.compile(r"This session is being continued from a previous conversation\b")),
    ("receipt", re.compile(r"(?:Your questions have been answered|User has answered your questions): ?\"")),
    ("recap", re.compile(r"(?:The )?user stepped away\b.{0,400}\bRecap\b", re.IGNORECASE | re.DOTALL)),
    ("transcript", re.compile(r"\[\d{4}-\d\d-\d\dT[^\]\s]{5,40}\] ?\[(?:user|assistant|system)\]")),
    ("transcript", re.compile(r"\{\s*\"parentUuid\"\s*:")),
)
_COMMAND = re.compile(r"<command-name>\s*/?([^<\s]{1,100})\s*</command-name>")
_INTERRUPTED = re.compile(r"^\[Request interrupted by user(?: for tool use)?\]$", re.MULTILINE)
_PRELUDE = re.compile(r"\A# AGENTS\.md instructions for [^\n]{1,500}\n")
_RECEIPT_LINE = re.compile(
    r"(?:The file \S{1,500} has been (?:updated|created)|File created successfully at: |"
    r"Tool ran without output or errors|\(no content\)\Z)"
)
_NUMBERED = re.compile(r"[ ]{0,6}\d{1,6}\t")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")
_GAPS = re.compile(r"\n{3,}")


def spoken(said: Said, client: Client) -> Spoken:
    """Return what a person said in one message. Linear in its length."""
    if said.role != "user":
        return Spoken("", "not a user")
    pieces: list[str] = []
    runtime: Runtime = "empty"
    for block in said.blocks:
        if block.kind == "tool_result" and runtime == "empty":
            runtime = "tool results"
        elif block.kind in _MEDIA:
            pieces.append(_MEDIA[block.kind])
        elif block.kind == "text":
            text, why = _text(block.text, client)
            if text:
                pieces.append(text)
            elif why:
                runtime = why
    if not any(piece not in _MEDIA.values() for piece in pieces) and runtime != "empty":
        pieces = []
    text = clean("user", "\n".join(pieces), code="keep")
    return Spoken(text) if text else Spoken("", runtime)


def newest_spoken(request: ProxyRequest, client: Client) -> Spoken:
    """Return what the last message of a request says. It does not look at older ones."""
    return spoken(request.messages[-1], client) if request.messages else Spoken("", "empty")


def open_question(request: ProxyRequest, client: Client) -> str:
    """Return what a person said last, if the model has said nothing since; empty in a tool loop."""
    for said in reversed(request.messages):
        if said.role == "assistant":
            break
        if text := spoken(said, client).text:
            return text
    return ""


def first_spoken(request: ProxyRequest, client: Client) -> str:
    """Return what a person said first in the conversation that a request carries, empty if nobody did."""
    return next((text for said in request.messages if (text := spoken(said, client).text)), "")


def _text(text: str, client: Client) -> tuple[str, Runtime]:
    """Return a text block without wrappers; nothing and why, where the whole block is a runtime's."""
    if queries := list(_inside("user_query", text)):
        return "\n\n".join(queries), ""
    if command := _COMMAND.search(text):
        return " ".join((f"/{command[1]}", *_inside("command-args", text))), ""
    left = "\n".join(_own_lines(_PRELUDE.sub("", text), client))
    left = _GAPS.sub("\n\n", _INTERRUPTED.sub("", left)).strip()
    for runtime, pattern in _WHOLE:
        if pattern.match(left):
            return "", runtime
    return left, ""


def _inside(tag: str, text: str) -> Iterator[str]:
    """Yield what stands in the elements of a tag, where anything does."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start)) >= 0:
        if found := text[start + len(opening) : end].strip():
            yield found
        start = text.find(opening, end)


def _own_lines(text: str, client: Client) -> Iterator[str]:
    """Yield the lines that are not inside a wrapper and not a tool's receipt; lines in fences as they are."""
    lines = text.split("\n")
    closings = _last_closings(lines, client)
    fence = ""
    at = 0
    while at < len(lines):
        line = lines[at]
        marker = _FENCE.match(line)
        if marker and (not fence or marker[1].startswith(fence)):
            fence = "" if fence else marker[1]
        elif not fence:
            end = _end_of_element(lines, at, closings)
            if end is not None:
                at, rest = end
                if rest:
                    yield rest
                continue
            if _RECEIPT_LINE.match(line) or _NUMBERED.match(line):
                at += 1
                continue
        yield line
        at += 1


def _last_closings(lines: list[str], client: Client) -> dict[str, int]:
    """Return the last line that closes each element, so that one that is never closed is not looked for again."""
    return {tag: at for tag in client.elements for at, line in enumerate(lines) if f"</{tag}>" in line}


def _end_of_element(lines: list[str], at: int, closings: dict[str, int]) -> tuple[int, str] | None:
    """Return the line after the wrapper that opens here and what follows its end; None where none opens or none ends."""
    opening = lines[at].lstrip()
    if not opening.startswith("<"):
        return None
    for tag, last in closings.items():
        if last < at or not opening.startswith((f"<{tag}>", f"<{tag} ")):
            continue
        closing = f"</{tag}>"
        end = next(line for line in range(at, last + 1) if closing in lines[line])
        return end + 1, lines[end].partition(closing)[2].strip()
    return None
