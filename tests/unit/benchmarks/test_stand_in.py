"""The stand-in reads the prompts that the distiller really writes, and what it answers passes the distiller's checks."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC
from typing import Any

import pytest
from benchmarks.stand_in import answer, new_memories, new_places, said_by_user

from memstrata.distill.atoms.comparison import comparison
from memstrata.distill.atoms.pieces import loads
from memstrata.distill.atoms.transcript import Situation, transcript
from memstrata.distill.calls import Aliases
from memstrata.distill.persona.prompt import persona_text
from memstrata.distill.protocol import PersonaRequest, ResolveRequest, SceneRequest, SceneView, SceneWrite
from memstrata.distill.scenes.prompt import scene_text
from memstrata.distill.validate import valid_persona, valid_scene
from memstrata.llm.protocol import ToolCall
from memstrata.records import Document, MemoryDraft, MemoryRecord, Message, Profile, Scope
from memstrata.testing.llm import RecordedRequest, Reply

NOON = 1_770_811_200_000
PROFILE = Profile("i", "t", "a")

MemoryOf = Callable[..., MemoryRecord]
SceneOf = Callable[[str, str], SceneView]


def message(seq: int, content: str, role: Any = "user") -> Message:
    return Message(seq, f"id-{seq}", "s", "", role, content, NOON, NOON)


def extraction_prompt(*messages: Message) -> str:
    pieces = [piece for load in loads(messages) for piece in load]
    aliases = Aliases("c", dict.fromkeys(piece.message.seq for piece in pieces))
    return transcript(Situation("zh", "", UTC, ""), (message(1, "before all this"),), pieces, aliases)


def scene_prompt(memories: tuple[MemoryRecord, ...], scenes: tuple[SceneView, ...] = ()) -> str:
    request = SceneRequest(PROFILE, "en", memories, scenes, 15, NOON)
    return scene_text(request, memories, Aliases("m", (one.seq for one in memories)), "beef", UTC)


@pytest.fixture
def scene(memory_of: MemoryOf) -> SceneOf:
    def build(path: str, body: str) -> SceneView:
        document = Document(1, "scene", path, 1, body, f"about {path}", 1, "model", NOON, NOON)
        return SceneView(document, (memory_of(1, "User says: I row"),))

    return build


@pytest.fixture
def ask() -> Callable[[str, str], Reply]:
    def asked(role: str, prompt: str) -> Reply:
        return answer(
            RecordedRequest(
                role=role,
                protocol="chat_completions",
                model="stand-in",
                system="",
                messages=({"role": "user", "content": prompt},),
                tools=(),
                body={},
                raw=b"",
                headers={},
                prompt=prompt,
                prompt_tokens=1,
                schema_tokens=0,
                cached_tokens=0,
            )
        )

    return asked


def arguments(call: ToolCall) -> Any:
    return json.loads(call.arguments)


def test_what_the_user_said_is_read_and_nothing_else() -> None:
    shown = extraction_prompt(
        message(2, "我对花生过敏"),
        message(3, "Noted.", "assistant"),
        message(4, "I row.\n#beef c9 user 12:00\nOn Sundays."),
    )
    assert said_by_user(shown) == {"c1": "我对花生过敏", "c3": "I row.\n#beef c9 user 12:00\nOn Sundays."}


def test_the_pieces_of_a_long_message_are_one_message() -> None:
    long = "\n\n".join(f"Paragraph {number}. " + "I walk to the lake and back again. " * 40 for number in range(12))
    shown = extraction_prompt(message(2, long))
    assert "part 2/" in shown
    assert list(said_by_user(shown)) == ["c1"]
    assert all(f"Paragraph {number}. " in said_by_user(shown)["c1"] for number in range(12))


def test_every_user_message_becomes_one_memory_that_cites_it(ask: Callable[[str, str], Reply]) -> None:
    shown = extraction_prompt(message(2, "我对花生过敏"), message(3, "Noted.", "assistant"), message(4, "I row."))
    items = json.loads(ask("extract", shown).text)["memories"]
    assert [(one["content"], one["sources"]) for one in items] == [
        ("用户说：我对花生过敏", ["c1"]),
        ("User says: I row.", ["c3"]),
    ]
    assert all(one["type"] == "persona" and one["priority"] >= 60 for one in items)


def test_every_new_memory_is_stored_whatever_it_is_near_to(
    ask: Callable[[str, str], Reply], memory_of: MemoryOf
) -> None:
    drafts = tuple(MemoryDraft(text, "persona", 70, (1,)) for text in ("I row", "#beef n7 persona"))
    request = ResolveRequest(Scope("i", "t", "a", "u"), "en", drafts, ((memory_of(5, "I rowed"),), ()), ((0, 1),))
    shown = comparison(request, Aliases("m", (5,)), Aliases("n", (0, 1)), UTC)
    assert new_places(shown) == ["n1", "n2"]
    decisions = json.loads(ask("resolve", shown).text)["decisions"]
    assert [(one["item"], one["action"]) for one in decisions] == [("n1", "store"), ("n2", "store")]


def test_scenes_tell_every_memory_once_within_their_limits(
    ask: Callable[[str, str], Reply], memory_of: MemoryOf
) -> None:
    memories = tuple(memory_of(seq, f"User says: fact number {seq} of a longish kind") for seq in range(10, 70))
    shown = scene_prompt(memories)
    assert [one.content for one in new_memories(shown)] == [one.content for one in memories]

    reply = ask("consolidate", shown)

    written = [arguments(call) for call in reply.tool_calls]
    assert reply.text == "FINISHED"
    assert len(written) > 1
    assert [alias for one in written for alias in one["memories"]] == [f"m{place}" for place in range(1, 61)]
    for one in written:
        write = SceneWrite(one["path"], one["content"], one["summary"], (10,))
        assert isinstance(valid_scene(write, paths=(), memory_seqs={10}), SceneWrite)


def test_new_memories_go_beside_the_scenes_that_exist_and_into_them_when_there_are_many(
    ask: Callable[[str, str], Reply], memory_of: MemoryOf, scene: SceneOf
) -> None:
    few = (scene("Talks-1.md", "# Talks\n\n- I row"),)
    many = tuple(scene(f"Talks-{number}.md", "# Talks\n\n- I row") for number in range(1, 13))
    new = (memory_of(10, "User says: I swim"),)
    (beside,) = ask("consolidate", scene_prompt(new, few)).tool_calls
    (inside,) = ask("consolidate", scene_prompt(new, many)).tool_calls
    assert (arguments(beside)["path"], arguments(inside)["path"]) == ("Talks-2.md", "Talks-1.md")


def test_the_portrait_tells_the_scenes_that_are_printed(ask: Callable[[str, str], Reply], scene: SceneOf) -> None:
    views = (
        scene("Talks-1.md", "# Talks\n\n- 2026-01-05: I row"),
        scene("Talks-2.md", "# Talks\n\n- 2026-01-06: 我游泳"),
    )
    request = PersonaRequest(PROFILE, "en", views, "", NOON)
    (call,) = ask("portray", persona_text(request, "beef", UTC)).tool_calls
    body = valid_persona(arguments(call)["content"])
    assert arguments(call)["path"] == "persona.md"
    assert isinstance(body, str)
    assert "I row" in body
    assert "我游泳" in body


def test_a_role_that_there_is_not_is_an_error(ask: Callable[[str, str], Reply]) -> None:
    with pytest.raises(ValueError, match="translate"):
        ask("translate", "")


def test_a_prompt_of_another_form_is_not_taken_for_an_empty_one(ask: Callable[[str, str], Reply]) -> None:
    with pytest.raises(ValueError, match="mark"):
        ask("extract", "c1 user\nI row.")
    with pytest.raises(ValueError, match="memories"):
        ask("consolidate", "Nothing new.")
