"""Turn capture: each turn of an agent handed to memory once, however often its run is interrupted, resumed or repeated.

Names load on first use: a hook that only cleans a prompt does not wait for `httpx`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memstrata.client._lazy import homes, loader

if TYPE_CHECKING:
    from memstrata.client.turn.blocking import TurnRecorder
    from memstrata.client.turn.cleaning import RULES, clean
    from memstrata.client.turn.formats import (
        Views,
        view_anthropic,
        view_langchain,
        view_openai_chat,
        view_openai_responses,
        view_plain,
    )
    from memstrata.client.turn.langgraph_store import LangGraphWatermarkStore
    from memstrata.client.turn.messages import MessageView, Seen
    from memstrata.client.turn.recorder import AsyncTurnRecorder, TurnIds
    from memstrata.client.turn.redis_store import RedisWatermarkStore
    from memstrata.client.turn.slicing import CaptureRules
    from memstrata.client.turn.sqlite_store import SqliteWatermarkStore
    from memstrata.client.turn.status import Outcome, RecorderStatus
    from memstrata.client.turn.store import BlockingWatermarkStore, InThread, MemoryWatermarkStore, WatermarkStore
    from memstrata.client.turn.watermark import Turn

__all__ = [
    "RULES",
    "AsyncTurnRecorder",
    "BlockingWatermarkStore",
    "CaptureRules",
    "InThread",
    "LangGraphWatermarkStore",
    "MemoryWatermarkStore",
    "MessageView",
    "Outcome",
    "RecorderStatus",
    "RedisWatermarkStore",
    "Seen",
    "SqliteWatermarkStore",
    "Turn",
    "TurnIds",
    "TurnRecorder",
    "Views",
    "WatermarkStore",
    "clean",
    "view_anthropic",
    "view_langchain",
    "view_openai_chat",
    "view_openai_responses",
    "view_plain",
]

_HOMES = homes(
    {
        "blocking": "TurnRecorder",
        "cleaning": "RULES clean",
        "formats": "Views view_anthropic view_langchain view_openai_chat view_openai_responses view_plain",
        "langgraph_store": "LangGraphWatermarkStore",
        "messages": "MessageView Seen",
        "recorder": "AsyncTurnRecorder TurnIds",
        "redis_store": "RedisWatermarkStore",
        "slicing": "CaptureRules",
        "sqlite_store": "SqliteWatermarkStore",
        "status": "Outcome RecorderStatus",
        "store": "BlockingWatermarkStore InThread MemoryWatermarkStore WatermarkStore",
        "watermark": "Turn",
    }
)

__getattr__ = loader(__name__, globals(), _HOMES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
