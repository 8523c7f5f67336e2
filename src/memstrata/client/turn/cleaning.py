"""What is taken out of a message before it is remembered: one table, in the order in which it applies.

Sources: `reference/hub-sdk-plugins.md` §D.1, article 000 on cleaning. A rule matches only what a runtime writes, by its
whole form, and only where a runtime puts it. Left out of that list are the rules that eat what people write: every JSON
fence that says "session", every line that opens with a bracket, every message that starts with `/`, everything short.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from memstrata.client.turn.envelopes import without_edge_envelopes
from memstrata.client.turn.markers import without_own_blocks

__all__ = ["COMMANDS", "RULES", "Code", "Rule", "clean"]

Code = Literal["keep", "cut"]
Speaker = Literal["user", "assistant"]
_BOTH: frozenset[Speaker] = frozenset({"user", "assistant"})
_USER: frozenset[Speaker] = frozenset({"user"})
_ASSISTANT: frozenset[Speaker] = frozenset({"assistant"})

COMMANDS = frozenset({"new", "reset", "clear", "compact", "help", "status", "exit", "quit"})
"""Words that are a command to a runtime when a message is `/` and one of them, and nothing more."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: what it is for, whose messages it reads, what it does."""

    name: str
    speakers: frozenset[Speaker]
    apply: Callable[[str], str]


def clean(role: Speaker, text: str, *, code: Code = "cut") -> str:
    """Return what was really said, empty where nothing was. Fences of an assistant are cut unless `code` is "keep"."""
    for rule in RULES:
        if role in rule.speakers and not (rule.name == "assistant code" and code == "keep"):
            text = rule.apply(text)
    return text


def _sub(pattern: str, by: str = "", flags: int = 0) -> Callable[[str], str]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.sub(by, text)


_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)")


def _without_fences(text: str) -> str:
    """Return `text` with each fenced block as `[code]`. An unclosed fence runs to the end, as Markdown has it."""
    kept: list[str] = []
    fence = ""
    for line in text.split("\n"):
        found = _FENCE.fullmatch(line.rstrip("\r"))
        if fence:
            if found and found[1].startswith(fence) and not found[2].strip():
                fence = ""
        elif found and not (found[1][0] == "`" and "`" in found[2]):
            fence = found[1]
            kept.append("[code]")
        else:
            kept.append(line)
    return "\n".join(kept)


_NOISE: Mapping[str, Callable[[str], bool]] = {
    "session bootstrap": lambda text: text == "(session bootstrap)",
    "silent reply": lambda text: text == "NO_REPLY",
    "new session prompt": lambda text: text.startswith("A new session was started via"),
    "new session notice": lambda text: text.startswith("✅ New session started"),
    "memory flush prompt": lambda text: text.startswith("Pre-compaction memory flush"),
    "continuation summary": lambda text: text.startswith(
        "This session is being continued from a previous conversation that ran out of context"
    ),
    "command": lambda text: text.startswith("/") and text[1:] in COMMANDS,
}


def _without_noise(text: str) -> str:
    said = text.strip()
    return "" if any(is_noise(said) for is_noise in _NOISE.values()) else text


_IMAGE_DATA = r"data:image/[a-zA-Z0-9.+-]{1,40};base64,[A-Za-z0-9+/]{64,}={0,2}"

RULES: tuple[Rule, ...] = (
    Rule("NUL", _BOTH, lambda text: text.replace("\0", "")),
    Rule("own blocks", _BOTH, without_own_blocks),
    Rule("envelopes", _USER, without_edge_envelopes),
    Rule("reply tag", _BOTH, _sub(r"\[\[ ?reply_to(?:_current|: ?[^\[\]\n]{1,200}) ?\]\][ ]?")),
    Rule("channel tag", _BOTH, _sub(r"¥¥\[[^\]\n]{0,500}\]¥¥")),
    Rule("system event", _USER, _sub(r"\A\s*(?:System: \[\d{4}-\d\d-\d\d [^\]\n]{1,40}\] [^\n]*(?:\n\s*|\Z))+")),
    Rule(
        "arrival time",
        _USER,
        _sub(
            r"\A\s*\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)? [A-Z][A-Za-z0-9+:-]{1,9}\][ ]?"
        ),
    ),
    Rule("media note", _USER, _sub(r"\[media attached(?: \d{1,4}/\d{1,4})?: [^\]\n]{1,1000}\]", "[file]")),
    Rule(
        "image hint",
        _USER,
        _sub(r"^To send an image back, [^\n]{0,1000}Keep caption in the text body\.[ ]*\n?", flags=re.MULTILINE),
    ),
    Rule("image in Markdown", _BOTH, _sub(rf"!\[[^\]\n]{{0,100}}\]\({_IMAGE_DATA}\)", "[image]")),
    Rule("image data", _BOTH, _sub(_IMAGE_DATA, "[image]")),
    Rule("assistant code", _ASSISTANT, _without_fences),
    Rule("noise", _BOTH, _without_noise),
    Rule("edges", _BOTH, str.strip),
)
