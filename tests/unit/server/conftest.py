"""A memory that remembers what it was asked and answers what a test puts in: the server's side of the skin alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from memstrata.memory import Cleared
from memstrata.records import (
    Deletion,
    Derivation,
    Document,
    DocumentVersion,
    Evidence,
    Found,
    Health,
    Hit,
    LayerLoad,
    LayerStatus,
    MemoryRecord,
    MemoryVersion,
    Message,
    Page,
    PersonaEvidence,
    PipelineStatus,
    PromptRef,
    Recall,
    Receipt,
    SceneEvidence,
    Support,
    VersionRef,
)
from memstrata.server import create_app
from memstrata.settings import ServerSettings

MESSAGE = Message(1, "msg-1", "s1", "", "user", "I moved to Lisbon", 1_767_323_045_000, 1_767_323_046_000)
MEMORY = MemoryRecord(
    seq=1,
    memory_id="m_1767323045000_0a0b0c0d",
    version=2,
    content="Lives in Lisbon",
    type="persona",
    priority=70,
    scene_name="Home",
    applies_to="always",
    slot="residence",
    session_id="s1",
    task_id="",
    origin="rules",
    happened_from=1_767_323_045_000,
    happened_to=None,
    metadata={},
    created_at=1_767_323_045_000,
    updated_at=1_767_323_046_000,
    valid_to=None,
    superseded_by=None,
)
SCENE = Document(
    1, "scene", "home.md", 3, "## Home\n", "Where Maya lives", 2, "rules", 1_767_323_045_000, 1_767_323_046_000
)
PERSONA = Document(2, "persona", "persona.md", 1, "# Maya", "", 1, "rules", 1_767_323_045_000, 1_767_323_046_000)
DERIVATION = Derivation(
    VersionRef("home.md", 3), 9, 1_767_323_046_000, "write", "m", "chat", PromptRef("mp-1", 2, "team"), "why", ("d2",)
)
LAYER = LayerStatus(pending=0, state="idle")


class FakeMemory:
    """Every verb of `Memory`. `calls` holds what was asked; an answer that is an exception is raised."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.answers: dict[str, Any] = {
            "add": Receipt(("msg-1", "msg-2")),
            "messages": Page((MESSAGE,), 7),
            "count_messages": 7,
            "search_messages": Found((Hit(MESSAGE, 0.9, {"keyword": 4.2}),)),
            "delete_messages": Deletion(messages=3),
            "memories": Page((MEMORY,), 5),
            "count_memories": 5,
            "search": Found((Hit(MEMORY, 0.8, {"keyword": 3.1}),)),
            "update_memory": MEMORY,
            "delete_memories": Deletion(memories=2),
            "scenes": (SCENE,),
            "read_scene": SCENE,
            "write_scene": SCENE,
            "remove_scene": 1,
            "persona": PERSONA,
            "persona_text": "# Maya\n\n---\nnavigation",
            "write_persona": PERSONA,
            "recall": Recall(
                (Hit(MEMORY, 0.8, {}),), PERSONA, (SCENE,), "<memories>", "<persona>", ("vector: none",), 1.5
            ),
            "trace": Evidence(MEMORY, (MESSAGE,), (), (SCENE,), PERSONA, (DERIVATION,)),
            "trace_scene": SceneEvidence(SCENE, (Support(MEMORY, (MESSAGE,)),), (DERIVATION,)),
            "trace_persona": PersonaEvidence(PERSONA, "tea", (SCENE,), (Support(MEMORY, (MESSAGE,)),), (DERIVATION,)),
            "history": (MemoryVersion(MEMORY, None, ("msg-1",), False, (DERIVATION,)),),
            "undo": (MEMORY,),
            "scene_history": (DocumentVersion(SCENE, None, False, (DERIVATION,)),),
            "restore_scene": SCENE,
            "persona_history": (DocumentVersion(PERSONA, 1_767_323_047_000, True, ()),),
            "restore_persona": PERSONA,
            "clear": (Cleared("chat_memory-t-a", Deletion(messages=4, memories=3, documents=2)),),
            "status": PipelineStatus({"l1": LAYER, "l2": LAYER, "l3": LAYER}, (), True, "rules"),
            "flush": PipelineStatus({"l1": LAYER, "l2": LAYER, "l3": LAYER}, (), True, "rules"),
            "retry": 2,
            "spending": (),
            "proxy_usage": (),
            "load": {"l1": LayerLoad(1, 0, 0), "l2": LayerLoad(0, 0, 0), "l3": LayerLoad(0, 1, 0)},
            "health": Health("ok", 12.7, {}),
        }

    def __getattr__(self, verb: str) -> Callable[..., Awaitable[Any]]:
        async def answer(*args: Any, **named: Any) -> Any:
            self.calls.append((verb, args, named))
            found = self.answers[verb]
            if isinstance(found, BaseException):
                raise found
            return found

        return answer

    @property
    def last(self) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
        return self.calls[-1]


@pytest.fixture
def memory() -> FakeMemory:
    return FakeMemory()


@pytest.fixture
def settings() -> ServerSettings:
    return ServerSettings()


@pytest.fixture
async def api(memory: Any, settings: ServerSettings) -> AsyncIterator[httpx.AsyncClient]:
    """A client that sends bearer, instance and scope with every request."""
    headers = {
        "authorization": "Bearer anything",
        "x-tdai-service-id": "default",
        "x-tdai-team-id": "t",
        "x-tdai-agent-id": "a",
        "x-tdai-user-id": "u",
    }
    transport = httpx.ASGITransport(create_app(memory, settings))
    async with httpx.AsyncClient(transport=transport, base_url="http://server", headers=headers) as client:
        yield client
