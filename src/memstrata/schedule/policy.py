"""When to distill: pure decisions over counters and times.

Source: article 000 (warm-up, idle time, the three L2 times, the five L3 triggers) and DESIGN §5. No I/O, no clock: `now`
is an argument, and the counters come from rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from memstrata.clock import Instant, milliseconds
from memstrata.settings import PipelineSettings
from memstrata.store.shapes import ProfileState, SessionProgress

__all__ = ["Due", "deferred_due", "l1_due", "l1_threshold", "l2_due", "l3_reason", "next_warmup", "retry_due"]


_LONGEST_DEFERRAL = 300.0  # seconds


@dataclass(frozen=True, slots=True)
class Due:
    """When a job should run, and which rule says so."""

    at: Instant
    reason: str


def l1_threshold(warmup: int, settings: PipelineSettings) -> int:
    """Return how many rounds start L1 in a session that has come this far in its warm-up."""
    return min(warmup, settings.every_n) if settings.warmup else settings.every_n


def next_warmup(warmup: int, settings: PipelineSettings) -> int:
    """Return the warm-up after a run that succeeded: 1, 2, 4 … up to `every_n`."""
    return min(max(warmup, 1) * 2, settings.every_n)


def l1_due(progress: SessionProgress, settings: PipelineSettings, now: Instant) -> Due | None:
    """Return when L1 should run: at once past the threshold, else after the idle time; None if nothing waits."""
    if progress.pending_messages == 0:
        return None
    if progress.pending_rounds >= l1_threshold(progress.warmup, settings):
        return Due(now, "threshold")
    return Due(progress.last_message_at + milliseconds(settings.l1_idle_seconds), "idle")


def l2_due(state: ProfileState, settings: PipelineSettings, now: Instant) -> Due | None:
    """Return when L2 should run: soon after L1, not too often, and not too late while the agent is active."""
    if state.unconsumed == 0:
        return None
    due = Due(now + milliseconds(settings.l2_delay_seconds), "delay")
    earliest = state.scenes_at + milliseconds(settings.l2_min_interval_seconds)
    if state.scenes_at and earliest > due.at:
        due = Due(earliest, "interval")
    active = now - state.last_message_at <= milliseconds(settings.active_hours * 3600)
    if active and state.oldest_unconsumed_at is not None:
        latest = state.oldest_unconsumed_at + milliseconds(settings.l2_max_interval_seconds)
        if latest < due.at:
            due = Due(max(latest, now), "waited long enough")
    return due


def l3_reason(state: ProfileState, settings: PipelineSettings) -> str | None:
    """Return why the portrait should be drawn now, by priority; None if it should not."""
    if state.scenes == 0:
        return None
    body = state.persona.body.strip() if state.persona else ""
    if state.persona_request:
        return f"asked for by L2: {state.persona_request}"
    if not body:
        return "body lost" if state.portrayed_at else "cold start"
    if state.portrayed_at == 0:
        return "a persona was there before the first scenes"
    if state.memories_since_portrait >= settings.persona_every_n:
        return f"{state.memories_since_portrait} new memories"
    return None


def retry_due(attempt: int, settings: PipelineSettings, now: Instant, least_seconds: float | None) -> Due | None:
    """Return when a job that failed for the `attempt`-th time should run again; None when it has had its tries.

    Waits 1, 3, 9 … times `retry_seconds`, or `least_seconds` if that is longer (a server said so).
    """
    if attempt >= settings.attempts:
        return None
    wait = max(settings.retry_seconds * 3 ** (attempt - 1), least_seconds or 0.0)
    return Due(now + milliseconds(wait), f"attempt {attempt} failed")


def deferred_due(deferrals: int, settings: PipelineSettings, now: Instant, least_seconds: float | None) -> Due:
    """Return when a job that was put off for the `deferrals`-th time in a row should run again: it has no last try.

    Waits 1, 2, 4 … times `retry_seconds`, five minutes at most, or `least_seconds` if that is longer.
    """
    wait = min(settings.retry_seconds * 2 ** min(deferrals - 1, 20), max(_LONGEST_DEFERRAL, settings.retry_seconds))
    return Due(now + milliseconds(max(wait, least_seconds or 0.0)), "put off")
