"""How one item of an answer becomes a draft, and what makes it unusable."""

from __future__ import annotations

import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from memstrata.distill.atoms.extract_prompt import extract_system
from memstrata.distill.atoms.items import MemoryItem, Reader, WorkItem, shape_of
from memstrata.distill.atoms.transcript import Shown
from memstrata.distill.calls import Aliases
from memstrata.llm.shape import fit
from memstrata.records import Mode

GOOD: dict[str, Any] = {"content": "User (Arun) likes tea", "type": "persona", "priority": 70, "sources": ["c1"]}


def reader(mode: Mode = "chat", user_name: str = "Arun", *said: str) -> Reader:
    """Return the reader of a call that was shown what was said, as the messages c1, c2 …"""
    shown = Shown("\n".join(("mark: a3f2", f"user: {user_name}", *said)), dict(enumerate(said, 41)))
    return Reader(Aliases("c", (41, 42)), user_name, mode, ZoneInfo("Asia/Shanghai"), shown)


def read(given: dict[str, Any], mode: Mode = "chat") -> MemoryItem:
    fitted = fit([{**GOOD, **given}], shape_of(reader(mode)))
    assert fitted.problems == ()
    return fitted.items[0]


def fault(given: dict[str, Any]) -> str:
    return "".join(fit([{**GOOD, **given}], shape_of(reader())).problems)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"sources": []}, "sources"),
        ({"sources": None}, "sources"),
        ({"sources": ["m99", "7b1e0a52-52f1-4f3a-9d5c-0c64bb1f0f11", 1]}, "sources"),
        ({"type": "work_fact"}, "type must be one of persona"),
        ({"content": " "}, "empty content"),
        ({"content": "x y " * 400}, "characters"),
        ({"content": "the user likes tea " * 40}, "same phrase"),
        ({"content": 'likes tea"}],"scene_name":'}, "debris"),
        ({"content": "User (Lina) owns the release"}, "a name to the user"),
        ({"content": 5}, "str"),
        ({"priority": "high"}, "int"),
    ],
)
def test_an_item_is_unusable_with_a_reason_and_without_its_text(given: dict[str, Any], says: str) -> None:
    found = fault(given)
    assert says in found
    assert "Lina" not in found


def test_known_sources_count_and_unknown_ones_are_noted() -> None:
    made = reader().draft(read({"sources": ["[C2]", "c1, c9", 7]}))
    assert made.draft.source_seqs == (42, 41)
    assert made.notes == ("2 sources that were not shown",)


@pytest.mark.parametrize(
    ("said", "kind"), [("episode", "episodic"), ("instruct", "instruction"), ("Preference", "persona")]
)
def test_other_names_of_types_are_understood(said: str, kind: str) -> None:
    assert reader().draft(read({"type": said})).draft.type == kind


def test_renamed_keys_and_numbers_as_text_are_understood() -> None:
    given = {"text": "likes tea", "memory_type": "persona", "importance": "70", "messageIds": "c1", "scene_name": "Tea"}
    fitted = fit(given, shape_of(reader()))
    draft = reader().draft(fitted.items[0]).draft
    assert (draft.content, draft.priority, draft.source_seqs, draft.scene_name) == ("likes tea", 70, (41,), "Tea")


@pytest.mark.parametrize(
    ("kind", "said", "reach"),
    [
        ("instruction", "always", "always"),
        ("instruction", "Project", "project"),
        ("instruction", "everywhere", "scene"),
        ("instruction", None, "scene"),
        ("persona", "scene", "always"),
    ],
)
def test_only_an_instruction_has_a_reach_and_in_doubt_the_narrowest(kind: str, said: str | None, reach: str) -> None:
    assert reader().draft(read({"type": kind, "applies_to": said})).draft.applies_to == reach


def test_what_changes_has_a_slot_of_its_own_subject() -> None:
    own = reader("chat", "Arun", "I am a nurse").draft(read({"attribute": "Job Title", "value": "nurse"})).draft
    other = (
        reader().draft(read({"subject": "person", "subject_name": "Ida", "attribute": "job_title", "value": 7})).draft
    )
    assert (own.slot, own.metadata) == ("job_title", {"subject": "user", "value": "nurse"})
    assert (other.slot, other.metadata["value"], other.metadata["subject_name"]) == ("job_title of ida", "7", "Ida")


