"""`serve`: the server in the foreground."""

from __future__ import annotations

import sys
from contextlib import AbstractAsyncContextManager

from memstrata import __version__
from memstrata.cli.distilling import distiller_state
from memstrata.cli.logs import LogFormat, write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.memory import Memory
from memstrata.server import serve as serve_until_signalled

__all__ = ["serve"]


def serve(
    screen: Screen, place: Place, *, host: str | None, port: int | None, quiet: bool, log_format: LogFormat
) -> None:
    """Serve until a signal says stop. Raises Misconfigured if the address or the data folder cannot be used."""
    flags = {"server.host": host, "server.port": port}
    settings, _ = read_settings(place.data_dir, place.config, flags)
    write_logs("warning" if quiet and settings.log_level == "info" else settings.log_level, log_format)

    def announce(url: str) -> None:
        distiller = distiller_state(settings)
        if not quiet:
            screen.bullet(
                say("server.ready", version=__version__, url=url, folder=settings.data_dir, distiller=distiller)
            )
        screen.json({"url": url, "data_dir": str(settings.data_dir), "version": __version__, "distiller": distiller})
        sys.stdout.flush()

    def open_memory() -> AbstractAsyncContextManager[Memory]:
        return Memory.open(settings=settings)

    serve_until_signalled(open_memory, settings.server, on_ready=announce)
