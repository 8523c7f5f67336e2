"""LoCoMo: very long chats of two people, with questions that name the turns which answer them (`locomo10.json`).

Nine evidence entries of the published file are malformed: several ids in one text (`D8:6; D9:17`, `D9:1 D4:4 D4:6`), a
colon too many (`D:11:26`), a padded number (`D30:05`), a bare `D`. They are split and mended here, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from memstrata.evals.dataset import Dataset, Question, Subset, Unit
from memstrata.evals.datasets.builder import Builder
from memstrata.evals.datasets.source import id_of, json_values, texts_of
from memstrata.evals.datasets.times import Timeline
from memstrata.transfer.node import Node

__all__ = ["CATEGORIES", "evidence_ids", "read_locomo"]

CATEGORIES = {
    "1": "1 multi-hop",
    "2": "2 temporal",
    "3": "3 open-domain",
    "4": "4 single-hop",
    "5": "5 adversarial",
}
"""By the number in the file. The number is always printed: some publications give 1 and 4 each other's names."""

_ANSWERABLE = Subset("categories 1-4", frozenset(CATEGORIES[number] for number in "1234"))
_EVIDENCE_ID = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)", re.IGNORECASE)
_SESSION = re.compile(r"session_(\d+)")


def read_locomo(path: Path, *, captions: bool = True) -> Dataset:
    """Read the file. With `captions` a turn's text ends in the caption of the image that was shared with it."""
    builder = Builder(
        "locomo",
        "unit: one turn, indexed as `speaker: text`"
        + (", with the caption of its image" if captions else "; image captions are not indexed"),
        "speaker a is stored as user, speaker b as assistant; a turn is a minute after the one before it",
        "malformed evidence entries are split and mended",
        subsets=[_ANSWERABLE],
    )
    for root in json_values(path):
        for number, sample in enumerate(root.items() if root.is_list() else [root]):
            corpus_id = sample.name("sample_id") or f"conversation-{number}"
            conversation = sample.get("conversation") or sample
            builder.add_corpus(corpus_id, _units(conversation, builder, captions=captions))
            for place, question in enumerate(sample.need("qa").items()):
                builder.add_question(_question(question, f"{corpus_id}/{place}", corpus_id, builder))
    return builder.built()


def evidence_ids(entry: str) -> list[str]:
    """Return the turn ids in an evidence entry, however it is written: none, one or several, as `D<session>:<turn>`."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE_ID.findall(entry)]


def _units(conversation: Node, builder: Builder, *, captions: bool) -> Iterator[Unit]:
    first = conversation.name("speaker_a")
    sessions = {
        int(match[1]): node for name, node in conversation.fields().items() if (match := _SESSION.fullmatch(name))
    }
    timeline = Timeline(builder)
    for number, session in sorted(sessions.items()):
        if not session.is_list():
            continue
        timeline.tell(conversation.name(f"session_{number}_date_time"))
        for turn in session.items():
            speaker = turn.name("speaker") or ""
            text = turn.name("text") or ""
            caption = turn.name("blip_caption") if captions else None
            said = " ".join(part for part in (text, f"[image: {caption}]" if caption else "") if part)
            yield Unit(
                unit_id=turn.need("dia_id").text().strip(),
                text=f"{speaker}: {said}" if speaker and said else said,
                role="user" if first is None or speaker == first else "assistant",
                said_at=timeline.take(),
                session_id=f"session_{number}",
            )


def _question(node: Node, question_id: str, corpus_id: str, builder: Builder) -> Question:
    gold: set[str] = set()
    for entry in texts_of(node.get("evidence")):
        ids = evidence_ids(entry)
        if not ids:
            builder.count("evidence entries without an id")
        elif len(ids) > 1:
            builder.count("evidence entries split into several ids")
        elif ids[0] != entry.strip():
            builder.count("evidence ids mended")
        gold.update(ids)
    category = id_of(node.need("category"))
    return Question(
        question_id=question_id,
        corpus_id=corpus_id,
        text=node.name("question") or "",
        gold=frozenset(gold),
        category=CATEGORIES.get(category, category),
    )
