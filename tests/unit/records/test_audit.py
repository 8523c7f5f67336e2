"""What a row of the audit trail says of a change: ids of our own as they are, names of others as marks, no contents."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from memstrata.ids import directory_id, forgetting_id, memory_id, message_id, prompt_id, relation_id
from memstrata.records import Scope
from memstrata.records.audit import CLI, GATEWAY, LIBRARY, PIPELINE, Actor, Change, mark
from memstrata.records.forgetting import Forgetting

NOW = 1_767_614_400_000


def subject(change: Change) -> Any:
    return json.loads(change.entry(LIBRARY, NOW).subject)


@pytest.mark.parametrize("name", ["lin", "usr-0123456789", "session of lin", "msg-1", "m_1_zz", "林", "a\ud800b"])
def test_a_name_that_somebody_chose_stands_as_a_mark(name: str) -> None:
    change = Change("default", "memory.delete", "home", "assistant", name, {"session": [name], "message": [name]})
    entry = change.entry(Actor("user", name), NOW)
    of_name = mark("default", name)
    assert json.loads(entry.owner) == ["home", "assistant", of_name]
    assert json.loads(entry.subject) == {"session": [of_name], "message": [of_name]}
    assert entry.actor == f"user:{of_name}"


def test_ids_of_our_own_stand_as_they_are() -> None:
    ids = [message_id(), memory_id(NOW), forgetting_id(), prompt_id(), relation_id()]
    ids += [directory_id("team", NOW), directory_id("agt", NOW), directory_id("uky", NOW)]
    assert subject(Change("default", "x.y", ids={"any": ids})) == {"any": ids}


def test_versions_stand_behind_their_ids() -> None:
    own = memory_id(NOW)
    told = subject(Change("default", "x.y", ids={"memory": [(own, 3)], "scene": [("home.md", 2)]}))
    assert told == {"memory": [f"{own}@3"], "scene": [f"{mark('default', 'home.md')}@2"]}


def test_of_more_than_twenty_ids_there_is_their_number_and_a_hash() -> None:
    ids = [message_id() for _ in range(21)]
    digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
    assert subject(Change("default", "x.y", ids={"message": ids})) == {"message": {"count": 21, "sha256": digest}}
    assert subject(Change("default", "x.y", ids={"message": ids[:20]})) == {"message": ids[:20]}


def test_a_mark_is_the_start_of_the_hash_in_receipts_of_forgetting() -> None:
    assert str(Forgetting("default", user="lin").told()["user_sha256"]).startswith(mark("default", "lin"))


def test_marks_differ_between_instances() -> None:
    assert mark("default", "lin") != mark("other", "lin")


def test_what_is_none_is_not_told() -> None:
    assert subject(Change("default", "x.y", ids={"memory": []}, counts={"memories": 0, "messages": 2})) == {
        "messages": 2
    }


def test_a_change_in_a_scope_is_of_its_owner() -> None:
    change = Change.of(Scope("default", "home", "assistant", "lin"), "memory.delete")
    assert json.loads(change.entry(LIBRARY, NOW).owner) == ["home", "assistant", mark("default", "lin")]


@pytest.mark.parametrize(
    ("who", "name"), [(GATEWAY, "gateway"), (PIPELINE, "pipeline"), (LIBRARY, "library"), (CLI, "cli")]
)
def test_programs_are_named(who: Actor, name: str) -> None:
    assert Change("default", "x.y").entry(who, NOW).actor == name
