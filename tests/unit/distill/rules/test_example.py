"""The invented conversation that ships with the project, distilled without a model: what a newcomer sees first."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from memstrata.distill.protocol import MessageBatch, PersonaRequest, ResolveRequest, SceneDraft, SceneRequest, SceneView
from memstrata.distill.rules import RulesDistiller
from memstrata.distill.validate import Rejected, valid_drafts, valid_persona, valid_scene
from memstrata.records import Document, MemoryDraft, MemoryRecord, Message, Profile, Scope

EXAMPLE = Path(__file__).parents[4] / "examples" / "lin.jsonl"
PROFILE = Profile("i", "t", "a")


@dataclass
class Distilled:
    live: list[MemoryRecord] = field(default_factory=list)
    retired: list[MemoryRecord] = field(default_factory=list)
    views: dict[str, SceneView] = field(default_factory=dict)
    portrait: str = ""

    def contents(self) -> list[str]:
        return [memory.content for memory in self.live]


def batches(size: int) -> Iterator[MessageBatch]:
    messages = []
    for seq, line in enumerate(EXAMPLE.read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        said_at = round(datetime.fromisoformat(row["timestamp"]).timestamp() * 1000)
        messages.append(
            Message(seq, f"msg-{seq}", row["session_id"], "", row["role"], row["content"], said_at, said_at)
        )
    for session_id, group in itertools.groupby(messages, key=lambda message: message.session_id):
        session = tuple(group)
        for start in range(0, len(session), size):
            background = session[max(0, start - 5) : start]
            yield MessageBatch(Scope("i", "t", "a", "u"), session_id, "", background, session[start : start + size])


def record(seq: int, draft: MemoryDraft, batch: MessageBatch) -> MemoryRecord:
    now = batch.messages[-1].said_at
    return MemoryRecord(
        seq, f"m_{seq}", 0, draft.content, draft.type, draft.priority, draft.scene_name, draft.applies_to, draft.slot,
        batch.session_id, "", "rules", draft.happened_from, draft.happened_to, draft.metadata, now, now, None, None,
    )  # fmt: skip


async def distill(size: int) -> Distilled:
    distiller, done = RulesDistiller(timezone(timedelta(hours=8))), Distilled()
    seq, now = 0, 0
    for batch in batches(size):
        now = batch.messages[-1].said_at
        review = valid_drafts((await distiller.extract(batch)).drafts, batch)
        assert review.rejected == ()
        fresh = []
        candidates = (tuple(done.live),) * len(review.kept)
        request = ResolveRequest(batch.scope, "en", review.kept, candidates)
        for decision in (await distiller.resolve(request)).items:
            if decision.action == "skip":
                continue
            seq += 1
            fresh.append(record(seq, decision.draft, batch))
            done.retired += [memory for memory in done.live if memory.seq in decision.target_seqs]
            done.live = [memory for memory in done.live if memory.seq not in decision.target_seqs]
        done.live += fresh
        await consolidate(distiller, done, fresh, now)
    draft = await distiller.portray(PersonaRequest(PROFILE, "zh", tuple(done.views.values()), "", now))
    done.portrait = draft.body
    assert valid_persona(draft.body) == draft.body
    return done


async def consolidate(distiller: RulesDistiller, done: Distilled, fresh: list[MemoryRecord], now: int) -> None:
    gone = {memory.seq for memory in done.retired}
    views = {
        path: replace(view, memories=tuple(memory for memory in view.memories if memory.seq not in gone))
        for path, view in done.views.items()
    }
    draft = await distiller.consolidate(SceneRequest(PROFILE, "zh", tuple(fresh), tuple(views.values()), 15, now))
    assert isinstance(draft, SceneDraft)
    for write in draft.writes:
        checked = valid_scene(write, paths=tuple(views), memory_seqs=[memory.seq for memory in done.live])
        assert not isinstance(checked, Rejected)
        document = Document(1, "scene", checked.path, 1, checked.body, checked.summary, 1, "rules", now, now)
        memories = tuple(memory for memory in done.live if memory.seq in checked.memory_seqs)
        views[checked.path] = SceneView(document, memories)
    done.views = {path: view for path, view in views.items() if path not in draft.removals}


@pytest.mark.parametrize("size", [2, 4, 10])
async def test_the_example_gives_a_convincing_memory(size: int) -> None:
    done = await distill(size)
    types = Counter(memory.type for memory in done.live)
    assert len(done.live) + len(done.retired) >= 30
    assert len(done.live) >= 25
    assert min(types["persona"], types["episodic"], types["instruction"]) >= 5


@pytest.mark.parametrize("size", [2, 10])
async def test_what_changed_is_replaced_and_what_held_once_is_not_there(size: int) -> None:
    done = await distill(size)
    slots = {memory.slot: memory.content for memory in done.live if memory.slot}
    assert slots["employer"] == "The user works at Halcyon now, data platform team"
    assert slots["residence"] == "The user lives in Shanghai, Xuhui"
    assert slots["diet"].startswith("用户上周（2026-02-02至2026-02-08）开始不吃肉了")
    assert not [text for text in done.contents() if "single dot" in text or "杭州" in text or "两周一次" in text]
    assert [text for text in done.contents() if "Postgres" in text] == [
        "The user's team's database is Postgres 16 since the September upgrade"
    ]
    assert [text for text in done.contents() if "interview" in text] == [
        "The user has a second interview with Halcyon on Friday, March 13 (2026-03-13)"
    ]


async def test_small_talk_code_and_logs_left_nothing() -> None:
    done = await distill(10)
    everything = "\n".join(memory.content for memory in (*done.live, *done.retired))
    for text in ("哈哈", "好喝", "UniqueViolation", "asyncio", "Ouch", "周末愉快", "咬牙"):
        assert text not in everything


async def test_scenes_and_portrait_tell_what_matters() -> None:
    done = await distill(10)
    food = done.views["饮食与健康.md"].document
    assert "以后推荐菜谱都要注明过敏原" in food.body
    assert "（此前：" in food.body
    assert "Work.md" in done.views
    assert done.portrait.index("## 长期要求") < done.portrait.index("## 务必留意") < done.portrait.index("## 基本情况")
    assert "用户对花生过敏" in done.portrait
    assert "用户叫小林" in done.portrait


async def test_distilling_twice_gives_the_same() -> None:
    assert await distill(10) == await distill(10)
