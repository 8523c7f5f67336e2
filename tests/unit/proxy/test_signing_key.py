"""The key of the bridge's tokens: one for ever, and its owner's alone."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from memstrata.errors import Misconfigured
from memstrata.proxy.signing_key import FILE_NAME, signing_key


def test_a_folder_has_one_key_and_keeps_it(tmp_path: Path) -> None:
    first = signing_key(tmp_path)
    assert len(first) == 32
    assert signing_key(tmp_path) == first
    other = tmp_path / "other"
    other.mkdir()
    assert signing_key(other) != first


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    signing_key(tmp_path)
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_a_file_that_holds_no_key_stops_the_start(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"short")
    with pytest.raises(Misconfigured):
        signing_key(tmp_path)


def test_a_folder_that_cannot_be_written_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured):
        signing_key(tmp_path / "missing")
