"""Every watermark store keeps the same promises: memory, a file, and what redis-py and LangGraph offer by their shape."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memstrata.client.turn import (
    LangGraphWatermarkStore,
    MemoryWatermarkStore,
    RedisWatermarkStore,
    SqliteWatermarkStore,
    WatermarkStore,
)
from memstrata.client.turn import store as stores


class BlockingRedis:
    """The commands that are used, as redis-py has them: bytes come back."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.expiries: dict[str, int | None] = {}

    def get(self, key: str) -> bytes | None:
        return self.values.get(key)

    def set(self, key: str, value: str, ex: int | None = None) -> None:
        self.values[key] = value.encode()
        self.expiries[key] = ex

    def delete(self, key: str) -> None:
        self.values.pop(key, None)

    def scan_iter(self, match: str) -> Iterator[bytes]:
        return (key.encode() for key in [*self.values, *self.values] if fnmatchcase(key, match))


class AsyncRedis:
    def __init__(self) -> None:
        self.inner = BlockingRedis()

    async def get(self, key: str) -> bytes | None:
        return self.inner.get(key)

    async def set(self, key: str, value: str, ex: int | None = None) -> None:
        self.inner.set(key, value, ex)

    async def delete(self, key: str) -> None:
        self.inner.delete(key)

    async def scan_iter(self, match: str) -> AsyncIterator[bytes]:
        for key in self.inner.scan_iter(match):
            yield key

    async def aclose(self) -> None:
        return


class GraphStore:
    """`BaseStore`: namespaces are tuples whose parts are not empty and hold no dot; values are mappings."""

    supports_ttl = True

    def __init__(self) -> None:
        self.items: dict[tuple[tuple[str, ...], str], dict[str, Any]] = {}
        self.minutes: list[float | None] = []

    async def aget(self, namespace: tuple[str, ...], key: str) -> Any:
        value = self.items.get((namespace, key))
        return None if value is None else SimpleNamespace(value=value, key=key, namespace=namespace)

    async def aput(
        self, namespace: tuple[str, ...], key: str, value: dict[str, Any], index: bool, ttl: float | None = None
    ) -> None:
        assert not index
        assert all(part and "." not in part for part in namespace)
        self.items[namespace, key] = value
        self.minutes.append(ttl)

    async def adelete(self, namespace: tuple[str, ...], key: str) -> None:
        self.items.pop((namespace, key), None)

    async def asearch(self, prefix: tuple[str, ...], limit: int) -> list[Any]:
        found = [place for place in self.items if place[0][: len(prefix)] == prefix][:limit]
        return [SimpleNamespace(namespace=namespace, key=key) for namespace, key in found]


@pytest.fixture(params=["memory", "sqlite", "redis", "redis asyncio", "langgraph"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> WatermarkStore:
    match request.param:
        case "memory":
            return MemoryWatermarkStore()
        case "sqlite":
            return SqliteWatermarkStore(tmp_path / "turns.db")
        case "redis":
            return RedisWatermarkStore(BlockingRedis())
        case "redis asyncio":
            return RedisWatermarkStore(AsyncRedis())
        case _:
            return LangGraphWatermarkStore(GraphStore())


async def test_a_text_is_found_under_its_key_until_it_is_deleted(kept: WatermarkStore) -> None:
    assert await kept.get("mark/t/1") is None
    await kept.put("mark/t/1", "一 🌳", 60)
    await kept.put("mark/t/1", "二 🌳", 60)
    await kept.put("pointer/t", "1", None)
    assert await kept.get("mark/t/1") == "二 🌳"

    await kept.delete("mark/t/1")
    await kept.delete("mark/t/1")
    assert await kept.get("mark/t/1") is None
    assert await kept.get("pointer/t") == "1"


async def test_keys_are_listed_by_prefix_sorted_and_once(kept: WatermarkStore) -> None:
    for key in ("outbox/3", "outbox/1", "outbox/2", "outboxes/4", "mark/t/1"):
        await kept.put(key, "x", None)
    assert await kept.keys("outbox/") == ["outbox/1", "outbox/2", "outbox/3"]
    assert await kept.keys("nothing/") == []


async def test_a_text_in_a_file_may_go_after_its_time(tmp_path: Path) -> None:
    now = [1_000.0]
    kept = SqliteWatermarkStore(tmp_path / "turns.db", now=lambda: now[0])
    await kept.put("mark/a", "x", 60)
    await kept.put("outbox/a", "y", None)
    now[0] += 61
    assert await kept.get("mark/a") is None
    assert await kept.get("outbox/a") == "y"
    assert await kept.keys("mark/") == []


async def test_times_reach_the_libraries_in_their_own_units() -> None:
    redis, graph = BlockingRedis(), GraphStore()
    await RedisWatermarkStore(redis, "p:").put("mark/a", "x", 120)
    await LangGraphWatermarkStore(graph).put("mark/a", "x", 120)
    await LangGraphWatermarkStore(graph).put("outbox/a", "x", None)
    assert redis.expiries == {"p:mark/a": 120}
    assert graph.minutes == [2.0, None]


async def test_processes_share_one_file(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    script = (
        "import asyncio, sys\n"
        "from memstrata.client.turn import SqliteWatermarkStore\n"
        "async def main():\n"
        "    store = SqliteWatermarkStore(sys.argv[1])\n"
        "    for number in range(20):\n"
        "        await store.put(f'outbox/{sys.argv[2]}-{number:02d}', 'x', None)\n"
        "asyncio.run(main())\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", script, str(path), name]) for name in ("a", "b")]

    assert [one.wait(60) for one in running] == [0, 0]
    assert len(await SqliteWatermarkStore(path).keys("outbox/")) == 40


async def test_a_full_store_of_a_process_drops_what_may_go_and_refuses_beyond(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_ENTRIES", 2)
    kept = MemoryWatermarkStore()
    await kept.put("mark/a", "x", 60)
    await kept.put("outbox/a", "x", None)
    await kept.put("outbox/b", "x", None)
    assert await kept.get("mark/a") is None
    with pytest.raises(OverflowError):
        await kept.put("outbox/c", "x", None)


def test_names_that_a_library_would_misread_are_refused() -> None:
    with pytest.raises(ValueError, match="pattern"):
        RedisWatermarkStore(BlockingRedis(), "p*:")
    with pytest.raises(ValueError, match="dot"):
        LangGraphWatermarkStore(GraphStore(), "a.b")


async def test_a_broken_file_is_an_error_and_not_an_empty_store(tmp_path: Path) -> None:
    path = tmp_path / "turns.db"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(Exception, match="not a database"):
        await SqliteWatermarkStore(path).get("mark/a")
