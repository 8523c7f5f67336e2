"""`stop`: the end of a server that runs elsewhere."""

from __future__ import annotations

from pathlib import Path

from memstrata.cli.background import stop_server
from memstrata.cli.place import DEMO_NAME, Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say

__all__ = ["stop"]

# Beyond what the server itself may take to finish its work.
_MARGIN_SECONDS = 10.0


def stop(screen: Screen, place: Place) -> None:
    """Stop the server of the data folder; without `--data-dir`, else that of the demo inside it."""
    settings, _ = read_settings(place.data_dir, place.config)
    folders = [settings.data_dir] if place.data_dir else [settings.data_dir, settings.data_dir / DEMO_NAME]
    for folder in folders:
        stopped = stop_server(folder, settings.server.shutdown_seconds + _MARGIN_SECONDS)
        if stopped is not None:
            _tell(screen, folder, *stopped)
            return
    screen.line(say("server.none", folder=folders[0]))
    screen.json({"stopped": None, "data_dir": str(folders[0])})


def _tell(screen: Screen, folder: Path, pid: int, url: str) -> None:
    screen.bullet(say("server.stopped", url=url, pid=pid, folder=folder))
    screen.json({"stopped": {"url": url, "pid": pid}, "data_dir": str(folder)})
