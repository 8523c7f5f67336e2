"""The backend of Anthropic's client-side memory tool (`memory_20250818`): its files are the scenes of an agent.

    tool = AsyncMemoryTool(client)
    reply = await anthropic.beta.messages.create(tools=[tool.definition], messages=messages, ...)
    results = [await tool.result(block) for block in reply.content if block.type == "tool_use" and block.name == "memory"]

`/memories/Work.md` is the scene `Work.md`. What the model writes stands as a person's edit: distilling adds other scenes and
leaves these alone, each version is kept, and deleting one can be undone with `restore_scene`. Two writers at the same file
at the same time: the later one wins. A text comes back as it was written, not escaped, because it is edited by its exact
characters. Source: the tool's documentation, its section on commands and their return values.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from memstrata.client._async import AsyncMemoryClient
from memstrata.client._calls import Call, Calls
from memstrata.client._errors import Conflict, Forbidden, InvalidRequest, MemstrataClientError, Unauthorized
from memstrata.client._memory_files import (
    MAX_FILE,
    MAX_FILES,
    ROOT,
    Refused,
    body_of,
    files_below,
    inserted,
    integer,
    is_hidden,
    listing,
    numbered,
    replaced,
    scene_path,
    shown,
    text,
)
from memstrata.client._results import Scene
from memstrata.client._splitting import shortened
from memstrata.client._sync import MemoryClient

__all__ = ["AsyncMemoryTool", "MemoryTool"]

_log = logging.getLogger(__name__)

TIMEOUT_SECONDS = 10.0  # of each request; a command takes at most a few, moving a folder two for each file
_MAX_SUMMARY = 200
_MAX_REFUSAL = 200

Given: TypeAlias = Mapping[str, object]
Steps: TypeAlias = Generator[Call[Any], Any, str]
"""A command as the requests that it makes one after another, and the text in the end. Raises Refused."""


@dataclass(frozen=True, slots=True)
class _Answer:
    text: str
    is_error: bool


class _Tool:
    """What both twins share. No I/O."""

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as the API wants it among `tools`."""
        return {"type": "memory_20250818", "name": "memory"}


