from memstrata.llm.scan import candidates, without_reasoning


def values(text: str) -> list[object]:
    return [candidate.value for candidate in candidates(text)]


def test_values_are_found_in_order_with_prose_between_them() -> None:
    assert values('first {"a": 1} then [2, 3] done') == [{"a": 1}, [2, 3]]


def test_brackets_inside_of_a_value_are_not_values_of_their_own() -> None:
    assert values('{"a": "[1]", "b": [{"c": 2}]}') == [{"a": "[1]", "b": [{"c": 2}]}]


def test_brackets_in_reasoning_are_not_looked_at() -> None:
    assert values('<think>[1] {"a": 2}</think>[3]') == [[3]]
    assert values("◁think▷[1]◁/think▷[3]") == [[3]]
    assert values("<|channel|>analysis<|message|>[1]<|end|><|channel|>final<|message|>[3]") == [[3]]


def test_a_closing_tag_without_an_opening_one_makes_reasoning_of_all_before_it() -> None:
    assert values("[1] so the answer is</think>[3]") == [[3]]


def test_a_tag_inside_of_a_string_is_text() -> None:
    assert values('[{"content": "writes <think> tags by hand"}] [2]') == [
        [{"content": "writes <think> tags by hand"}],
        [2],
    ]


def test_after_an_unclosed_tag_only_a_value_that_ends_the_text_counts() -> None:
    assert values('<think>maybe [1], no: {"a": [2]}') == [{"a": [2]}]
    assert values("<think>maybe [1], let me see") == []


def test_control_characters_inside_of_strings_are_no_fault() -> None:
    assert values('["a\n\tb"]') == [["a\n\tb"]]


def test_a_broken_value_is_repaired_and_comes_before_the_intact_ones_inside() -> None:
    found = candidates('[{"a": 1}, {"a": 2},]')
    assert found[0].value == [{"a": 1}, {"a": 2}]
    assert found[0].repaired
    assert not found[0].cut


def test_a_missing_bracket_loses_nothing() -> None:
    found = candidates('[{"a": 1}, {"a": 2} Hope this helps')
    assert found[0].value == [{"a": 1}, {"a": 2}]
    assert not found[0].cut


def test_of_a_cut_text_the_complete_values_are_kept_and_the_cut_is_told() -> None:
    for tail in (', {"a": "two and', ', {"a"', ', {"a": 2', ",{"):
        found = candidates('[{"a": "one"}' + tail)
        assert found[0].value == [{"a": "one"}], tail
        assert found[0].cut, tail


def test_a_cut_text_inside_of_an_object_keeps_its_complete_parts() -> None:
    found = candidates('{"memories": [{"a": "one"}, {"a": "user likes lisb')
    assert found[0].value == {"memories": [{"a": "one"}]}
    assert found[0].cut


def test_unescaped_quotes_in_pairs_are_repaired() -> None:
    assert values('[{"a": "he said "hi" to me"}] bye')[0] == [{"a": 'he said "hi" to me'}]


def test_where_quotes_do_not_pair_only_what_comes_before_is_taken() -> None:
    found = candidates('[{"a": "x"}, {"a": "a 5" nail"}, {"a": "z"}]')
    assert found[0].value == [{"a": "x"}]
    assert found[0].cut
    assert candidates('[{"a": "a 5" nail"}]') == []


def test_a_bracket_too_few_inside_is_repaired() -> None:
    assert values('[{"a": "x"}, {"a": "y"] bye')[0] == [{"a": "x"}, {"a": "y"}]


def test_bracketed_words_in_prose_are_not_repaired_into_lists() -> None:
    assert values("[note] {name} [x, y] [ok]") == []


def test_what_json_has_no_word_for_is_not_read() -> None:
    assert values("[NaN]") == []
    assert values(f"[{'9' * 5_000}]") == []


def test_nesting_beyond_reading_is_survived() -> None:
    assert candidates("[" * 100_000) == []
    assert candidates('{"a":' * 50_000) == []
    assert candidates('["' * 50_000) == []
    assert {str(value) for value in values("[[1]," * 50_000)} == {"[1]"}


def test_reasoning_is_taken_out_of_a_text() -> None:
    assert without_reasoning("<think>a</think> b <Thinking>c</Thinking> d") == "b  d"
    assert without_reasoning("a</think>b") == "b"
    assert without_reasoning("b<think>never closed") == "b"
    assert without_reasoning("no tags") == "no tags"
