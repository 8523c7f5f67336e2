"""`/scenario/*` and `/core/*`: L2 and L3, the documents of an agent. Source: wire contract §3.3, §3.4."""

from __future__ import annotations

from memstrata.clock import to_iso
from memstrata.distill.scenes.meta import render_scene
from memstrata.distill.scenes.names import check_path, check_prefix
from memstrata.server.call import Call
from memstrata.server.envelope import Data
from memstrata.server.requests import (
    CoreRestore,
    CoreWrite,
    Request,
    SceneList,
    ScenePath,
    SceneRestore,
    SceneWrite,
    version_number,
)
from memstrata.server.shapes import document, no_document, redacted, scene_entry, written_version

__all__ = [
    "count_core",
    "count_scenes",
    "list_scenes",
    "read_core",
    "read_scene",
    "remove_scene",
    "restore_core",
    "restore_scene",
    "write_core",
    "write_scene",
]


async def list_scenes(call: Call[SceneList]) -> Data:
    """List all scenes whose path begins with a text, hottest first."""
    scenes = await call.memory.scenes(call.scope, prefix=check_prefix(call.request.path_prefix or ""))
    entries = [{**scene_entry(call.scope, item), "size": len(item.body.encode())} for item in scenes]
    return {"entries": entries, "total": len(scenes)}


async def count_scenes(call: Call[SceneList]) -> Data:
    """Count what `ls` would list."""
    return {"total": len(await call.memory.scenes(call.scope, prefix=check_prefix(call.request.path_prefix or "")))}


async def read_scene(call: Call[ScenePath]) -> Data:
    """Read one scene with its META block."""
    path = check_path(call.request.path)
    scene = await call.memory.read_scene(call.scope, path)
    return {"path": path} | (no_document() if scene is None else document(call.scope, scene, render_scene(scene)))


async def write_scene(call: Call[SceneWrite]) -> Data:
    """Write a new version of a scene that exists, or with `create` one that does not; META is the server's in any case."""
    request = call.request
    path = check_path(request.path)
    write = call.memory.create_scene if request.create else call.memory.write_scene
    scene = await write(call.scope, path, request.content, summary=request.summary)
    return {
        "path": scene.path,
        "updated_at": to_iso(scene.updated_at),
        "version": scene.version,
        "team_id": call.scope.team,
        "agent_id": call.scope.agent,
    } | redacted(request.content, scene.body)


async def restore_scene(call: Call[SceneRestore]) -> Data:
    """Write an old version of a scene anew, also of one that was removed."""
    request = call.request
    scene = await call.memory.restore_scene(call.scope, check_path(request.path), version_number(request.version))
    return {"path": scene.path, **written_version(call.scope, scene)}


async def remove_scene(call: Call[ScenePath]) -> None:
    """Remove a scene, or all under a path that ends in `/`. What is not there is no error."""
    await call.memory.remove_scene(call.scope, check_path(call.request.path))


async def read_core(call: Call[Request]) -> Data:
    """Read the persona with the index of scenes."""
    persona = await call.memory.persona(call.scope)
    text = await call.memory.persona_text(call.scope)
    return no_document() if persona is None or text is None else document(call.scope, persona, text)


async def write_core(call: Call[CoreWrite]) -> Data:
    """Write a new version of the persona."""
    persona = await call.memory.write_persona(call.scope, call.request.content)
    return {
        "updated_at": to_iso(persona.updated_at),
        "version": persona.version,
        "team_id": call.scope.team,
        "agent_id": call.scope.agent,
    } | redacted(call.request.content, persona.body)


async def restore_core(call: Call[CoreRestore]) -> Data:
    """Write an old version of the persona anew."""
    persona = await call.memory.restore_persona(call.scope, version_number(call.request.version))
    return written_version(call.scope, persona)


async def count_core(call: Call[Request]) -> Data:
    """Count the persona: 1, or 0 where there is none or it is empty."""
    persona = await call.memory.persona(call.scope)
    return {"total": 1 if persona is not None and persona.body else 0}
