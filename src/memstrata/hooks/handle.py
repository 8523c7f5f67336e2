"""What a hook does at each event: recall where a session or a turn begins, capture where a turn ends.

A user's words are taken from the prompt event and nowhere else, so nothing that was injected comes back as something that
was said. A turn is written down before it is sent, under ids made of session, turn and text: a second hook, a second
try, a second process change nothing. Turns of a time without a server are sent at the end of a later one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from memstrata.client._splitting import shortened
from memstrata.client._times import wire_time
from memstrata.client.turn.cleaning import clean
from memstrata.client.turn.fingerprints import digest
from memstrata.hooks.event import Event
from memstrata.hooks.place import Place
from memstrata.hooks.server import Refused, Server
from memstrata.hooks.spool import Prompt, Spool
from memstrata.hooks.transcript import last_answer

__all__ = ["OUTCOMES", "Done", "handle"]

MAX_QUERY = 2_000  # characters; the server takes 2,048
LIMIT = 8  # memories
TOKENS = 2_400  # the clients show 10,000 characters of a hook whole, and the start of anything longer
ABANDONED_SECONDS = 86_400.0
FORGOTTEN_SECONDS = 90 * 86_400.0
OUTCOMES = frozenset(
    {"recalled", "nothing found", "captured", "nothing new", "skipped", "no server", "refused", "failed"}
)
_UNASKED = "-"  # the server wants a query, also where it looks nothing up


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an event: text for the model, and why it is not more. `outcome` is one of OUTCOMES."""

    outcome: str
    reason: str = ""
    context: str = ""


def handle(event: Event, place: Place, spool: Spool, server: Server, now: Callable[[], float] = time.time) -> Done:
    """Do what an event asks for. `now` is in seconds since 1970. Raises NoServer, Refused, OSError."""
    if event.is_subagent:
        return Done("skipped", "a sub-agent speaks to its agent, not to the user")
    match event.name:
        case "SessionStart":
            return _start(event, server)
        case "UserPromptSubmit":
            return _ask(event, place, spool, server, now)
        case "Stop":
            return _end(event, place, spool, server, now)
        case _:
            return Done("skipped", "nothing is done at this event")


def _start(event: Event, server: Server) -> Done:
    if event.source == "resume":
        return Done("skipped", "a resumed session has its context already")
    found = server.recall(_UNASKED, ("persona", "scenes"), LIMIT, TOKENS)
    return _recalled(found.get("append_system_context"), found.get("degraded"))


def _ask(event: Event, place: Place, spool: Spool, server: Server, now: Callable[[], float]) -> Done:
    said = clean("user", event.prompt)
    if not said:
        return Done("skipped", "the user said nothing to remember")
    turn = event.turn or str(spool.turns_ended(event.session))
    identity = digest(place.client, event.session, turn, said)
    spool.record(Prompt(identity, event.session, said, _iso(now())))
    found = server.recall(shortened(said, MAX_QUERY), ("memories",), LIMIT, TOKENS)
    return _recalled(found.get("prepend_context"), found.get("degraded"))


def _recalled(block: object, degraded: object) -> Done:
    reason = "; ".join(str(part) for part in degraded) if isinstance(degraded, list) else ""
    if not isinstance(block, str) or not block.strip():
        return Done("nothing found", reason or "memory holds nothing that bears on this")
    return Done("recalled", reason, block)


def _end(event: Event, place: Place, spool: Spool, server: Server, now: Callable[[], float]) -> Done:
    prompts, ended = spool.prompts(event.session), spool.turns_ended(event.session)
    reason = ""
    if prompts or event.is_continued:
        try:
            answer = clean(
                "assistant", event.answer or (last_answer(Path(event.transcript)) if event.transcript else "")
            )
        except OSError as error:
            answer, reason = "", f"the transcript cannot be read: {type(error).__name__}"
        if prompts:
            ended += 1
        _park(place, spool, event.session, prompts, answer, event.turn or str(ended), now())
        spool.end_turn(event.session, ended)
        spool.remove(prompts)
    for session, left_over in spool.abandoned(now() - ABANDONED_SECONDS):
        _park(place, spool, session, left_over, "", "", now())
        spool.remove(left_over)
    spool.drop_sessions(now() - FORGOTTEN_SECONDS)
    sent = _deliver(spool, server)
    if not prompts and not event.is_continued:
        return Done("skipped", "no prompt of this turn was recorded")
    return Done("captured" if sent else "nothing new", reason)


def _park(place: Place, spool: Spool, session: str, prompts: list[Prompt], answer: str, turn: str, now: float) -> None:
    # Loaded here: what the other events do not need they do not wait for.
    from memstrata.client.turn.batches import batches
    from memstrata.client.turn.parcel import Address, Parcel, encode_parcel
    from memstrata.client.turn.slicing import Said

    said = [Said(prompt.id, "user", prompt.text, prompt.said_at) for prompt in prompts]
    if answer:
        said.append(Said(digest(place.client, session, turn), "assistant", answer, _iso(now)))
    sent = batches(said)
    if not sent:
        return
    name = f"{int(now * 1000):013d}-{digest(session, turn, *(one.id for batch in sent for one in batch.messages))}"
    address = Address(place.team, place.agent, place.user, session)
    spool.park(name, encode_parcel(Parcel(name, address, session, turn, sent)))


def _deliver(spool: Spool, server: Server) -> int:
    """Send what waits, the oldest first; return how many turns went. Raises NoServer or Refused where it must wait."""
    from memstrata.client.turn.parcel import decode_parcel

    sent = 0
    for file in spool.parked():
        try:
            parcel = decode_parcel(file.read_text("utf-8", "surrogatepass"))
        except FileNotFoundError:
            continue  # another hook has sent it
        except ValueError:
            spool.set_aside(file)
            continue
        try:
            for batch in parcel.batches:
                fields = ("id", "role", "content", "timestamp")
                messages = [{name: getattr(one, name) for name in fields} for one in batch.messages]
                server.add(parcel.address.session, batch.key, messages)
        except Refused as refused:
            if not refused.is_final:
                raise
            spool.set_aside(file)
            continue
        file.unlink(missing_ok=True)
        sent += 1
    return sent


def _iso(now: float) -> str:
    return wire_time(datetime.fromtimestamp(now, UTC))
