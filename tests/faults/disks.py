"""Disks that fill up and are given room again: a small mounted one where that is allowed, else a limit on file sizes."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

__all__ = ["Disk", "limited", "mounted"]

MOUNTED_BYTES = 8 << 20
SMALLEST_FILE = 4_096


class Disk(Protocol):
    """A folder whose room can be taken away from a process and given back."""

    folder: Path

    def fill(self, pid: int) -> None: ...
    def free(self, pid: int) -> None: ...


class _MountedDisk:
    """Full means that a filler file has taken every block."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "data"
        self._filler = root / "filler"

    def fill(self, pid: int) -> None:
        with self._filler.open("ab", buffering=0) as filler:
            try:
                while True:
                    filler.write(bytes(SMALLEST_FILE))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def free(self, pid: int) -> None:
        self._filler.unlink()


class _LimitedProcess:
    """Full means that the process may not write past the first page of any file."""

    def __init__(self, root: Path) -> None:
        self.folder = root / "data"

    def fill(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (SMALLEST_FILE, resource.RLIM_INFINITY))

    def free(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


@contextmanager
def limited(root: Path) -> Iterator[Disk]:
    """Yield a disk that is full for one process only: writing past a limit is an I/O error."""
    yield _LimitedProcess(root)


@contextmanager
def mounted(root: Path) -> Iterator[Disk]:
    """Yield a small file system of its own, where a full disk says so; where mounting is not allowed, a limited one."""
    target = root / "disk"
    target.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={MOUNTED_BYTES}", "tmpfs", str(target)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        yield _LimitedProcess(root)
        return
    try:
        yield _MountedDisk(target)
    finally:
        subprocess.run(["umount", str(target)], check=True)
