"""What the proxy keeps of a client's session: its binding, its system block, its ledger, its turns, what it cost.

A session belongs to one user of one instance at one client. `ProxySession` names all four, and every question to the store
takes one: a hit of another user or another instance cannot be expressed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from memstrata.clock import Instant
from memstrata.errors import InvalidRequest
from memstrata.records.scope import check_id

__all__ = [
    "MOST_FORM_BYTES",
    "BindingOutcome",
    "Bound",
    "DefaultBinding",
    "LedgerEntry",
    "MainPrompt",
    "NewTurn",
    "ProxySession",
    "ProxySnapshot",
    "ProxyTokens",
    "ProxyUsage",
    "RateKey",
    "RateSum",
    "ShownMemory",
    "Turn",
    "TurnCounts",
    "TurnState",
]

BindingOutcome = Literal["bound", "declined", "asking"]
"""Whether a session has its memory, its user wanted none, or a form is open."""
TurnState = Literal["open", "ready", "delivered", "parked"]
"""Under way; waits to be sent to the core; is there; was refused for good and waits for the operator."""

MOST_FORM_BYTES: Final = 256 << 10


@dataclass(frozen=True, slots=True)
class ProxySession:
    """One session of one client. Raises InvalidRequest where a part is blank, too long, or no well-formed text."""

    instance: str
    user: str
    client: str
    session: str

    def __post_init__(self) -> None:
        for part in ("instance", "user", "client", "session"):
            check_id(getattr(self, part), part)


@dataclass(frozen=True, slots=True)
class MainPrompt:
    """Digests of the session's last main request: tools, system prompt, what was said first. Empty: none yet."""

    tools: str = ""
    system: str = ""
    first: str = ""


@dataclass(frozen=True, slots=True)
class Bound:
    """What a session is bound to. `form` is the state of an open form, opaque to the store.

    `recall_off` and `write_off` are the session's own switches. `version`, `created_at` and `touched_at` are the store's:
    a version grows with every `put`. Raises InvalidRequest for a form of more than MOST_FORM_BYTES, and for a binding
    without team or agent.
    """

    outcome: BindingOutcome
    team: str = ""
    agent: str = ""
    task: str = ""
    form: bytes = b""
    recall_off: bool = False
    write_off: bool = False
    main: MainPrompt = MainPrompt()
    version: int = 0
    created_at: Instant = 0
    touched_at: Instant = 0

    def __post_init__(self) -> None:
        if len(self.form) > MOST_FORM_BYTES:
            raise InvalidRequest(f"at most {MOST_FORM_BYTES} bytes, got {len(self.form)}", field="form")
        if self.outcome == "bound" and not (self.team and self.agent):
            raise InvalidRequest("a binding needs a team and an agent", field="agent")


@dataclass(frozen=True, slots=True)
class DefaultBinding:
    """What sessions of a user are bound to where nobody says otherwise. `task` may be empty."""

    team: str
    agent: str
    task: str = ""


@dataclass(frozen=True, slots=True)
class ProxySnapshot:
    """The block that stands at the end of a session's system prompt, as UTF-8, with its SHA-256 in hex."""

    block: bytes
    sha256: str
    created_at: Instant


@dataclass(frozen=True, slots=True)
class ShownMemory:
    """A memory that stands in a block. `digest` tells its wording from a later one of the same memory."""

    memory_id: str
    digest: str


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """What was put into one message of a conversation: the JSON bytes as they went out, empty for nothing.

    `chain` is the hash of the conversation up to and with that message. An entry is never changed, only emptied.
    """

    chain: bytes
    block: bytes
    shown: tuple[ShownMemory, ...] = ()
    created_at: Instant = 0


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A question that was asked. `turn_id` is the same whenever the same question at the same place is seen."""

    turn_id: str
    question: str
    team: str
    agent: str
    task: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer on the way to the core. Once delivered it holds no text any more.

    `complete`: the final answer was seen, else what there was of it. `answered`: the provider accepted at least one
    request of it. `error` says why it was not delivered.
    """

    turn_id: str
    session: ProxySession
    team: str
    agent: str
    task: str
    question: str
    answer: str
    state: TurnState
    complete: bool
    answered: bool
    opened_at: Instant
    touched_at: Instant
    attempts: int = 0
    due_at: Instant = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class TurnCounts:
    """How many turns are in each state but delivered; when the oldest that waits to be sent was opened, if one waits."""

    by_state: Mapping[TurnState, int]
    oldest_ready_at: Instant | None


@dataclass(frozen=True, slots=True)
class ProxyTokens:
    """Tokens as the provider counted them, of so many requests. `input` is without those of its cache."""

    requests: int = 0
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0

    def __add__(self, other: ProxyTokens) -> ProxyTokens:
        return ProxyTokens(
            self.requests + other.requests,
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
        )


@dataclass(frozen=True, slots=True)
class ProxyUsage:
    """The sum of one user, model and day. `user` is empty where its user was forgotten; `day` is YYYY-MM-DD, UTC."""

    instance: str
    user: str
    model: str
    day: str
    tokens: ProxyTokens


@dataclass(frozen=True, slots=True)
class RateKey:
    """What a rate limit is for. `key` is whatever is limited, never the credential itself."""

    instance: str
    key: str
    model: str


@dataclass(frozen=True, slots=True)
class RateSum:
    """What went through in a window. `oldest_at` is when the first of it came, None where nothing did."""

    requests: int = 0
    input_tokens: int = 0
    oldest_at: Instant | None = None
