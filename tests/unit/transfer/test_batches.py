from __future__ import annotations

import json

from memstrata.clock import from_iso
from memstrata.transfer import ImportBatch, ImportedMessage, ImportedSession, ImportFile, batches, read_data

NOON = from_iso("2026-01-02T12:00:00Z")


def file_of(*messages: ImportedMessage, session_id: str = "s") -> ImportFile:
    return ImportFile("openai", (ImportedSession(session_id, "", messages),), {})


def numbered(count: int) -> list[ImportedMessage]:
    return [ImportedMessage("user" if i % 2 == 0 else "assistant", f"message {i}", NOON + i) for i in range(count)]


def ids(found: list[ImportBatch]) -> list[str | None]:
    return [message.message_id for batch in found for message in batch.messages]


def keys(found: list[ImportBatch]) -> list[str]:
    return [batch.idempotency_key for batch in found]


def test_a_batch_holds_what_a_request_may_hold_and_keeps_the_order() -> None:
    found = list(batches(file_of(*numbered(250))))
    assert [len(batch.messages) for batch in found] == [100, 100, 50]
    contents = [message.content for batch in found for message in batch.messages]
    assert contents == [f"message {i}" for i in range(250)]
    assert found[0].messages[1].said_at == NOON + 1


def test_sessions_do_not_share_a_batch() -> None:
    file = ImportFile("x", tuple(ImportedSession(name, "", tuple(numbered(3))) for name in ("a", "b")), {})
    found = list(batches(file))
    assert [(batch.session_id, len(batch.messages)) for batch in found] == [("a", 3), ("b", 3)]
    assert len(set(ids(found))) == 6
    assert len(set(keys(found))) == 2


def test_a_request_stays_within_the_bytes_allowed() -> None:
    messages = [ImportedMessage("user", "汉😀" * 4000, NOON) for _ in range(60)]
    found = list(batches(file_of(*messages), max_bytes=900_000))
    assert len(found) > 1
    for batch in found:
        body = {
            "session_id": batch.session_id,
            "idempotency_key": batch.idempotency_key,
            "messages": [{"id": m.message_id, "role": m.role, "content": m.content} for m in batch.messages],
        }
        assert len(json.dumps(body)) <= 900_000
    assert sum(len(batch.messages) for batch in found) == 60


def test_a_message_larger_than_a_request_still_goes_alone() -> None:
    found = list(batches(file_of(*numbered(3)), max_bytes=10))
    assert [len(batch.messages) for batch in found] == [1, 1, 1]


def test_a_long_message_becomes_parts_that_join_to_it() -> None:
    text = "一句话。" * 5000
    found = list(batches(file_of(ImportedMessage("user", text, NOON, "m-1"), ImportedMessage("assistant", "ok", NOON))))
    parts = found[0].messages[:-1]
    assert "".join(part.content for part in parts) == text
    assert [part.message_id for part in parts] == ["m-1", "m-1.2", "m-1.3"]
    assert all(len(part.content) <= 8192 and part.content.endswith("。") for part in parts)
    assert {(part.role, part.said_at) for part in parts} == {("user", NOON)}


def test_a_message_without_id_gets_one_that_depends_on_its_place_and_words_alone() -> None:
    first = ids(list(batches(file_of(*numbered(5)))))
    assert len(set(first)) == 5
    assert ids(list(batches(file_of(*numbered(5))))) == first
    assert ids(list(batches(file_of(*numbered(5), session_id="t")))) != first


def test_the_same_words_said_twice_are_two_messages() -> None:
    found = list(batches(file_of(ImportedMessage("user", "ok"), ImportedMessage("user", "ok"))))
    assert len(set(ids(found))) == 2


def test_one_more_message_changes_no_id_and_only_the_last_key() -> None:
    before, after = (list(batches(file_of(*numbered(n)), max_messages=10)) for n in (25, 26))
    assert ids(after)[:25] == ids(before)
    assert keys(after)[:2] == keys(before)[:2]
    assert keys(after)[2] != keys(before)[2]


def test_one_more_message_after_a_full_batch_changes_no_key() -> None:
    before, after = (list(batches(file_of(*numbered(n)), max_messages=10)) for n in (20, 21))
    assert keys(after)[:2] == keys(before)


def test_a_key_changes_with_any_part_of_its_batch() -> None:
    base = ImportedMessage("user", "hello", NOON, "1")
    variants = [
        file_of(base),
        file_of(base, session_id="t"),
        file_of(ImportedMessage("assistant", "hello", NOON, "1")),
        file_of(ImportedMessage("user", "hullo", NOON, "1")),
        file_of(ImportedMessage("user", "hello", NOON + 1, "1")),
        file_of(ImportedMessage("user", "hello", None, "1")),
        file_of(ImportedMessage("user", "hello", NOON, "2")),
        file_of(base, ImportedMessage("assistant", "hi", NOON, "3")),
    ]
    assert len({key for file in variants for key in keys(list(batches(file)))}) == len(variants)


def test_two_messages_under_one_id_are_both_imported() -> None:
    file = file_of(ImportedMessage("user", "first", NOON, "1"), ImportedMessage("user", "edited", NOON, "1"))
    found = ids(list(batches(file)))
    assert found[0] == "1"
    assert len(set(found)) == 2


def test_the_name_of_a_part_does_not_hide_a_message_of_that_name() -> None:
    file = file_of(ImportedMessage("user", "a" * 12, NOON, "x"), ImportedMessage("user", "b", NOON, "x.2"))
    found = list(batches(file, max_characters=10))
    assert "".join(message.content for message in found[0].messages) == "a" * 12 + "b"
    assert len(set(ids(found))) == 3


def test_sessions_that_count_their_messages_from_one_keep_the_numbers() -> None:
    sessions = tuple(ImportedSession(name, "", (ImportedMessage("user", name, NOON, "1"),)) for name in ("a", "b"))
    assert ids(list(batches(ImportFile("x", sessions, {})))) == ["1", "1"]


def test_a_file_imported_from_elsewhere_or_continued_is_the_same_session() -> None:
    text = "User: hi\nAssistant: hello\n---\nUser: hi\nAssistant: again\n"
    before = list(batches(read_data(text.encode(), "a.txt")))
    after = list(batches(read_data(f"{text}User: one more\n".encode(), "copy of a.txt")))
    assert [batch.session_id for batch in after] == [batch.session_id for batch in before]
    assert len({batch.session_id for batch in before}) == 2
    assert ids(after)[:4] == ids(before)


def test_sessions_that_open_differently_are_different_sessions() -> None:
    texts = ["User: hi", "User: hello", "Assistant: hi", "# Title\nUser: hi", "[2026-01-02 03:04] User: hi"]
    found = {batch.session_id for text in texts for batch in batches(read_data(text.encode(), "a.txt"))}
    assert len(found) == len(texts)


def test_keys_and_ids_stay_what_they_are_between_releases() -> None:
    # An import begun with one release and resumed with the next must find its messages: these values are a format.
    (found,) = batches(read_data("User: hi\nAssistant: 你好\n".encode(), "a.txt"))
    assert found.session_id == "import-54e3e74ff76e204a16360be2"
    assert [message.message_id for message in found.messages] == [
        "msg-b3201289dd67f75f5b9b1406",
        "msg-da9729a1c384f7bc2b7e9d62",
    ]
    assert found.idempotency_key == "import-c9c488cc4105bd5aadfce0f7"
