"""The one retrieval function over a real store: any query, every script, statistics of the scope alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC

import pytest

from memstrata.records import Found, MemoryRecord, NewMemory, NewMessage, Scope
from memstrata.search import MEMORIES, MESSAGES, Finder, Meaning
from memstrata.settings import EmbeddingSettings, RecallSettings
from memstrata.store.protocol import Repositories
from memstrata.store.shapes import MemoryFilter, MessageFilter
from memstrata.store.sqlite.store import SqliteStore
from memstrata.testing import FakeClock

Build = Callable[..., NewMemory]
MAX_SEARCH = 2_048


async def keep(store: SqliteStore, scope: Scope, memories: Sequence[NewMemory]) -> None:
    profile = scope.profile("agent")

    def work(r: Repositories) -> None:
        for memory in memories:
            r.memories.add(scope, profile, memory)

    await store.write(work)


async def find(
    store: SqliteStore, scope: Scope, query: str, where: MemoryFilter | None = None, limit: int = 5
) -> Found[MemoryRecord]:
    return await finder(store).find(MEMORIES, scope, query, where or MemoryFilter(), limit, weighted=False)


def finder(store: SqliteStore) -> Finder:
    clock = FakeClock()
    meaning = Meaning(None, store, store.vector_rows, EmbeddingSettings(), clock, store.folder)
    return Finder(store, clock, UTC, RecallSettings(), meaning)


async def texts(store: SqliteStore, scope: Scope, query: str) -> list[str]:
    return [hit.item.content for hit in (await find(store, scope, query)).hits]


async def test_a_small_tenant_beside_a_huge_one_finds_the_same_with_the_same_scores(
    store: SqliteStore, scope: Scope, new_memory: Build
) -> None:
    """Invariant 4: no foreign row is counted in a ranking, not even where scores are equal."""
    words = ["tea", "rain", "moon", "city", "honey", "mint", "river", "cloud", "train", "music"]
    own = [" ".join(words[(n * step) % 10] for step in range(1, 3 + n % 7)) + f" {n}" for n in range(120)]
    await keep(store, scope, [new_memory(text) for text in own])
    queries = [*words[:4], "honey tea", "rain over the city", "music in the train along the river", "moon moon cloud"]
    alone = [await find(store, scope, query) for query in queries]
    assert all(found.hits for found in alone)

    stranger = replace(scope, user="huge")
    foreign = [new_memory(f"{words[n % 10]} {words[n % 7]} " * (1 + n % 9) + str(n)) for n in range(3_000)]
    await keep(store, stranger, foreign)

    assert [await find(store, scope, query) for query in queries] == alone


async def test_filters_work_inside_the_index_and_not_after_the_cut(
    store: SqliteStore, scope: Scope, new_memory: Build
) -> None:
    crowd = [new_memory("tea " * (1 + n % 3) + str(n), type="episodic", task_id="crowd") for n in range(300)]
    wanted = new_memory(
        "one long memory about many other things that mentions tea once", type="persona", task_id="t", updated_at=5
    )
    await keep(store, scope, [*crowd, wanted])

    for where in (MemoryFilter(type="persona"), MemoryFilter(task_id="t"), MemoryFilter(since=5, until=5)):
        found = await find(store, scope, "tea", where)
        assert [hit.item.memory_id for hit in found.hits] == [wanted.memory_id]
    assert (await find(store, scope, "tea", MemoryFilter(type="instruction"))).hits == ()


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        '"',
        '"""""',
        "'; DROP TABLE memories; --",
        "tea AND",
        "NEAR(tea, 3)",
        "tea OR NOT (",
        "terms : tea",
        "^tea*",
        "a-b-c +d -e",
        "{[(<>)]}",
        "\\",
        "%_",
        "\x00",
        "\u200b\u202e",
        "🍵",
        "👩‍👩‍👧‍👦" * 50,
        "tea " * 512,
        "茶" * MAX_SEARCH,
        "x" * MAX_SEARCH,
        "\n\t\r",
        "NULL",
        "1=1",
    ],
)
async def test_any_text_is_a_query(store: SqliteStore, scope: Scope, new_memory: Build, query: str) -> None:
    await keep(store, scope, [new_memory("green tea"), new_memory("🍵 is an emoji")])

    found = await find(store, scope, query)
    assert all(0 < hit.score <= 1 for hit in found.hits)
    messages = await finder(store).find(MESSAGES, scope, query, MessageFilter(), 5)
    assert messages.hits == ()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("用户住在里斯本，喜欢绿茶", "绿茶"),
        ("用户住在里斯本，喜欢绿茶", "里斯本"),
        ("用戶喜歡繁體中文的介面", "介面"),
        ("東京の大学で日本語を勉強しています", "日本語"),
        ("コーヒーよりお茶が好きです", "コーヒー"),
        ("저는 서울에서 회사에 다닙니다", "서울"),
        ("ฉันชอบดื่มกาแฟทุกเช้า", "กาแฟ"),
        ("أسكن في مدينة لشبونة وأحب الشاي", "الشاي"),
        ("Я живу в Лиссабоне и пью чай", "чай"),
        ("我用 VSCode 写 Python，项目在 ~/work/memstrata", "vscode"),
        ("我用 VSCode 写 Python，项目在 ~/work/memstrata", "memstrata"),
        ("Meeting with 王小明 about the Q3-report.pdf", "王小明"),
        ("Meeting with 王小明 about the Q3-report.pdf", "report"),
        ("Le café est fermé à Noël", "cafe"),
        ("Ich trinke gern grünen Tee", "grünen"),
        ("The builds were failing on 3.11.7", "build"),
        ("Flat 🍵 white", "🍵"),
    ],
)
async def test_one_word_finds_a_statement_in_any_script(
    store: SqliteStore, scope: Scope, new_memory: Build, text: str, word: str
) -> None:
    noise = ["something else entirely", "完全无关的内容", "まったく別の話", "совсем другое"]
    await keep(store, scope, [new_memory(one) for one in (*noise, text)])

    assert await texts(store, scope, word) == [text]


