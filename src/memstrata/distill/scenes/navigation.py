"""The scene index that is appended to a persona: which scenes exist and how to read one.

Its first two lines are a fact of the wire: clients cut a persona there before they write it back (wire contract §3.4).
Everything below them is ours. It is rendered by code on every read and never stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memstrata.clock import day_of
from memstrata.distill.scenes.meta import one_line
from memstrata.records import Document

__all__ = ["NAVIGATION_HEADER", "READ_TOOL", "render_navigation", "strip_navigation"]

NAVIGATION_HEADER = "---\n## 🗺️ Scene Navigation (Scene Index)"
READ_TOOL = "read_scene"

# Clients and editors lose carriage returns and the emoji's variation selector; both still mean the header.
_HEADER = re.compile(r"^---[ \t]*\r?\n## 🗺\ufe0f? Scene Navigation \(Scene Index\)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Words:
    line: str
    footer: str


_ENGLISH = _Words(
    line="- `{path}` · heat {heat} · updated {day}",
    footer="Each line is one theme. Before relying on a theme's details, read its file with `{tool}`, argument `path`.",
)
_WORDS = {
    "en": _ENGLISH,
    "zh": _Words(
        line="- `{path}` · 热度 {heat} · 更新于 {day}",
        footer="每行是一个主题。需要某个主题的细节时，先用 `{tool}`（参数 `path`）读取对应文件。",
    ),
    "ja": _Words(
        line="- `{path}` · 熱度 {heat} · 更新 {day}",
        footer="各行が一つのテーマです。詳しい内容が必要なときは `{tool}`（引数 `path`）でファイルを読んでください。",
    ),
}


def render_navigation(scenes: Sequence[Document], language: str) -> str:
    """Return the index of `scenes`, hottest first, then by path; "" when there is none.

    Other languages than "zh" and "ja" are served in English. Equal scenes give equal bytes.
    """
    if not scenes:
        return ""
    words = _WORDS.get(language, _ENGLISH)
    lines = [NAVIGATION_HEADER, ""]
    for scene in sorted(scenes, key=lambda scene: (-scene.heat, scene.path)):
        line = words.line.format(path=one_line(scene.path), heat=scene.heat, day=day_of(scene.updated_at))
        summary = one_line(scene.summary)
        lines.append(f"{line} — {summary}" if summary else line)
    lines += ["", words.footer.format(tool=READ_TOOL)]
    return "\n".join(lines)


def strip_navigation(text: str) -> str:
    """Return a persona's text up to the index, trimmed; the whole text, trimmed, when it has none."""
    header = _HEADER.search(text)
    return (text[: header.start()] if header else text).strip()
