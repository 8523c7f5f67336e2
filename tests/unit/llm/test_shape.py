from typing import Annotated

import msgspec
import pytest

from memstrata.llm.shape import Shape, fit


class Note(msgspec.Struct):
    content: str
    priority: Annotated[int, msgspec.Meta(ge=-1, le=100)] = 50
    source_ids: list[str] = []
    slot: str | None = None


class Scene(msgspec.Struct):
    scene_name: str
    memories: list[Note]


NOTES = Shape(Note, name="memories", aliases={"text": "content", "sources": "source_ids"})
TEA = Note("likes tea", 80, ["m1"])


@pytest.mark.parametrize(
    "value",
    [
        [{"content": "likes tea", "priority": 80, "source_ids": ["m1"]}],
        {"memories": [{"content": "likes tea", "priority": 80, "source_ids": ["m1"]}]},
        {"result": {"memories": [{"content": "likes tea", "priority": 80, "source_ids": ["m1"]}]}},
        {"extracted": [{"content": "likes tea", "priority": 80, "source_ids": ["m1"]}], "count": 1},
        {"content": "likes tea", "priority": 80, "source_ids": ["m1"]},
        {"0": {"content": "likes tea", "priority": 80, "source_ids": ["m1"]}},
        {"content": "likes tea", "priority": 80, "source_ids": ["m1"], "data": []},
        {"answer": '[{"content": "likes tea", "priority": 80, "source_ids": ["m1"]}]'},
        [{"text": "likes tea", "priority": "80", "sources": "m1"}],
        [{"content": "likes tea", "priority": 80.0, "sourceIds": ["m1"], "slot": None, "confidence": 0.9}],
        [{"Content": "likes tea", "Priority": 80, "Source-Ids": ["m1"]}],
    ],
)
def test_right_data_in_another_shape_is_accepted(value: object) -> None:
    assert fit(value, NOTES).items == (TEA,)


@pytest.mark.parametrize(
    "value",
    [
        [{"priority": 80}],
        [{"content": 5}],
        [{"content": None}],
        [{"content": "x", "priority": 101}],
        [{"content": "x", "priority": "high"}],
        ["likes tea"],
        [[]],
        {},
        {"status": "ok"},
        "likes tea",
        {"a": [1, 2]},
        {"a": [{"content": "x"}], "b": [{"content": "y"}]},
    ],
)
def test_what_would_have_to_be_guessed_is_a_problem(value: object) -> None:
    fitted = fit(value, NOTES)
    assert fitted.items == ()
    assert fitted.problems


def test_an_empty_list_has_neither_items_nor_problems() -> None:
    assert fit([], NOTES) == fit({"memories": []}, NOTES)
    assert fit([], NOTES).problems == ()


def test_valid_items_are_told_from_invalid_ones_by_number() -> None:
    fitted = fit([{"content": "a"}, {"content": 1}], NOTES)
    assert [item.content for item in fitted.items] == ["a"]
    assert fitted.problems[0].startswith("item 1: ")


def test_names_are_corrected_at_any_depth() -> None:
    shape = Shape(Scene, name="scenes", aliases={"text": "content"})
    (scene,) = fit([{"sceneName": "tea", "memories": {"text": "likes tea"}}], shape).items
    assert scene.memories[0].content == "likes tea"


def test_a_right_name_goes_before_an_alias_of_it() -> None:
    assert fit([{"text": "wrong", "content": "right"}], NOTES).items[0].content == "right"


def test_one_object_may_stand_in_a_list_or_a_wrapper_or_be_its_only_list() -> None:
    shape = Shape(Scene, many=False)
    scene = {"scene_name": "tea", "memories": [{"content": "a"}]}
    assert fit(scene, shape).items == fit([scene], shape).items == fit({"scene": scene}, shape).items
    assert fit([{"content": "a"}, {"content": "b"}], shape).problems  # the scene's name is missing


def test_a_check_of_ones_own_has_the_last_word() -> None:
    shape = Shape(Note, check=lambda note: "too short" if len(note.content) < 3 else "")
    assert fit([{"content": "x"}], shape).problems == ("item 0: too short",)


def test_texts_come_out_fit_for_every_store() -> None:
    assert fit([{"content": "a\0b\ud800c"}], NOTES).items[0].content == "ab�c"


def test_the_schema_is_strict_and_its_root_is_an_object() -> None:
    schema = Shape(Scene, name="scenes").json_schema()
    assert schema["type"] == "object"
    assert schema["required"] == ["scenes"]
    assert schema["additionalProperties"] is False
    note = schema["$defs"]["Note"]
    assert note["required"] == ["content", "priority", "source_ids", "slot"]
    assert "default" not in note["properties"]["priority"]
