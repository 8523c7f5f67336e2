"""Log lines as a program reads them."""

import json
import logging

import pytest

from memstrata.cli.logs import write_logs


def test_a_json_line_has_time_level_logger_message_and_the_exception(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs("info", "json")
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        logging.getLogger("memstrata.test").exception("it %s", "failed")
    (text,) = capsys.readouterr().err.splitlines()
    line = json.loads(text)
    assert (line["level"], line["logger"], line["message"]) == ("error", "memstrata.test", "it failed")
    assert line["time"].endswith("+00:00")
    assert "ValueError: first\nsecond" in line["exception"]


def test_less_severe_lines_and_those_of_the_libraries_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs("info")
    logging.getLogger("memstrata.test").debug("hidden")
    logging.getLogger("uvicorn.error").info("hidden")
    logging.getLogger("memstrata.test").info("shown")
    assert [line.rsplit(": ", 1)[1] for line in capsys.readouterr().err.splitlines()] == ["shown"]
