"""Counters of the HTTP layer and of every component, in Prometheus' text form.

A request adds to plain numbers; the client library is loaded by the first scrape, because importing it costs more than
the rest of the server's start together.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memstrata.records import Health
from memstrata.server.envelope import Answer

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

__all__ = ["Metrics"]

BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds in seconds; a last one without bound follows."""


@dataclass(slots=True)
class _Latency:
    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    seconds: float = 0.0


class Metrics:
    """Requests by route and status, and their latency by route."""

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = {}
        self._latencies: dict[str, _Latency] = {}

    def observe(self, route: str, status: int, seconds: float) -> None:
        """Count one answered request. `route` is the path of a known route, never a path as it was sent."""
        key = (route, status)
        self._requests[key] = self._requests.get(key, 0) + 1
        latency = self._latencies.get(route)
        if latency is None:
            latency = self._latencies[route] = _Latency()
        latency.counts[bisect_left(BUCKETS, seconds)] += 1
        latency.seconds += seconds

    async def render(self, health: Health) -> Answer:
        """Return all counters as text, with the state and the numbers that each component reports."""
        return await asyncio.to_thread(self._render, health)

    def _render(self, health: Health) -> Answer:
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Snapshot(self._requests.copy(), self._copied(), health))
        return Answer(200, generate_latest(registry), (), CONTENT_TYPE_LATEST.encode())

    def _copied(self) -> dict[str, tuple[list[int], float]]:
        return {route: (latency.counts[:], latency.seconds) for route, latency in list(self._latencies.items())}


@dataclass(frozen=True, slots=True, eq=False)  # a collector is known by identity
class _Snapshot:
    """The numbers of one moment, as a collector."""

    requests: dict[tuple[str, int], int]
    latencies: dict[str, tuple[list[int], float]]
    health: Health

    def collect(self) -> Iterator[Metric]:
        from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests = CounterMetricFamily("memstrata_http_requests", "Answered requests.", labels=("route", "status"))
        for (route, status), count in self.requests.items():
            requests.add_metric((route, str(status)), count)
        yield requests

        latency = HistogramMetricFamily(
            "memstrata_http_request_duration_seconds", "Time from the request's head to its answer.", labels=("route",)
        )
        for route, (counts, seconds) in self.latencies.items():
            latency.add_metric((route,), _cumulative(counts), seconds)
        yield latency

        state = GaugeMetricFamily(
            "memstrata_component_state", "1 for the state it is in.", labels=("component", "state")
        )
        detail = GaugeMetricFamily("memstrata_component", "What a component counts.", labels=("component", "name"))
        for name, part in self.health.components.items():
            state.add_metric((name, part.state), 1)
            for key, value in part.details.items():
                if not isinstance(value, str):
                    detail.add_metric((name, key), value)
        yield state
        yield detail
        yield GaugeMetricFamily("memstrata_uptime_seconds", "Since the start.", value=self.health.uptime_seconds)


def _cumulative(counts: list[int]) -> list[tuple[str, float]]:
    total = 0
    buckets = []
    for bound, count in zip([*map(str, BUCKETS), "+Inf"], counts, strict=True):
        total += count
        buckets.append((bound, float(total)))
    return buckets
