"""Where a command works: a server or a data folder, and whose memory. One value, made of its flags."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memstrata.cli.words import say
from memstrata.settings import Settings, load_settings, unknown_variables

__all__ = ["DEMO_NAME", "Place", "read_settings"]

DEMO_NAME = "demo"
"""The folder of the demo inside the usual data folder, out of the way of memories that are kept."""


@dataclass(frozen=True, slots=True)
class Place:
    """The flags that say where and whose. None: as the settings have it."""

    data_dir: Path | None = None
    config: Path | None = None
    url: str | None = None
    api_key: str | None = None
    instance: str = "default"
    team: str = "personal"
    agent: str = "assistant"
    user: str = "me"


def read_settings(
    data_dir: Path | None = None, config: Path | None = None, flags: Mapping[str, Any] | None = None
) -> tuple[Settings, Mapping[str, str]]:
    """Read the settings, and warn on stderr of each `MEMSTRATA_…` variable that is none. Raises Misconfigured."""
    for text in unknown_variables(os.environ):
        sys.stderr.write(f"memstrata: {say('warning', text=text)}\n")
    return load_settings(flags={"data_dir": data_dir, **(flags or {})}, file=config)