def test_times_are_the_users_and_what_is_none_stays_open() -> None:
    made = reader().draft(read({"start": "2026-02-11", "end": "2026-02-11"}))
    assert (made.draft.happened_from, made.draft.happened_to) == (1_770_739_200_000, 1_770_825_599_999)
    vague = reader().draft(read({"start": "last spring", "end": ""}))
    assert (vague.draft.happened_from, vague.notes) == (None, ("start is no ISO 8601 time",))


def test_minor_fields_of_the_wrong_kind_are_left_out() -> None:
    given = {"subject": ["x"], "value": {"a": 1}, "scene": True, "attribute": None, "start": 5}
    made = reader().draft(read(given))
    assert made.draft.metadata == {"subject": "user"}
    assert made.draft.scene_name == ""
    assert "unknown subject" in made.notes


def test_work_fields_are_kept_if_they_have_a_value_that_there_is() -> None:
    given = {
        "type": "work_task", "subject": "project", "owner": "Tom", "deadline": "2026-03-13", "status": "Doing",
        "method_type": "magic", "artifact_ref": "EXP-41",
    }  # fmt: skip
    made = reader("work", "Arun", "Tom has EXP-41").draft(read(given, "work"))
    assert made.draft.metadata == {
        "subject": "project", "owner": "Tom", "deadline": "2026-03-13", "status": "doing", "artifact_ref": "EXP-41",
    }  # fmt: skip
    assert made.notes == ("method_type has no value that it may have",)


@pytest.mark.parametrize(("mode", "count"), [("chat", 6), ("work", 3)])
def test_an_example_of_the_prompt_that_comes_back_is_refused(mode: Mode, count: int) -> None:
    lines = [line for line in extract_system(mode).splitlines() if line.startswith('{"memories": [')]
    examples = [item for line in lines for item in json.loads(line)["memories"]]
    fitted = fit(examples, shape_of(reader(mode)))
    assert len(examples) == count
    assert fitted.items == ()


EXAMPLE = {"content": "User (Arun) lives in Kiel; moved there on 2026-03-06 with the help of sister Ida.", "value": "Kiel",
           "attribute": "residence", "start": "2026-03-06", "end": "2026-03-06"}  # fmt: skip


def faults(given: dict[str, Any], *said: str, mode: Mode = "chat") -> str:
    return "".join(fit([{**GOOD, **given}], shape_of(reader(mode, "Arun", *said))).problems)


@pytest.mark.parametrize(
    ("mode", "content", "said"),
    [
        ("chat", EXAMPLE["content"], "I like the smell of rain."),
        ("chat", "User (Arun) lives in Kiel.", "I like the smell of rain."),
        ("chat", "User (Arun) has a sister in Kiel.", "My sister likes the smell of rain."),
        ("chat", "Arun's team freezes merges on Thursdays.", "I like the smell of rain."),
        ("chat", "用户（Arun）对头孢过敏。", "我对青霉素过敏。"),
        ("work", "Tom moves the export to the queue.", "The cache is warmed every night."),
    ],
)
def test_an_example_that_nobody_said_is_refused_under_any_name_of_the_user(mode: Mode, content: str, said: str) -> None:
    given = {"content": content, "type": "persona" if mode == "chat" else "work_fact"}
    assert "repeats an example" in faults(given, said, mode=mode)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (EXAMPLE["content"], "My sister Ida helped me to move to Kiel, now I live there"),
        ("User (Arun) lives in Kiel.", "I have been living in kiel for years"),
        ("User (Arun) lives with a sister.", "my sis and me share a flat"),
        ("Arun's team freezes merges on Thursdays.", "merges are frozen from Thursday on, says my team"),
        ("The assistant writes to User (Arun) without exclamation marks.", "less shouting please"),
        ("用户（Arun）对头孢过敏。", "医生说我头孢过敏"),
    ],
)
def test_what_a_cited_message_says_is_kept_though_an_example_says_it_too(content: str, said: str) -> None:
    assert faults({"content": content}, said) == ""


