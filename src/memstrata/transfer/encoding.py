"""From the bytes of a file to its text: UTF-8 with or without byte order mark, UTF-16 with one. Nothing is guessed.

A wrong guess turns every word of a conversation into nonsense that is then remembered; an error with the byte's offset
costs one conversion.
"""

from __future__ import annotations

import codecs
from pathlib import Path

from memstrata.errors import InvalidRequest
from memstrata.transfer.place import Place

__all__ = ["decode", "read_bytes"]

_ARCHIVES = ((b"PK\x03\x04", "zip"), (b"\x1f\x8b", "gzip"), (b"7z\xbc\xaf\x27\x1c", "7z"))
# UTF-32 first: its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "UTF-32", "utf-32-be"),
    (codecs.BOM_UTF8, "UTF-8", "utf-8"),
    (codecs.BOM_UTF16_LE, "UTF-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "UTF-16", "utf-16-be"),
)
_UNMARKED = (b"", "UTF-8", "utf-8")


def read_bytes(path: Path) -> bytes:
    """Return what the file holds. Raises InvalidRequest if there is no such file or it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InvalidRequest("no such file", field=str(path)) from None
    except IsADirectoryError:
        raise InvalidRequest("is a directory: name one file in it", field=str(path)) from None
    except OSError as error:
        raise InvalidRequest(f"cannot be read ({error.strerror or error})", field=str(path)) from None


def decode(data: bytes, place: Place) -> str:
    """Return the text without its byte order mark. Raises InvalidRequest if it is empty, no text, or encoded otherwise."""
    for signature, name in _ARCHIVES:
        if data.startswith(signature):
            raise place.error(f"is a {name} archive: unpack it and import the conversation file inside")
    mark, encoding, codec = next((row for row in _MARKS if data.startswith(row[0])), _UNMARKED)
    if encoding == "UTF-32":
        raise place.error("is UTF-32; save it as UTF-8")
    body = data[len(mark) :]
    if encoding == "UTF-8" and b"\0" in body:
        offset = len(mark) + body.index(b"\0")
        raise place.error(f"is not text (a zero byte at offset {offset}), or is UTF-16 without a byte order mark")
    try:
        text = body.decode(codec)
    except UnicodeDecodeError as error:
        offset = len(mark) + error.start
        fault = f"byte 0x{data[offset]:02x} at offset {offset}"
        raise place.error(f"is not {encoding} ({fault}); save it as UTF-8") from None
    if not text.strip():
        raise place.error("is empty")
    return text
