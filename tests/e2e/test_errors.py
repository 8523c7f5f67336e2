"""What goes wrong at the command line: one clear line, the exit code that says what to do, nothing half done."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .shell import Shell


def test_wrong_usage_is_one_line_and_2(memstrata: Shell) -> None:
    done = memstrata("serch", "x")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "serch" in done.err


def test_a_settings_file_that_cannot_be_meant_is_named_with_its_line(memstrata: Shell) -> None:
    memstrata.write("memstrata.toml", "[server]\nhost = '127.0.0.1'\nprot = 8420\n")
    for command in (("serve",), ("status",)):
        done = memstrata(*command)
        assert (done.code, done.out) == (3, ""), command
        assert done.err.count("\n") == 1
        assert "memstrata.toml line 3" in done.err
        assert "server.port" in done.err


def test_doctor_shows_what_is_wrong_with_the_settings(memstrata: Shell) -> None:
    memstrata.write("memstrata.toml", "log_level = 'loud'\n")
    done = memstrata("doctor")
    assert done.code == 3
    assert "✗ settings" in done.out
    assert "memstrata.toml line 1" in done.out


def test_a_model_address_without_its_scheme_is_answered_with_the_form_it_should_have(memstrata: Shell) -> None:
    model = {"MEMSTRATA_LLM_BASE_URL": "127.0.0.1:11434/v1", "MEMSTRATA_LLM_MODEL": "qwen3"}
    done = memstrata("serve", "--port", "0", env=model)
    assert (done.code, done.out) == (3, "")
    assert done.err.count("\n") == 1
    assert "http://127.0.0.1:11434/v1" in done.err


def test_a_variable_that_is_no_setting_is_warned_of_with_the_one_that_was_meant(memstrata: Shell) -> None:
    done = memstrata("config", "--json", env={"MEMSTRATA_PROT": "9000"})
    assert done.code == 0
    assert done.json["settings"]
    assert done.err == "memstrata: warning: MEMSTRATA_PROT is no setting; did you mean MEMSTRATA_PORT?\n"


def test_a_program_reads_errors_as_json_too(memstrata: Shell) -> None:
    done = memstrata("search", "x", "--data-dir", "nothing", "--json")
    assert (done.code, done.err) == (1, "")
    assert done.json["error"]["kind"] == "not_found"


def test_looking_at_a_folder_that_is_not_there_does_not_make_it(memstrata: Shell) -> None:
    for command in (("search", "x"), ("stop",), ("doctor", "--port", "0")):
        memstrata(*command, "--data-dir", "nothing")
        assert not (memstrata.folder / "nothing").exists(), command


def test_a_server_that_does_not_answer_is_4(memstrata: Shell) -> None:
    done = memstrata("status", "--url", "http://127.0.0.1:9")
    assert (done.code, done.out) == (4, "")
    assert done.err.count("\n") == 1
    assert "http://127.0.0.1:9" in done.err


def test_a_chinese_terminal_hears_of_errors_in_chinese(memstrata: Shell) -> None:
    done = memstrata("search", "x", env={"LC_ALL": "zh_CN.UTF-8"})
    assert "还没有记忆" in done.err
    assert "输入有误" in memstrata("import", "missing.txt", env={"LANG": "zh_CN", "LC_ALL": ""}).err


@pytest.mark.parametrize(
    ("locale", "words"), [("C.UTF-8", "not part of the base install"), ("zh_CN.UTF-8", "基础安装不含命令行")]
)
def test_a_base_install_says_in_the_language_of_the_terminal_what_to_install(locale: str, words: str) -> None:
    program = "import sys, memstrata.cli as cli; cli._NEEDED = ('no_such_package',); sys.exit(cli.main())"
    environ = {**os.environ, "LC_ALL": locale, "PYTHONIOENCODING": "utf-8"}

    done = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, encoding="utf-8", timeout=60, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert 'pip install "memstrata[server]"' in done.stderr


def test_only_who_asks_for_it_sees_a_traceback(memstrata: Shell) -> None:
    done = memstrata("search", "x", "--data-dir", "nothing", env={"MEMSTRATA_LOG_LEVEL": "debug"})
    assert done.code == 1
    assert "Traceback" in done.err
