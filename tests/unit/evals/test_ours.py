"""Our own set: that it is in the package, whole, and what its columns mean."""

from __future__ import annotations

import unicodedata
from collections import Counter
from importlib.resources import files
from pathlib import Path

import pytest

from memstrata.errors import InvalidRequest
from memstrata.evals.dataset import StatementPair
from memstrata.evals.datasets.ours import KINDS, OURS, read_ours


def test_it_is_a_file_of_the_package_that_a_wheel_takes_along() -> None:
    packaged = files("memstrata.evals") / "data" / "multilingual.tsv"
    assert packaged.is_file()
    assert Path(str(packaged)) == OURS
    # A build leaves out what version control ignores, and nothing else.
    ignored = (Path(__file__).parents[3] / ".gitignore").read_text(encoding="utf-8").split()
    assert not {"data/", "*.tsv", "src/memstrata/evals/"} & set(ignored)


def test_it_has_hundreds_of_pairs_in_ten_languages_of_both_kinds() -> None:
    read = read_ours()
    languages = Counter(one.category.split()[0] for one in read.questions)
    assert len(read.questions) >= 278 + 60
    assert {"zh", "en", "ja", "ko", "ru", "es", "de", "fr", "ar", "th", "mixed", "cross"} == set(languages)
    for language in languages.keys() - {"cross"}:
        assert {f"{language} shared words", f"{language} paraphrase"} <= {one.category for one in read.questions}
    assert {subset.name for subset in read.subsets} == set(KINDS.values())


def test_no_statement_and_no_question_stands_twice_and_all_are_in_composed_form() -> None:
    read = read_ours()
    for texts in ([one.text for one in read.corpora[0].units], [one.text for one in read.questions]):
        assert len(set(texts)) == len(texts)
        assert all(unicodedata.is_normalized("NFC", text) and text == text.strip() for text in texts)


def test_what_an_update_replaces_is_said_before_everything_else(tmp_path: Path) -> None:
    file = tmp_path / "own.tsv"
    file.write_text(
        "l\ten\tI like tea\tdo I like tea\nu\ten\tI live in Rome\twhere do I live\tI live in Oslo\n", "utf-8"
    )
    read = read_ours(file)
    assert [one.text for one in read.corpora[0].units] == ["I live in Oslo", "I like tea", "I live in Rome"]
    assert sorted(one.said_at for one in read.corpora[0].units) == [one.said_at for one in read.corpora[0].units]
    assert read.questions[1].pair == StatementPair("update", frozenset(["2-replaced"]), frozenset(["2"]))


@pytest.mark.parametrize("line", ["l\ten\tonly a statement", "z\ten\ta\tb", "u\ten\ta\tb", "l\ten\ta\t \t", "l en a b"])
def test_a_line_of_another_form_is_refused_with_its_number(tmp_path: Path, line: str) -> None:
    file = tmp_path / "own.tsv"
    file.write_text(f"l\ten\ta\tb\n{line}\n", "utf-8")
    with pytest.raises(InvalidRequest, match=r"own\.tsv line 2"):
        read_ours(file)
