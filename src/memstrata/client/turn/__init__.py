"""Turn capture: each turn of an agent handed to memory once, however often its run is interrupted, resumed or repeated."""

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
