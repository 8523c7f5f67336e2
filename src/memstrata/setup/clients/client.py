"""What setup must know of a client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from memstrata.setup.change import Change, Launch

__all__ = ["Changes", "Client", "Kind"]

Kind: TypeAlias = Literal["hooks", "mcp", "proxy"]
Changes: TypeAlias = Callable[[Mapping[str, str], Path, Launch], Mapping[Kind, tuple[Change, ...]]]


@dataclass(frozen=True, slots=True)
class Client:
    """`changes` are made of the environment, the home folder and the command. `usual` is what is set up unasked.

    `advice` names what the user must still do, `proxy_advice` the same where it was set up to speak to the proxy; the command
    line has the sentences.
    """

    name: str
    usual: Kind
    changes: Changes
    advice: tuple[str, ...] = ()
    proxy_advice: tuple[str, ...] = ()
