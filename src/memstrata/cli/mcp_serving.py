"""`mcp`: memory over standard input and output, of a server or of the data folder itself.

Where no server has the folder it is opened here and distilled as `serve` would, since nothing else does it meanwhile.
"""

from __future__ import annotations

import asyncio

from memstrata import __version__
from memstrata.cli.connect import connected
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place
from memstrata.cli.words import Language, say
from memstrata.errors import Misconfigured
from memstrata.mcp import is_available
from memstrata.mcp.confirmation import Owner

__all__ = ["serve_mcp"]


def serve_mcp(place: Place, language: Language | None) -> None:
    """Serve until the client closes its end. Raises Misconfigured without the extra, and what `connected` raises."""
    if not is_available():
        raise Misconfigured(say("mcp.missing"))
    write_logs("warning")
    asyncio.run(_serve(place, language))


async def _serve(place: Place, language: Language | None) -> None:
    from memstrata.mcp.calls import Caller
    from memstrata.mcp.stdio import serve_stdio

    owner = Owner(place.instance, place.team, place.agent, place.user)
    async with connected(place, creates=True, distills=True, embeds=True) as connection:
        words = language or connection.settings.server.mcp_language
        await serve_stdio(Caller(connection.client, owner), words, __version__)