@pytest.mark.parametrize(
    ("value", "content", "said"),
    [("Kiel", "User (Arun) likes tea", "I like tea"), ("pilot", "User (Arun) likes tea", "I like tea"),
     ("Kiel", "用户（Arun）喜欢喝茶", "我喜欢喝茶")],
)  # fmt: skip
def test_a_value_that_nobody_said_is_left_out_with_its_attribute(value: str, content: str, said: str) -> None:
    item = read({"content": content, "attribute": "residence", "value": value})
    made = reader("chat", "Arun", said).draft(item)
    assert (made.draft.slot, made.draft.metadata) == ("", {"subject": "user"})
    assert len(made.notes) == 1
    assert value not in str(made.notes)


@pytest.mark.parametrize(
    ("value", "content", "said"),
    [
        ("vegetarian", "User (Arun) is a vegetarian", "I eat no meat"),
        ("Software Engineer", "User (Arun) builds engines", "I work in software engineering"),
        ("ＫＩＥＬ", "User (Arun) moved", "I moved to Kiel"),
        ("7", "User (Arun) has a cat", "seven cats"),
        ("yes", "User (Arun) smokes", "I smoke"),
        ("vegetarian", "用户（Arun）不吃肉", "我不吃肉"),
        ("杭州", "用户（Arun）搬到了杭州", "我搬家了"),
    ],
)
def test_a_value_that_was_said_in_any_form_is_kept(value: str, content: str, said: str) -> None:
    item = read({"content": content, "attribute": "thing", "value": value})
    made = reader("chat", "Arun", said).draft(item)
    assert (made.draft.slot, made.draft.metadata["value"], made.notes) == ("thing", item.value, ())


def test_names_and_scenes_of_examples_are_left_out_unless_they_were_said() -> None:
    given = {"subject": "person", "subject_name": "Nadia", "scene": "Release planning"}
    made = reader("chat", "Arun", "I like tea").draft(read(given))
    assert (made.draft.metadata, made.draft.scene_name) == ({"subject": "person"}, "")
    assert made.notes == ("subject_name is that of an example", "scene is that of an example")
    said = reader("chat", "Arun", "Nadia plans the release").draft(read(given))
    assert (said.draft.metadata["subject_name"], said.draft.scene_name) == ("Nadia", "Release planning")


def test_the_day_of_an_example_is_none_of_a_memory_that_repeats_it() -> None:
    said = "My sister Ida helped me to move to Kiel, now I live there"
    made = reader("chat", "Arun", said).draft(read_shown(EXAMPLE, said))
    assert (made.draft.happened_from, made.draft.happened_to, made.draft.slot) == (None, None, "residence")
    own = reader("chat", "Arun", said).draft(read_shown({**EXAMPLE, "start": "2026-11-27", "end": ""}, said))
    assert own.draft.happened_from is not None


def read_shown(given: dict[str, Any], *said: str) -> MemoryItem:
    (item,) = fit([{**GOOD, **given}], shape_of(reader("chat", "Arun", *said))).items
    return item


def test_the_mark_of_the_call_is_nobodys_name() -> None:
    assert "mark of the headers" in fault({"content": "User (a3f2) likes tea"})
    assert "mark of the headers" in fault({"content": "Team #a3f2 likes tea"})
    made = reader().draft(read({"scene": "a3f2", "subject": "person", "subject_name": "#a3f2", "value": "a3f2"}))
    assert (made.draft.scene_name, made.draft.metadata) == ("", {"subject": "person"})
    assert made.notes == tuple(f"{name} is the mark of the headers" for name in ("subject_name", "value", "scene"))


@pytest.mark.parametrize(("mode", "item"), [("chat", MemoryItem), ("work", WorkItem)])
def test_the_schema_names_the_types_of_the_mode(mode: Mode, item: type[MemoryItem]) -> None:
    shape = shape_of(reader(mode))
    properties = shape.json_schema()["properties"]["memories"]["items"]["properties"]
    assert shape.item is item
    assert properties["type"]["enum"][0].startswith("work_") == (mode == "work")
    assert ("owner" in properties) == (mode == "work")
    assert properties["sources"] == {"type": "array", "items": {"type": "string"}}