class MemoryTool(_Tool):
    """The tool over a blocking client. May be used from any thread."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client

    def call(self, arguments: object) -> str:
        """Carry out one command, the `input` of a tool use, and return the text for the model. Never raises."""
        return self._answer(arguments).text

    def result(self, block: object) -> dict[str, Any]:
        """Return the `tool_result` that answers a `tool_use` block, given as the SDK has it or as a dictionary."""
        use, arguments = _use(block)
        return _result(use, self._answer(arguments))

    def _answer(self, arguments: object) -> _Answer:
        try:
            steps = _steps(arguments, self._client._calls)
            sent: Any = None
            while True:
                sent = self._client._send(steps.send(sent), TIMEOUT_SECONDS)
        except StopIteration as done:
            return _Answer(done.value, is_error=False)
        except Exception as error:  # noqa: BLE001 - a tool that raises ends the run
            return _told(error)


class AsyncMemoryTool(_Tool):
    """`MemoryTool` with coroutines."""

    def __init__(self, client: AsyncMemoryClient) -> None:
        self._client = client

    async def call(self, arguments: object) -> str:
        """As `MemoryTool.call`."""
        return (await self._answer(arguments)).text

    async def result(self, block: object) -> dict[str, Any]:
        """As `MemoryTool.result`."""
        use, arguments = _use(block)
        return _result(use, await self._answer(arguments))

    async def _answer(self, arguments: object) -> _Answer:
        try:
            steps = _steps(arguments, self._client._calls)
            call = next(steps)
            while True:
                sent = await self._client._send(call, TIMEOUT_SECONDS)
                try:
                    call = steps.send(sent)
                except StopIteration as done:
                    return _Answer(done.value, is_error=False)
        except Exception as error:  # noqa: BLE001 - a tool that raises ends the run
            return _told(error)


def _steps(arguments: object, calls: Calls) -> Steps:
    if not isinstance(arguments, Mapping):
        raise Refused("Error: The input of the memory tool must be an object with a `command`.")
    given = {str(name): value for name, value in arguments.items()}
    run = _COMMANDS.get(text(given, "command"))
    if run is None:
        raise Refused(f"Error: Unknown command. There are: {', '.join(_COMMANDS)}.")
    return run(given, calls)


def _view(given: Given, calls: Calls) -> Steps:
    path = scene_path(given)
    sizes = yield from _sizes(calls)
    if path in sizes:
        body = yield from _body(calls, path)
        if body is not None:
            return numbered(path, body, given.get("view_range"))
    if path and not files_below(sizes, path):
        raise Refused(f"The path {shown(path)} does not exist. Please provide a valid path.")
    if given.get("view_range") is not None:
        raise Refused("Error: The `view_range` parameter is not allowed when `path` is a directory.")
    return listing(sizes, path)


def _create(given: Given, calls: Calls) -> Steps:
    path, body = scene_path(given), text(given, "file_text")
    _check_new(given, "path", path)
    if len(body) > MAX_FILE:
        raise Refused(f"Error: {shown(path)} would have {len(body):,} characters; a file may have {MAX_FILE:,}.")
    sizes = yield from _sizes(calls)
    if path in sizes or files_below(sizes, path):
        raise Refused(f"Error: File {shown(path)} already exists")
    if len(sizes) >= MAX_FILES:
        raise Refused(f"Error: There are {len(sizes)} files, and no room for more. Merge or delete some first.")
    yield calls.create_scene(path, body, _summary(body))
    return f"File created successfully at: {shown(path)}"


def _str_replace(given: Given, calls: Calls) -> Steps:
    path, old = scene_path(given), text(given, "old_str")
    new = text(given, "new_str") if given.get("new_str") is not None else ""
    body = yield from _body(calls, path)
    if body is None:
        raise Refused(f"Error: The path {shown(path)} does not exist. Please provide a valid path.")
    after, answer = replaced(path, body, old, new)
    yield calls.write_scene(path, after, None)
    return answer


def _insert(given: Given, calls: Calls) -> Steps:
    path, at, new = scene_path(given), integer(given, "insert_line"), text(given, "insert_text")
    body = yield from _body(calls, path)
    if body is None:
        raise Refused(f"Error: The path {shown(path)} does not exist")
    yield calls.write_scene(path, inserted(path, body, at, new), None)
    return f"The file {shown(path)} has been edited."


def _delete(given: Given, calls: Calls) -> Steps:
    path = scene_path(given)
    if not path:
        raise Refused(f"Error: The directory {ROOT} itself cannot be deleted")
    sizes = yield from _sizes(calls)
    if path in sizes:
        yield calls.remove_scene(path)
    elif files_below(sizes, path):
        yield calls.remove_scene(f"{path}/")
    else:
        raise Refused(f"Error: The path {shown(path)} does not exist")
    return f"Successfully deleted {shown(path)}"


def _rename(given: Given, calls: Calls) -> Steps:
    """Move a file or a folder: each file is written anew before the old one goes, so a failure half way loses nothing."""
    old, new = scene_path(given, "old_path"), scene_path(given, "new_path")
    if not old:
        raise Refused(f"Error: The directory {ROOT} itself cannot be renamed")
    _check_new(given, "new_path", new)
    sizes = yield from _sizes(calls)
    moved = [old] if old in sizes else files_below(sizes, old)
    if not moved:
        raise Refused(f"Error: The path {shown(old)} does not exist")
    if new in sizes or files_below(sizes, new):
        raise Refused(f"Error: The destination {shown(new)} already exists")
    if new.startswith(f"{old}/"):
        raise Refused(f"Error: {shown(old)} cannot be moved into itself")
    for path in moved:
        body = yield from _body(calls, path)
        if body is not None:
            yield calls.create_scene(new + path.removeprefix(old), body, _summary(body))
            yield calls.remove_scene(path)
    return f"Successfully renamed {shown(old)} to {shown(new)}"


_COMMANDS = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}


def _sizes(calls: Calls) -> Generator[Call[Any], Any, dict[str, int]]:
    scenes: tuple[Scene, ...] = yield calls.scenes("")
    return {scene.path: scene.size_bytes for scene in scenes}


def _body(calls: Calls, path: str) -> Generator[Call[Any], Any, str | None]:
    scene = (yield calls.read_scene(path)) if path else None
    return None if scene is None else body_of(scene.content)


def _check_new(given: Given, name: str, path: str) -> None:
    if not path or str(given[name]).endswith("/") or is_hidden(path):
        raise Refused(f"Error: {shown(path)} cannot be the name of a file.")


def _summary(body: str) -> str:
    """What the list of scenes says of a file: its first line that says something."""
    lines = (line.strip().lstrip("#").strip() for line in body.split("\n"))
    return shortened(next((line for line in lines if line), ""), _MAX_SUMMARY, "…")


def _told(error: Exception) -> _Answer:
    if isinstance(error, Refused):
        return _Answer(str(error), is_error=True)
    _log.warning("a command of the memory tool failed: %s", type(error).__name__)
    match error:
        case InvalidRequest() | Conflict():
            reason = shortened(error.message, _MAX_REFUSAL, "…")
        case Forbidden() | Unauthorized():
            reason = "access is not allowed"
        case MemstrataClientError():
            reason = "memory cannot be reached just now"
        case _:
            reason = "the command could not be carried out"
    return _Answer(f"Error: {reason}", is_error=True)


def _use(block: object) -> tuple[str, object]:
    if isinstance(block, Mapping):
        return str(block.get("id")), block.get("input")
    return str(getattr(block, "id", None)), getattr(block, "input", None)


def _result(use: str, answer: _Answer) -> dict[str, Any]:
    result = {"type": "tool_result", "tool_use_id": use, "content": answer.text}
    return {**result, "is_error": True} if answer.is_error else result
