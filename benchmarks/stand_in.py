"""A model that stands in for a real one in the benchmarks: it answers at once, believes every word, and forgets nothing.

Every message of the user that it is shown becomes one memory; nothing is found to contradict anything; scenes tell all
memories that they are given, the portrait all scenes that are printed. So what is measured is the work around the model:
how often it is called, how much it is given to read, what becomes of its answers. It is no measure of quality.

`python -m benchmarks.stand_in` serves it as a process of its own, prints its address and ends with its standard input.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memstrata.llm import ToolCall
from memstrata.records import PERSONA_PATH
from memstrata.testing.llm import RecordedRequest, Reply, ScriptedLLM

__all__ = ["ShownMemory", "answer", "new_memories", "new_places", "said_by_user", "scripted"]

_SCENE_CHARACTERS = 1_400  # a little under what a scene may have
_PORTRAIT_CHARACTERS = 1_900
_MOST_FILES = 12
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_MEMORY_LINE = re.compile(r"\[(m\d+)\] (\S+) · \w+ · (.+)")
_FINISHED = "FINISHED"


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory as L2 shows it."""

    alias: str
    day: str
    content: str


def scripted(model: ScriptedLLM) -> ScriptedLLM:
    """Return the server, answering for all roles."""
    for role in ("extract", "resolve", "consolidate", "portray"):
        model.always(role, answer)
    return model


def answer(request: RecordedRequest) -> Reply:
    """Return the stand-in's reply to any request. Raises ValueError for a role that there is not."""
    shown = request.last_user_text
    match request.role:
        case "extract":
            return _extracted(said_by_user(shown))
        case "resolve":
            decisions = [{"item": place, "action": "store", "targets": []} for place in new_places(shown)]
            return Reply(_json({"decisions": decisions}))
        case "consolidate":
            index = next((text for _, text in _blocks(shown, "index")), "")
            return _woven(new_memories(shown), index.splitlines())
        case "portray":
            return _portrayed([body for _, body in _blocks(shown, "scene")])
        case other:
            raise ValueError(f"no such role: {other!r}")


def said_by_user(shown: str) -> dict[str, str]:
    """Return the user's new messages in L1's prompt by alias; the pieces of a long one are joined.

    Raises ValueError for another prompt: a stand-in that finds nothing where it cannot read would flatter the cost.
    """
    texts: dict[str, list[str]] = {}
    for head, text in _headed(shown):
        match head.split():
            case [alias, "user", *_] if alias[0] == "c":
                texts.setdefault(alias, []).append(text)
    return {alias: "\n".join(pieces) for alias, pieces in texts.items()}


def new_places(shown: str) -> list[str]:
    """Return the aliases of the new memories in the prompt about conflicts. Raises ValueError for another prompt."""
    return [alias for head, _ in _headed(shown) if re.fullmatch(r"n\d+", alias := head.split()[0])]


def new_memories(shown: str) -> list[ShownMemory]:
    """Return the memories in L2's prompt, in their order. Raises ValueError for another prompt."""
    for _, text in _blocks(shown, "memories"):
        found = (_MEMORY_LINE.fullmatch(line) for line in text.splitlines())
        return [ShownMemory(*match.groups()) for match in found if match]
    raise ValueError("the prompt has no memories")


def _headed(shown: str) -> Iterator[tuple[str, str]]:
    """Yield the headers behind the prompt's mark, each with the text under it."""
    mark = re.match(r"mark: (\w+)\n", shown)
    if mark is None:
        raise ValueError("the prompt does not begin with its mark")
    start = f"#{mark[1]} "
    head, lines = "", list[str]()
    for line in shown.split("\n"):
        if line.startswith(start):
            if head:
                yield head, "\n".join(lines)
            head, lines = line.removeprefix(start), []
        else:
            lines.append(line)
    if head:
        yield head, "\n".join(lines)


def _blocks(shown: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield title and text of every block of that name: `<<<name mark title`, the text, `name mark>>>`."""
    for block in re.finditer(rf"^<<<{name} (\w+) ?(.*)\n((?:.*\n)*?){name} \1>>>$", shown, re.MULTILINE):
        yield block[2], block[3].rstrip("\n")


def _extracted(said: Mapping[str, str]) -> Reply:
    items = [
        {
            "content": f"用户说：{text}" if _CHINESE.search(text) else f"User says: {text}",
            "type": "persona",
            "priority": 70,
            "sources": [alias],
            "scene": "a talk with the user",
            "subject": "user",
        }
        for alias, text in said.items()
    ]
    return Reply(_json({"memories": items}))


def _woven(memories: Sequence[ShownMemory], index: Sequence[str]) -> Reply:
    """Return the writes that tell the memories: in new files while there is room, then in the place of the oldest."""
    existing = [line.removeprefix("- ").partition(" | ")[0] for line in index]
    calls: list[ToolCall] = []
    for number, group in enumerate(_groups(memories)):
        place = len(existing) + number
        path = f"Talks-{place + 1}.md" if place < _MOST_FILES else existing[place % len(existing)]
        body = "# Talks\n\n" + "\n".join(f"- {one.day}: {one.content}" for one in group)
        arguments = {
            "path": path,
            "content": body,
            "summary": f"What the user told, {group[0].day}: {group[0].content}",
            "memories": [one.alias for one in group],
        }
        calls.append(ToolCall(f"call_{number}", "write", _json(arguments)))
    return Reply(_FINISHED, tool_calls=tuple(calls))


def _groups(memories: Sequence[ShownMemory]) -> Iterator[list[ShownMemory]]:
    """Yield the memories in as many portions as it takes for each to fit a file."""
    group: list[ShownMemory] = []
    room = _SCENE_CHARACTERS
    for one in memories:
        size = len(one.content) + 20
        if group and size > room:
            yield group
            group, room = [], _SCENE_CHARACTERS
        group.append(one)
        room -= size
    if group:
        yield group


def _portrayed(scenes: Sequence[str]) -> Reply:
    told = "\n".join(line for body in scenes for line in body.splitlines() if line.startswith("- "))
    body = f"# Persona\n\n{told}"[:_PORTRAIT_CHARACTERS]
    return Reply(_FINISHED, tool_calls=(ToolCall("call_0", "write", _json({"path": PERSONA_PATH, "content": body})),))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


async def _serve() -> None:
    async with ScriptedLLM() as model:
        print(_json({"url": scripted(model).base_url}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve())
