"""BEAM: long chats with an assistant, and two questions of each of ten abilities (the repository's `chats/100K` and so on).

A folder per chat holds `chat.json` or, cut to the size that its name promises, `chat_trunecated.json` (so spelled); the
latter is preferred, as the authors' own runner prefers it. Evidence is a list of message ids, or an object of such lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import Dataset, PairKind, Question, StatementPair, Unit
from memstrata.evals.datasets.builder import Builder
from memstrata.evals.datasets.source import id_of, json_values
from memstrata.evals.datasets.times import Timeline
from memstrata.transfer.node import Node

__all__ = ["evidence_of", "read_beam"]

_CHATS = ("chat_trunecated.json", "chat.json")
_QUESTIONS = Path("probing_questions") / "probing_questions.json"
_PAIRS: tuple[tuple[str, str, PairKind], ...] = (
    ("original_info", "updated_info", "update"),
    ("first_statement", "second_statement", "contradiction"),
    ("first_event", "second_event", "sequence"),
)


def read_beam(path: Path) -> Dataset:
    """Read a folder of chats, or the folder of one chat. Raises InvalidRequest if it holds neither."""
    builder = Builder(
        "beam",
        "unit: one message, user and assistant, indexed as it is; evidence: `source_chat_ids`, flattened",
        "a batch is a session; a message is a minute after the one before it unless a time anchor tells another time",
        "a chat that was cut to size is read in that form",
    )
    for folder in _folders(path):
        chat = next(folder / name for name in _CHATS if (folder / name).is_file())
        builder.count(f"chats read from {chat.name}")
        builder.add_corpus(folder.name, _units(chat, builder))
        for root in json_values(folder / _QUESTIONS):
            for ability, questions in root.fields().items():
                for number, node in enumerate(questions.items()):
                    gold, pair = evidence_of(node.get("source_chat_ids"))
                    if not gold and ability == "abstention":
                        builder.count("abstention questions left out")
                        continue
                    builder.add_question(
                        Question(
                            question_id=f"{folder.name}/{ability}/{number}",
                            corpus_id=folder.name,
                            text=node.name("question") or "",
                            gold=gold,
                            category=ability,
                            pair=pair,
                        )
                    )
    return builder.built()


def evidence_of(node: Node | None) -> tuple[frozenset[str], StatementPair | None]:
    """Return the ids of an evidence field, flattened, and the two statements that an object of it tells apart."""
    if node is None:
        return frozenset(), None
    pair = None
    if node.is_object():
        for older, newer, kind in _PAIRS:
            if node.has(older) and node.has(newer):
                pair = StatementPair(kind, frozenset(_ids(node.get(older))), frozenset(_ids(node.get(newer))))
    return frozenset(_ids(node)), pair


def _ids(node: Node | None) -> Iterator[str]:
    if node is None:
        return
    if node.is_object():
        for field in node.fields().values():
            yield from _ids(None if field.value is None else field)
    elif node.is_list():
        for item in node.items():
            yield from _ids(item)
    else:
        yield id_of(node)


def _folders(path: Path) -> list[Path]:
    def is_chat(folder: Path) -> bool:
        return (folder / _QUESTIONS).is_file() and any((folder / name).is_file() for name in _CHATS)

    if not path.is_dir():
        raise InvalidRequest("there is no such folder", field=str(path))
    if is_chat(path):
        return [path]
    found = [folder for folder in path.iterdir() if is_chat(folder)]
    if not found:
        raise InvalidRequest("holds no chat: a folder with chat.json and probing_questions/", field=str(path))
    return sorted(found, key=lambda folder: (len(folder.name), folder.name))


def _units(file: Path, builder: Builder) -> Iterator[Unit]:
    timeline = Timeline(builder)
    for root in json_values(file):
        for number, batch in enumerate(_batches(root)):
            timeline.tell(batch.name("time_anchor"))
            for turn in batch.need("turns").items():
                for message in turn.items() if turn.is_list() else [turn]:
                    timeline.tell(message.name("time_anchor"))
                    yield Unit(
                        unit_id=id_of(message.need("id")),
                        text=message.need("content").text(),
                        role="assistant" if message.name("role") == "assistant" else "user",
                        said_at=timeline.take(),
                        session_id=f"batch-{number}",
                    )


def _batches(node: Node) -> Iterator[Node]:
    """Yield the batches of a chat; the longest chats keep them under the names of their plans."""
    for item in node.items():
        if item.has("turns"):
            yield item
        else:
            for plan in item.fields().values():
                yield from _batches(plan)