async def test_a_nonsense_query_finds_nothing(store: SqliteStore, scope: Scope, new_memory: Build) -> None:
    await keep(store, scope, [new_memory("green tea in the morning"), new_memory("早上喝绿茶")])

    for query in ("zxqvw kjhgf", "的了吗", "？！。", "qqqq 🜁"):
        assert await texts(store, scope, query) == []


async def test_what_repeats_a_better_result_is_left_out(store: SqliteStore, scope: Scope, new_memory: Build) -> None:
    same = ["I drink green tea every morning", "I drink green tea, every morning!", "every morning I drink green tea"]
    await keep(store, scope, [new_memory(text) for text in (*same, "green tea grows in Japan")])

    found = await texts(store, scope, "green tea morning")
    assert len(found) == 2
    assert "green tea grows in Japan" in found


async def test_the_rare_word_of_a_question_decides(store: SqliteStore, scope: Scope, new_memory: Build) -> None:
    crowd = [new_memory(f"the user likes thing number {n}") for n in range(400)]
    await keep(store, scope, [*crowd, new_memory("the user likes marzipan")])

    assert (await texts(store, scope, "what does the user likes: marzipan"))[0] == "the user likes marzipan"


async def test_the_limit_holds_and_the_best_come_first(store: SqliteStore, scope: Scope, new_memory: Build) -> None:
    await keep(store, scope, [new_memory(f"tea with {word}") for word in ("milk", "lemon", "honey", "mint", "ice")])

    found = await find(store, scope, "tea with mint", limit=3)
    assert len(found.hits) == 3
    assert found.hits[0].item.content == "tea with mint"
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)
    assert all(hit.legs == {"keyword": hit.score} for hit in found.hits)


async def test_of_equal_results_the_newer_comes_first(store: SqliteStore, scope: Scope, new_memory: Build) -> None:
    await keep(store, scope, [new_memory(f"tea with {word}") for word in ("milk", "lemon", "honey")])

    assert await texts(store, scope, "tea") == ["tea with honey", "tea with lemon", "tea with milk"]


async def test_searches_beside_each_other_answer_alike(store: SqliteStore, scope: Scope, new_memory: Build) -> None:
    await keep(store, scope, [new_memory(f"tea with {word}") for word in ("milk", "lemon", "honey")])

    answers = await asyncio.gather(*(find(store, scope, "tea with honey") for _ in range(20)))
    assert answers[0].hits
    assert all(answer == answers[0] for answer in answers)


async def test_messages_are_searched_like_memories(
    store: SqliteStore, scope: Scope, new_message: Callable[..., NewMessage]
) -> None:
    said = [new_message("I moved to Lisbon last week"), new_message("noted", role="assistant")]
    await store.write(lambda r: r.conversations.append(scope, "s1", "", said, 0))

    found = await finder(store).find(MESSAGES, scope, "where is Lisbon", MessageFilter(), 5)
    assert [hit.item.content for hit in found.hits] == ["I moved to Lisbon last week"]
