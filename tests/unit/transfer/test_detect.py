from __future__ import annotations

import codecs
import json
from pathlib import Path

import pytest

from memstrata.errors import InvalidRequest
from memstrata.transfer import FORMATS, read_data, read_file

MESSAGES = [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "hello"}]
LINES = "".join(json.dumps(message, ensure_ascii=False) + "\n" for message in MESSAGES)


def fault(data: bytes | str, name: str = "chat.jsonl", as_format: str = "auto") -> str:
    with pytest.raises(InvalidRequest) as caught:
        read_data(data if isinstance(data, bytes) else data.encode(), name, as_format)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps(MESSAGES), "openai"),
        (json.dumps(MESSAGES, indent=2), "openai"),
        (LINES, "openai"),
        ("\n\n" + LINES.replace("\n", "\r\n\r\n"), "openai"),
        ("[]", "openai"),
        ('[{"mapping": {}}]', "chatgpt"),
        ('{"chat_messages": []}', "claude"),
        ('{"mapping": {}}\n{"mapping": {}}', "chatgpt"),
        ('{"memstrata_export": 1}', "memstrata"),
        ("[2026-01-02 03:04] User: hi", "plain"),
        ("# title\n\n用户：你好", "plain"),
    ],
)
def test_the_format_is_told_from_the_content(text: str, expected: str) -> None:
    assert read_data(text.encode(), "any.name").format == expected


def test_a_named_format_is_used_without_looking() -> None:
    assert fault(json.dumps(MESSAGES), "x.json", "claude") == 'x.json [0]: no "chat_messages"'
    assert fault(json.dumps(MESSAGES), "x.json", "plain").startswith("x.json line 1: nobody says this")


def test_an_unknown_format_is_an_error_that_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_file(tmp_path / "chat.csv", "csv")
    assert str(caught.value) == f'format: unknown format "csv" (known: {", ".join(FORMATS)})'


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ],
)
def test_utf_8_and_marked_utf_16_are_read(mark: bytes, encoding: str) -> None:
    file = read_data(mark + LINES.encode(encoding), "chat.jsonl")
    assert [message.content for message in file.sessions[0].messages] == ["你好", "hello"]


def test_line_separators_inside_a_string_do_not_end_the_line() -> None:
    text = '{"role": "user", "content": "a\u2028b\u0085c"}\n{"role": "user", "content": "d"}'
    assert [message.content for message in read_data(text.encode(), "x").sessions[0].messages] == [
        "a\u2028b\u0085c",
        "d",
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "chat.jsonl: is empty"),
        (b" \n\t\n", "chat.jsonl: is empty"),
        (codecs.BOM_UTF8, "chat.jsonl: is empty"),
        ("用户：你好".encode("gb18030"), "chat.jsonl: is not UTF-8 (byte 0xd3 at offset 0); save it as UTF-8"),
        (codecs.BOM_UTF8 + b"ok \xff", "chat.jsonl: is not UTF-8 (byte 0xff at offset 6); save it as UTF-8"),
        (codecs.BOM_UTF16_LE + b"a\0b", "chat.jsonl: is not UTF-16 (byte 0x62 at offset 4); save it as UTF-8"),
        (
            LINES.encode("utf-16-le"),
            "chat.jsonl: is not text (a zero byte at offset 1), or is UTF-16 without a byte order mark",
        ),
        (LINES.encode("utf-32"), "chat.jsonl: is UTF-32; save it as UTF-8"),
        (b"PK\x03\x04\0\0", "chat.jsonl: is a zip archive: unpack it and import the conversation file inside"),
        (b"\x1f\x8b\x08", "chat.jsonl: is a gzip archive: unpack it and import the conversation file inside"),
        (
            b"name,said\nLin,hello\n",
            "chat.jsonl: no known format: neither JSON nor text in which each turn starts with a label "
            "such as `User:` or `助手：`",
        ),
    ],
)
def test_bytes_that_are_no_conversation_are_refused_in_one_line(data: bytes, expected: str) -> None:
    assert fault(data) == expected


def test_a_fault_in_a_line_names_the_line_and_the_column() -> None:
    lines = [*LINES.splitlines()] * 8 + ['{"role": "u" "x"}']
    assert fault("\n".join(lines)) == "chat.jsonl line 17: not JSON (Expecting ',' delimiter at column 14)"


def test_blank_lines_count_when_a_line_is_named() -> None:
    assert fault(f"\n{LINES}\n\nnonsense").startswith("chat.jsonl line 6: not JSON (Expecting value at column 1)")


def test_a_fault_in_a_whole_file_names_the_line_and_the_column() -> None:
    assert fault('[\n  {"role": "user",\n   "content" "x"}\n]') == (
        "chat.jsonl line 3: not JSON (Expecting ':' delimiter at column 14)"
    )


def test_a_file_that_was_cut_off_is_an_error() -> None:
    assert fault(LINES + '{"role": "user", "conte') == (
        "chat.jsonl line 3: not JSON (Unterminated string starting at column 18)"
    )


def test_the_first_line_is_named_when_the_fault_is_there() -> None:
    assert fault('{"role": user}\n' + LINES) == "chat.jsonl line 1: not JSON (Expecting value at column 10)"


def test_json_that_python_cannot_hold_is_an_error_of_the_file() -> None:
    assert fault("[" * 100_000) == "chat.jsonl: not readable JSON (nested too deeply)"
    assert fault("[" + "9" * 5000 + "]").startswith("chat.jsonl: not readable JSON (Exceeds the limit (4300 digits)")


def test_a_path_is_read_and_errors_carry_its_name_alone(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text(LINES, encoding="utf-8")
    bad.write_text(LINES + "x", encoding="utf-8")
    assert len(read_file(good).sessions[0].messages) == 2
    with pytest.raises(InvalidRequest, match=r"^bad\.jsonl line 3: "):
        read_file(bad)


def test_a_missing_file_is_an_error_with_the_path_as_given(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_file(tmp_path / "none.jsonl")
    assert str(caught.value) == f"{tmp_path / 'none.jsonl'}: no such file"


def test_a_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest) as caught:
        read_file(tmp_path)
    assert str(caught.value) == f"{tmp_path}: is a directory: name one file in it"


def test_a_path_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text(LINES, encoding="utf-8")
    with pytest.raises(InvalidRequest, match=r"cannot be read \(Not a directory\)$"):
        read_file(file / "below")
