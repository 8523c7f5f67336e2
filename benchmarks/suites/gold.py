"""Whether search finds what it should, among a hundred thousand rows that are in its way: hit@1 and hit@5 of 200 facts."""

from __future__ import annotations

from benchmarks.bench import L1_OFF, SCOPE, Bench
from benchmarks.dataset import Gold, gold
from benchmarks.driver import Call, Client

__all__ = ["measure"]

_LIMIT = 5
_LAYERS = {"memories": ("/v3/atomic/search", "items"), "messages": ("/v3/conversation/search", "messages")}


async def measure(bench: Bench) -> None:
    """Ask each of the 200 questions once, of memories and of messages."""
    facts = gold()
    async with bench.serve(await bench.loaded([SCOPE], bench.rows), L1_OFF) as server, Client(server) as client:
        for layer in _LAYERS:
            found = [await _found(client, layer, one) for one in facts]
            first = [texts[:1] == [one.fact] for one, texts in zip(facts, found, strict=True)]
            any_of_five = [one.fact in texts for one, texts in zip(facts, found, strict=True)]
            for name, hits in (("hit_at_1", first), ("hit_at_5", any_of_five)):
                by_language = {
                    language: _share([hit for hit, one in zip(hits, facts, strict=True) if one.language == language])
                    for language in ("zh", "en")
                }
                bench.record.figure(f"gold.{bench.large}.{layer}.{name}", _share(hits), **by_language)


async def _found(client: Client, layer: str, one: Gold) -> list[str]:
    path, key = _LAYERS[layer]
    ids = {"team_id": SCOPE.team, "agent_id": SCOPE.agent, "user_id": SCOPE.user}
    answer = await client.ask(Call(path, {**ids, "query": one.question, "limit": _LIMIT}))
    return [item["content"] for item in answer[key]]


def _share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)
