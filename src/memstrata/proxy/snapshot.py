"""The one system block of a session: portrait, list of themes, how to look things up. Made once, then the same bytes.

What changes in memory afterwards is found by searching; a block that changed would cost the provider's whole cache of the
session. It is made when a session is bound, kept with it, and only the user's own `mem:sync` makes another. What it holds
is data: escaped, and cut to a number of tokens in the order of use. Source: `reference/proxy.md` §6.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from memstrata.clock import Clock, day_of
from memstrata.proxy.snapshot_words import SNAPSHOT_WORDS, SnapshotWords
from memstrata.records.proxy import ProxySession, ProxySnapshot
from memstrata.store.protocol import Store
from memstrata.text.graphemes import cut
from memstrata.text.language import main_language
from memstrata.text.markers import escape, wrap
from memstrata.text.tokens import count_tokens
from memstrata.text.wellformed import well_formed

__all__ = ["Bridge", "Fetch", "ProfileTexts", "SceneLine", "Snapshots", "render_snapshot"]

_LONGEST_SUMMARY = 200  # characters
_LONGEST_PATH = 200
_PERSONA_SHARE = 0.6  # of what the guide leaves, so that a long portrait does not hide every theme


@dataclass(frozen=True, slots=True)
class SceneLine:
    """One theme; `updated` orders those of equal heat, the newest first."""

    path: str
    summary: str
    heat: int
    updated: str = ""


@dataclass(frozen=True, slots=True)
class ProfileTexts:
    """What the core knows of a user and an agent. `persona` is empty where there is none."""

    persona: str
    scenes: Sequence[SceneLine] = ()


@dataclass(frozen=True, slots=True)
class Bridge:
    """Where the model may search: `url` without a slash at its end, and the session's signed token."""

    url: str
    token: str


Fetch: TypeAlias = Callable[[], Awaitable[ProfileTexts]]
"""Asks the core for a session's texts."""


def render_snapshot(texts: ProfileTexts, bridge: Bridge | None, *, day: str, max_tokens: int) -> str:
    """Return the block, at most `max_tokens` by the house's count; empty where there is nothing to say.

    Themes are listed by heat; how many there are is said with them, so that a part does not look like all. The guide comes
    last and is never cut: without room for it whole it is left out, and so is everything else.
    """
    scenes = sorted(texts.scenes, key=lambda one: one.updated, reverse=True)
    scenes.sort(key=lambda one: one.heat, reverse=True)
    language = main_language([well_formed(texts.persona), *(well_formed(scene.summary) for scene in scenes)])
    words = SNAPSHOT_WORDS["zh" if language == "zh" else "en"]
    guide = wrap("memory-tools-guide", words.guide.format(_recipes(bridge, words))) if bridge else ""
    left = max_tokens - count_tokens(guide) - 2
    if left < 0:
        return ""
    persona = _persona(texts.persona, words, int(left * _PERSONA_SHARE) if scenes else left)
    index = _index(scenes, words, day, left - count_tokens(persona) - 2)
    return "\n\n".join(part for part in (persona, index, guide) if part)


class Snapshots:
    """Keeps one block for each session. Methods raise the store's errors and what `fetch` raises."""

    def __init__(self, store: Store, clock: Clock, *, max_tokens: int = 4_000) -> None:
        self._store = store
        self._clock = clock
        self._max_tokens = max_tokens

    async def of(self, session: ProxySession, fetch: Fetch, bridge: Bridge | None) -> str:
        """Return the session's block; the first time, make it. Of two that make it at once the first holds for both."""
        kept = await self._store.read(lambda r: r.proxy.snapshots.read(session))
        if kept is None:
            made = await self._made(fetch, bridge)
            kept = await self._store.write(lambda r: r.proxy.snapshots.put_if_absent(session, made))
        return kept.block.decode()

    async def kept(self, session: ProxySession) -> str | None:
        """Return the session's block if it has one: for what may not make one."""
        found = await self._store.read(lambda r: r.proxy.snapshots.read(session))
        return None if found is None else found.block.decode()

    async def renew(self, session: ProxySession, fetch: Fetch, bridge: Bridge | None) -> bool:
        """Make the block anew because the user asked; return whether it differs."""
        made = await self._made(fetch, bridge)
        before = await self._store.read(lambda r: r.proxy.snapshots.read(session))
        if before is not None and before.sha256 == made.sha256:
            return False
        await self._store.write(lambda r: r.proxy.snapshots.replace(session, made))
        return True

    async def _made(self, fetch: Fetch, bridge: Bridge | None) -> ProxySnapshot:
        now = self._clock.now()
        text = render_snapshot(await fetch(), bridge, day=day_of(now), max_tokens=self._max_tokens)
        block = text.encode()
        return ProxySnapshot(block, hashlib.sha256(block).hexdigest(), now)


def _persona(persona: str, words: SnapshotWords, tokens: int) -> str:
    body = escape(well_formed(persona).strip())
    room = tokens - count_tokens(wrap("user-persona", f"{words.persona}\n\n"))
    if not body or room < count_tokens(words.cut) + 1:
        return ""
    body = cut(body, len(body), words.cut, tokens=room)
    return wrap("user-persona", f"{words.persona}\n\n{body}")


def _index(scenes: Sequence[SceneLine], words: SnapshotWords, day: str, tokens: int) -> str:
    total = len(scenes)
    left = tokens - count_tokens(wrap("scene-navigation", words.index.format(total, total, day)))
    lines: list[str] = []
    for scene in scenes:
        summary = cut(_one_line(scene.summary), _LONGEST_SUMMARY, words.cut)
        line = f"- {cut(_one_line(scene.path), _LONGEST_PATH)} ({words.heat} {scene.heat}): {summary}"
        left -= count_tokens(f"\n{line}")
        if left < 0:
            break
        lines.append(line)
    if not lines:
        return ""
    return wrap("scene-navigation", "\n".join([words.index.format(len(lines), total, day), *lines]))


def _recipes(bridge: Bridge, words: SnapshotWords) -> str:
    curl = f"curl -sG -H 'Authorization: Bearer {bridge.token}'"
    return "\n".join(
        (
            f"- {words.memories}: `{curl} --data-urlencode 'q=…' {bridge.url}/atomic/search`",
            f"- {words.messages}: `{curl} --data-urlencode 'q=…' {bridge.url}/conversation/search`",
            f"- {words.scene}: `{curl} --data-urlencode 'path=…' {bridge.url}/scenario/read`",
        )
    )


def _one_line(text: str) -> str:
    return escape(" ".join(well_formed(text).split()))
