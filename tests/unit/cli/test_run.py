"""One run of the command line in this process: usage that cannot be meant, in one line and with the code for it."""

import json

import pytest

from memstrata.cli.run import run


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["serch", "x"], "serch"),
        (["search"], "query"),
        (["search", "x", "--limit", "many"], "--limit"),
        (["search", "x", "--limit", "0"], "--limit"),
        (["search", "x", "--layer", "dreams"], "--layer"),
        (["search", "x", "--colour"], "--colour"),
        (["serve", "--log-format", "xml"], "--log-format"),
        (["import"], "files"),
        (["import", "x.txt", "--format", "word"], "word"),
        (["import", "missing.txt"], "missing.txt"),
        (["search", "x", "--url", "localhost:8420"], "http://"),
        (["rebuild"], "--from-files"),
    ],
)
def test_wrong_usage_is_one_line_and_2(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert words.lower() in printed.err.lower()


def test_a_program_reads_the_error_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", "missing.txt", "--json"]) == 2
    printed = capsys.readouterr()
    assert printed.err == ""
    assert json.loads(printed.out)["error"]["kind"] == "invalid"
