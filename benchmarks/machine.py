"""What the operating system says about a process and the machine, read from `/proc` (Linux only).

CPU time per request is the figure to trust on a busy machine: latencies grow with what other programs do, it does not.
"""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["busy_seconds", "cpu_seconds", "description", "rss_mb"]

_TICKS = os.sysconf("SC_CLK_TCK")
_IDLE, _IO_WAIT = 3, 4  # columns of /proc/stat
_COUNTED = 8  # the later ones, guests, are part of the first


def rss_mb(pid: int) -> float:
    """Return a process's resident memory in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used, in user and system mode."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def busy_seconds() -> float:
    """Return the CPU time that all processes together have used since the machine was started."""
    columns = [int(column) for column in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]]
    counted = columns[:_COUNTED]
    return (sum(counted) - counted[_IDLE] - counted[_IO_WAIT]) / _TICKS


def description(folder: Path) -> dict[str, str | int | float]:
    """Return what figures depend on: cores, memory, versions, and the file system that `folder` is on."""
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count() or 0,
        "memory_gib": round(pages * page_bytes / (1 << 30), 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "file_system": _file_system(folder),
        "load_average": os.getloadavg()[0],
    }


def _file_system(folder: Path) -> str:
    """The type of the mount that holds the folder: on `tmpfs` a durable write costs nothing and proves nothing."""
    mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    place = folder.resolve()
    holding = [(len(at), kind) for at, kind in mounts if place.is_relative_to(at)]
    return max(holding)[1] if holding else "unknown"
