"""Three questions that `doctor --llm` puts to a model: the real ones, small, always the same, with answers that are known.

They go the way that distillation goes, so what fails here fails there. Nothing is stored, and no spending is booked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from typing import Final, Literal

from memstrata.clock import Clock, Instant
from memstrata.distill.atoms.extract import extract_with_model
from memstrata.distill.atoms.resolve import resolve_with_model
from memstrata.distill.calls import CallSettings
from memstrata.distill.protocol import Decisions, Extraction, MessageBatch, ResolveRequest, SceneDraft, SceneRequest
from memstrata.distill.scenes.consolidate import consolidate_with_model
from memstrata.distill.validate import valid_drafts
from memstrata.llm import Chat, ChatReply, ChatRequest, ModelChoice, ModelRole, Models, RoleModels
from memstrata.llm.errors import CallFailed, ContentRefused, PromptTooLong, Truncated
from memstrata.llm.terms import Terms
from memstrata.records import MemoryDraft, MemoryRecord, Message, Poison, Profile, Retry, Role, Scope
from memstrata.settings import LlmSettings

__all__ = ["Answer", "Examined", "Question", "examine_model"]

Question = Literal["extract", "resolve", "consolidate"]

_SCOPE: Final = Scope("doctor", "doctor", "doctor", "doctor")
_SAID_AT: Instant = 1_770_811_200_000  # 2026-02-11T12:00:00Z

# Two facts, and a guess of the assistant that is none.
_CONVERSATION: Final[tuple[tuple[Role, str], ...]] = (
    ("user", "我对花生过敏，点菜的时候一定要避开。"),
    ("assistant", "好的，记下了，以后推荐菜谱都会避开花生。"),
    ("user", "By the way, since January I have been working at Halcyon as a data engineer."),
    ("assistant", "Congratulations! Halcyon is in Berlin, so I suppose you live there now."),
)
_FACTS: Final = (("花生", "peanut"), ("halcyon",))
_TRAP: Final = ("berlin", "柏林")
_TOLD: Final = (
    "User keeps bees behind the house.",
    "User sold the first ten jars of honey in June 2025.",
    "用户每周三晚上练大提琴。",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question. `right` of `most` things were in the answer; `trapped`: so was one that must not be.

    `reason` says why there is no usable answer, empty where there is one; `failure` is the call that failed, if one did.
    """

    question: Question
    most: int
    right: int = 0
    trapped: bool = False
    reason: str = ""
    replies: tuple[ChatReply, ...] = ()
    failure: CallFailed | None = None


@dataclass(frozen=True, slots=True)
class Examined:
    """One model after its questions. It is asked those of its roles, and no more once it cannot be reached."""

    choice: ModelChoice
    roles: tuple[ModelRole, ...]
    answers: tuple[Answer, ...]
    terms: Terms

    @property
    def replies(self) -> tuple[ChatReply, ...]:
        return tuple(reply for answer in self.answers for reply in answer.replies)


async def examine_model(
    choice: ModelChoice, roles: Sequence[ModelRole], settings: LlmSettings, clock: Clock
) -> Examined:
    """Put the questions of the roles to a model. Raises nothing that a model can cause."""
    call = CallSettings(UTC, "chat", settings.max_tokens, settings.timeout_seconds)
    questions = dict.fromkeys(_QUESTION_OF[role] for role in roles)
    answers: list[Answer] = []
    async with Models(RoleModels.all(choice), clock) as models:
        for question in questions:
            answers.append(await _ask(question, models, call))
            if _is_hopeless(answers[-1].failure):
                break
        return Examined(choice, tuple(roles), tuple(answers), models.terms("extract"))


_QUESTION_OF: Final[dict[ModelRole, Question]] = {
    "extract": "extract",
    "resolve": "resolve",
    "consolidate": "consolidate",
    "portray": "consolidate",  # the same bench and the same tools
}


class _Watched:
    """Implements `Chat` and keeps what came back."""

    def __init__(self, chat: Chat) -> None:
        self.replies: list[ChatReply] = []
        self.failure: CallFailed | None = None
        self._chat = chat

    async def complete(self, request: ChatRequest) -> ChatReply:
        try:
            reply = await self._chat.complete(request)
        except CallFailed as failure:
            self.failure = failure
            raise
        self.replies.append(reply)
        return reply


async def _ask(question: Question, models: Models, call: CallSettings) -> Answer:
    chat = _Watched(models)
    ask = {"extract": _extract, "resolve": _resolve, "consolidate": _consolidate}[question]
    answer = await ask(chat, call)
    return replace(answer, replies=tuple(chat.replies), failure=chat.failure)


async def _extract(chat: Chat, call: CallSettings) -> Answer:
    messages = tuple(
        Message(seq, f"doctor-{seq}", "doctor", "", role, text, _SAID_AT + 60_000 * seq, _SAID_AT)
        for seq, (role, text) in enumerate(_CONVERSATION, start=1)
    )
    batch = MessageBatch(_SCOPE, "doctor", "", (), messages)
    outcome = await extract_with_model(chat, batch, call)
    if not isinstance(outcome, Extraction):
        return _failed("extract", len(_FACTS), outcome)
    kept = [draft.content.casefold() for draft in valid_drafts(outcome.drafts, batch).kept]
    right = sum(any(word in text for text in kept for word in words) for words in _FACTS)
    return Answer("extract", len(_FACTS), right, any(word in text for text in kept for word in _TRAP))


async def _resolve(chat: Chat, call: CallSettings) -> Answer:
    """Ask about a home that changed: the memory of the old one must give way."""
    known = _memory(1, "User lives in Bonn.")
    draft = MemoryDraft("User lives in Kiel; they moved there on 2026-02-06.", "persona", 75, (1,))
    outcome = await resolve_with_model(chat, ResolveRequest(_SCOPE, "en", (draft,), ((known,),)), call)
    if not isinstance(outcome, Decisions):
        return _failed("resolve", 1, outcome)
    gives_way = any(one.action in ("update", "merge") and known.seq in one.target_seqs for one in outcome.items)
    return Answer("resolve", 1, int(gives_way))


async def _consolidate(chat: Chat, call: CallSettings) -> Answer:
    memories = tuple(_memory(seq, text) for seq, text in enumerate(_TOLD, start=1))
    request = SceneRequest(Profile("doctor", "doctor", "doctor"), "en", memories, (), 15, _SAID_AT)
    outcome = await consolidate_with_model(chat, request, call)
    if not isinstance(outcome, SceneDraft):
        return _failed("consolidate", len(memories), outcome)
    told = {seq for write in outcome.writes for seq in write.memory_seqs} & {memory.seq for memory in memories}
    return Answer("consolidate", len(memories), len(told))


def _failed(question: Question, most: int, outcome: Retry | Poison) -> Answer:
    return Answer(question, most, reason=outcome.reason)


def _is_hopeless(failure: CallFailed | None) -> bool:
    """Say whether the next question would fail in the same way: what is wrong is not about this one."""
    return failure is not None and not isinstance(failure, Truncated | PromptTooLong | ContentRefused)


def _memory(seq: int, content: str) -> MemoryRecord:
    return MemoryRecord(
        seq=seq,
        memory_id=f"doctor-{seq}",
        version=0,
        content=content,
        type="persona",
        priority=75,
        scene_name="",
        applies_to="always",
        slot="",
        session_id="doctor",
        task_id="",
        origin="model",
        happened_from=None,
        happened_to=None,
        metadata={},
        created_at=_SAID_AT,
        updated_at=_SAID_AT,
        valid_to=None,
        superseded_by=None,
    )
