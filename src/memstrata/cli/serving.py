"""`serve`: the server in the foreground."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from memstrata import __version__
from memstrata.cli.admin import DEFAULT_INSTANCE, admin_key_file, first_admin, tell_of_older
from memstrata.cli.distilling import distiller_state
from memstrata.cli.logs import LogFormat, write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.proxying import proxy_beside
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.memory import Memory
from memstrata.server import serve as serve_until_signalled

__all__ = ["serve"]


def serve(
    screen: Screen, place: Place, *, host: str | None, port: int | None, quiet: bool, log_format: LogFormat
) -> None:
    """Serve until a signal says stop. Raises Misconfigured if the address or the data folder cannot be used.

    The first start of a folder makes an administrator and says where the key is, never the key itself.
    """
    flags = {"server.host": host, "server.port": port}
    settings, _ = read_settings(place.data_dir, place.config, flags)
    write_logs("warning" if quiet and settings.log_level == "info" else settings.log_level, log_format)

    key_files: list[Path] = []

    def announce(url: str) -> None:
        distiller = distiller_state(settings)
        if not quiet:
            screen.bullet(
                say("server.ready", version=__version__, url=url, folder=settings.data_dir, distiller=distiller)
            )
            for file in key_files:
                screen.bullet(say("admin.first", file=file))
                tell_of_older(screen, file, admin_key_file(settings.data_dir, DEFAULT_INSTANCE))
        screen.json({"url": url, "data_dir": str(settings.data_dir), "version": __version__, "distiller": distiller})
        sys.stdout.flush()

    @asynccontextmanager
    async def open_memory() -> AsyncIterator[Memory]:
        async with Memory.open(settings=settings) as memory:
            made = await first_admin(memory.directory.bootstrap, settings.data_dir)
            if made is not None:
                key_files.append(made)
            yield memory

    beside = proxy_beside(settings) if settings.proxy.enabled else None
    serve_until_signalled(open_memory, settings.server, on_ready=announce, beside=beside)
