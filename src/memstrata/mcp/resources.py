"""The persona and the scenes as MCP resources: `memstrata://persona`, `memstrata://scenes`, `memstrata://scenes/{path}`.

A path is percent-encoded in an address. It is decoded once and the server checks it; what decodes to another encoding or
to a traversal is refused there like any other path.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

import mcp_types as types

from memstrata.client import AsyncMemoryClient, Scene
from memstrata.client._splitting import shortened
from memstrata.client.turn.markers import escape
from memstrata.mcp.calls import MAX_CHARACTERS, TIMEOUT_SECONDS
from memstrata.mcp.words import McpWords

__all__ = ["MIME_TYPE", "listed", "read", "templates"]

MIME_TYPE = "text/markdown"

_PERSONA = "memstrata://persona"
_SCENES = "memstrata://scenes"
_MAX_ADDRESS = 4_096
_MAX_LISTED = 100


async def listed(client: AsyncMemoryClient, words: McpWords) -> list[types.Resource]:
    """Return the persona, the list of scenes, and each scene, hottest first. Raises MemstrataClientError."""
    scenes = await client.with_timeout(TIMEOUT_SECONDS).scenes()
    return [
        types.Resource(uri=_PERSONA, name="persona", title=words.persona, mime_type=MIME_TYPE),
        types.Resource(uri=_SCENES, name="scenes", title=words.scenes, mime_type=MIME_TYPE),
        *(
            types.Resource(uri=_address(one), name=one.path, description=_line(one.summary), mime_type=MIME_TYPE)
            for one in scenes[:_MAX_LISTED]
        ),
    ]


def templates(words: McpWords) -> list[types.ResourceTemplate]:
    """Return the form of a scene's address."""
    return [
        types.ResourceTemplate(
            uri_template=f"{_SCENES}/{{+path}}", name="scene", description=words.scene, mime_type=MIME_TYPE
        )
    ]


async def read(client: AsyncMemoryClient, uri: str, words: McpWords) -> str | None:
    """Return the text of a resource; None where there is none of this address. Raises MemstrataClientError."""
    client = client.with_timeout(TIMEOUT_SECONDS)
    if uri == _PERSONA:
        persona = await client.persona()
        return words.no_persona if persona is None else _fenced(persona.content, words)
    if uri == _SCENES:
        scenes = await client.scenes()
        lines = [f"- {escape(one.path)}: {_line(one.summary)}" for one in scenes[:_MAX_LISTED]]
        return _listing(lines, words) if lines else words.no_scenes
    path = unquote(uri.removeprefix(f"{_SCENES}/"))
    if not uri.startswith(f"{_SCENES}/") or not path or len(uri) > _MAX_ADDRESS:
        return None
    scene = await client.read_scene(path)
    return None if scene is None else _fenced(scene.content, words)


def _address(scene: Scene) -> str:
    return f"{_SCENES}/{quote(scene.path)}"


def _line(text: str) -> str:
    return escape(" ".join(text.split()))


def _listing(lines: list[str], words: McpWords) -> str:
    return shortened("\n".join([words.shared.intro, *lines]), MAX_CHARACTERS, words.shared.cut)


def _fenced(text: str, words: McpWords) -> str:
    return shortened(f"{words.shared.intro}\n{escape(text)}", MAX_CHARACTERS, words.shared.cut)
