"""Secrets are taken out before the first write, by whatever way a text comes in, unless its owner keeps them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path

import pytest

from memstrata.distill.protocol import (
    Decision,
    Decisions,
    Extraction,
    MessageBatch,
    PersonaDraft,
    PersonaRequest,
    ResolveRequest,
    SceneDraft,
    SceneRequest,
)
from memstrata.errors import Conflict
from memstrata.memory import Memory, MessageInput
from memstrata.records import PERSONA_PATH, Scope
from memstrata.settings import CaptureSettings, PipelineSettings, Settings
from memstrata.testing import EchoDistiller
from memstrata.testing.hash_embedder import HashEmbedder

Open = Callable[..., AbstractAsyncContextManager[Memory]]

SAID = "Remember that my password is hunter2zz and I live in Lisbon"
STORED = "Remember that my password is [redacted:password] and I live in Lisbon"
SECRET = "hunter2zz"
RAW = Settings(capture=CaptureSettings(redact_secrets=False), pipeline=PipelineSettings())


def files_with(folder: Path, text: str) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file() and text.encode() in file.read_bytes()]


async def stored(memory: Memory, scope: Scope) -> list[str]:
    return [message.content for message in (await memory.messages(scope)).items]


async def test_a_secret_reaches_no_file_and_no_layer(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    async with open_memory(l2_min_interval_seconds=0.0) as memory:
        receipt = await memory.add(scope, "s1", [MessageInput("user", SAID)])
        await memory.flush(scope)

        assert receipt.redacted == ("password",)
        assert await stored(memory, scope) == [STORED]
        assert [one.content for one in (await memory.memories(scope)).items] == [STORED]
        assert "[redacted:password]" in (await memory.scenes(scope))[0].body
        assert [hit.item.content for hit in (await memory.search(scope, "Lisbon")).hits] == [STORED]
        health = await memory.health()
    assert health.components["redaction"].details == {"redacted": 1, "password": 1}
    assert files_with(tmp_path, "Lisbon")
    assert files_with(tmp_path, SECRET) == []


async def test_the_same_message_again_is_no_conflict_and_its_key_answers_as_before(
    open_memory: Open, scope: Scope
) -> None:
    said = [MessageInput("user", SAID, message_id="m1")]
    async with open_memory() as memory:
        await memory.add(scope, "s1", said, idempotency_key="k1")
        assert (await memory.add(scope, "s1", said, idempotency_key="k1")).replayed
        again = await memory.add(scope, "s1", said)
        assert (again.replayed, again.redacted) == (True, ())

        await memory.policies.set("default", redact_secrets=False)
        assert (await memory.add(scope, "s1", said)).replayed
        with pytest.raises(Conflict):
            await memory.add(scope, "s1", [MessageInput("user", "something else", message_id="m1")])
        assert (await memory.health()).components["redaction"].details["redacted"] == 1


async def test_a_key_that_was_used_with_another_secret_is_used_for_other_messages(
    open_memory: Open, scope: Scope
) -> None:
    async with open_memory() as memory:
        await memory.add(scope, "s1", [MessageInput("user", SAID)], idempotency_key="k1")
        with pytest.raises(Conflict):
            await memory.add(scope, "s1", [MessageInput("user", SAID.replace(SECRET, "other77"))], idempotency_key="k1")


async def test_a_policy_of_the_narrower_part_holds_before_the_setting(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    other = replace(scope, agent="coder")
    async with open_memory() as memory:
        await memory.policies.set("default", "home", "coder", redact_secrets=False)
        for owner in (scope, other):
            await memory.add(owner, "s1", [MessageInput("user", SAID)])
        assert (await stored(memory, scope), await stored(memory, other)) == ([STORED], [SAID])
        await memory.flush(other)
        assert [one.content for one in (await memory.memories(other)).items] == [SAID]


async def test_switched_off_nothing_is_taken_out_unless_a_policy_says_so(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    other = replace(scope, team="work")
    async with open_memory(settings=replace(RAW, data_dir=tmp_path)) as memory:
        await memory.policies.set("default", "work", redact_secrets=True)
        for owner in (scope, other):
            await memory.add(owner, "s1", [MessageInput("user", SAID)])
        assert (await stored(memory, scope), await stored(memory, other)) == ([SAID], [STORED])


async def test_what_a_person_writes_by_hand_loses_its_secrets_in_every_layer(open_memory: Open, scope: Scope) -> None:
    async with open_memory(l2_min_interval_seconds=0.0) as memory:
        await memory.add(scope, "s1", [MessageInput("user", "Remember that I live in Lisbon")])
        await memory.flush(scope)
        (old,) = (await memory.memories(scope)).items
        (scene,) = await memory.scenes(scope)

        changed = await memory.update_memory(scope, old.memory_id, SAID, scene_name="密码是 abc123")
        edited = await memory.write_scene(scope, scene.path, f"# Notes\n\n{SAID}", summary="password=hunter2zz")
        portrait = await memory.write_persona(scope, SAID)

        assert (changed.content, changed.scene_name) == (STORED, "密码是 [redacted:password]")
        assert (edited.body, edited.summary) == (f"# Notes\n\n{STORED}", "password=[redacted:password]")
        assert portrait.body == STORED
        assert (await memory.health()).components["redaction"].details["redacted"] == 5


async def test_a_custom_prompt_loses_its_secrets(open_memory: Open) -> None:
    async with open_memory() as memory:
        made = await memory.prompts.create("default", name="wifi", layer="l1", prompt="the wifi password is hunter2zz")
        assert made.text == "the wifi password is [redacted:password]"
        changed = await memory.prompts.update("default", made.prompt_id, prompt="密码是 abc123")
        assert (changed.name, changed.text) == ("wifi", "密码是 [redacted:password]")


class JoiningDistiller(EchoDistiller):
    """Puts together what was told in pieces, as a model may, in every layer."""

    async def extract(self, batch: MessageBatch) -> Extraction:
        found = await super().extract(batch)
        assert isinstance(found, Extraction)
        drafts = tuple(
            replace(one, content=SAID, scene_name=f"password: {SECRET}", slot=f"password={SECRET}")
            for one in found.drafts[:1]
        )
        return replace(found, drafts=drafts, scene_name=f"password: {SECRET}")

    async def resolve(self, request: ResolveRequest) -> Decisions:
        return Decisions(tuple(Decision("store", replace(one, content=SAID)) for one in request.drafts))

    async def consolidate(self, request: SceneRequest) -> SceneDraft:
        found = await super().consolidate(request)
        assert isinstance(found, SceneDraft)
        (write,) = found.writes
        return SceneDraft((replace(write, body=f"{write.body}\n- {SAID}", summary=SAID),), persona_request=SAID)

    async def portray(self, request: PersonaRequest) -> PersonaDraft:
        found = await super().portray(request)
        assert isinstance(found, PersonaDraft)
        return replace(found, body=f"{found.body} {SAID}")


async def test_what_a_model_puts_together_loses_its_secrets_in_every_layer(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    async with open_memory(distiller=JoiningDistiller(), l2_min_interval_seconds=0.0) as memory:
        await memory.add(scope, "s1", [MessageInput("user", "My password is two words: hunter and 2zz")])
        await memory.flush(scope)

        (found,) = (await memory.memories(scope)).items
        assert (found.content, found.scene_name) == (STORED, "password: [redacted:password]")
        (scene,) = await memory.scenes(scope)
        assert scene.body.endswith(STORED)
        assert scene.summary == STORED
        persona = await memory.persona(scope)
        assert persona is not None
        assert persona.body.endswith(STORED)
    assert files_with(tmp_path, SECRET) == []


async def plant(memory: Memory, scope: Scope) -> None:
    """Store a secret in every layer, also bare, as an older program would have."""
    await memory.add(scope, "s1", [MessageInput("user", SAID, message_id="m1"), MessageInput("user", "I like tea")])
    await memory.flush(scope)
    (scene,) = await memory.scenes(scope)
    await memory.write_scene(scope, scene.path, f"The word for the door is {SECRET}.")
    await memory.write_persona(scope, f"Lin, who types {SECRET}.")


async def test_a_scan_tells_where_secrets_are_and_changes_nothing(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    async with open_memory(settings=replace(RAW, data_dir=tmp_path)) as memory:
        await plant(memory, scope)
    async with open_memory(enabled=False) as memory:
        report = await memory.scan_secrets()
        assert await stored(memory, scope) == ["I like tea", SAID]

    assert (report.fixed, report.kept, report.is_scrubbed) == (0, 0, True)
    rows = {(one.layer, one.record_id) for one in report.found}
    assert ("message", "m1") in rows
    assert ("document", PERSONA_PATH) in rows
    assert {layer for layer, _ in rows} == {"message", "memory", "document"}
    assert report.rows == len(report.found) == sum(1 for one in report.found if one.kinds)
    assert SECRET not in repr(report)


async def test_a_scan_that_mends_leaves_no_byte_of_a_secret_and_all_else(
    open_memory: Open, scope: Scope, tmp_path: Path
) -> None:
    async with open_memory(settings=replace(RAW, data_dir=tmp_path)) as memory:
        await plant(memory, scope)
    assert files_with(tmp_path, SECRET)
    async with open_memory(enabled=False) as memory:
        report = await memory.scan_secrets(fix=True)

        assert (report.fixed, report.kept, report.is_scrubbed) == (report.rows, 0, True)
        assert await stored(memory, scope) == ["I like tea", STORED]
        assert [hit.item.content for hit in (await memory.search(scope, "Lisbon")).hits] == [STORED]
        assert (await memory.search_messages(scope, SECRET)).hits == ()
        persona = await memory.persona(scope)
        assert persona is not None
        assert persona.body == "Lin, who types [redacted:password]."
        assert (await memory.scan_secrets()).rows == 0
        assert (await memory.add(scope, "s1", [MessageInput("user", SAID, message_id="m1")])).replayed
        assert files_with(tmp_path, SECRET) == []
    assert files_with(tmp_path, SECRET) == []


async def test_texts_that_a_scan_has_mended_get_new_vectors(open_memory: Open, scope: Scope, tmp_path: Path) -> None:
    settings = replace(RAW, data_dir=tmp_path)
    async with open_memory(settings=settings, embedder=HashEmbedder()) as memory:
        await plant(memory, scope)
        await memory.vectors_settled()
        before = await memory.vector_coverage()
        await memory.policies.set("default", redact_secrets=True)
        await memory.scan_secrets(fix=True)
        await memory.vectors_settled()
        after = await memory.vector_coverage()

        assert await stored(memory, scope) == ["I like tea", STORED]
        assert {kind: one.rows for kind, one in before.items()} == {"memories": 2, "messages": 2}
        assert {kind: one.missing for kind, one in after.items()} == {"memories": 0, "messages": 0}
        found = await memory.search(scope, STORED)
        assert (found.hits[0].item.content, found.degraded) == (STORED, ())
    assert files_with(tmp_path, SECRET) == []


async def test_a_scan_leaves_what_a_policy_keeps(open_memory: Open, scope: Scope) -> None:
    async with open_memory() as memory:
        await memory.policies.set("default", "home", redact_secrets=False)
        await memory.add(scope, "s1", [MessageInput("user", SAID)])
        report = await memory.scan_secrets(fix=True)

        assert (report.rows, report.kept, report.fixed) == (1, 1, 0)
        assert report.found[0].is_kept
        assert await stored(memory, scope) == [SAID]
