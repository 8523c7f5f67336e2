"""`reindex`: after a change of the embedding model, with a server and without one, in both languages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memstrata.testing.embeddings import EmbeddingStatus, ScriptedEmbeddings

from .shell import Shell

pytestmark = pytest.mark.slow

DATA = ("--data-dir", "data")
CHAT = "User: I live in Lisbon.\nAssistant: Noted.\nUser: My sister breeds alpacas.\nAssistant: How nice.\n"


@contextmanager
def endpoint(dimensions: int = 32, *, status: int = 0, until: int = 0) -> Iterator[ScriptedEmbeddings]:
    """Serve embeddings from a thread of its own; with `status`, the first `until` requests fail with it, or all."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = ScriptedEmbeddings(dimensions)
    if status:
        server.always(lambda _: EmbeddingStatus(status) if not until or len(server.requests) <= until else None)
    asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result(20)
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.__aexit__(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def embedding(server: ScriptedEmbeddings, model: str = "small") -> dict[str, str]:
    return {
        "MEMSTRATA_EMBEDDING_PROVIDER": "openai",
        "MEMSTRATA_EMBEDDING_BASE_URL": server.base_url,
        "MEMSTRATA_EMBEDDING_MODEL": model,
    }


@pytest.fixture
def filled(memstrata: Shell) -> Shell:
    """A folder with four messages and no vectors."""
    memstrata.write("chat.txt", CHAT)
    assert memstrata("import", "chat.txt", *DATA, "--no-wait").code == 0
    return memstrata


def test_rows_get_vectors_of_the_model_that_is_configured_now(filled: Shell) -> None:
    with endpoint() as server:
        first = filled("reindex", *DATA, "--json", env=embedding(server)).json
        assert (first["rows"], first["missing"], first["refused"]) == (4, 0, 0)
        sent = len(server.requests)
        again = filled("reindex", *DATA, env=embedding(server))
        assert again.code == 0
        assert "4 rows have their vector" in again.out
        assert sum(len(request.texts) > 1 for request in server.requests[sent:]) == 0
        other = filled("reindex", *DATA, env={**embedding(server, "large"), "LC_ALL": "zh_CN.UTF-8"})
        assert other.code == 0
        assert "4 行都有向量" in other.out


def test_looking_embeds_the_question_and_nothing_that_is_stored(filled: Shell) -> None:
    """Rows get their vectors from a server or by `reindex`, not by a command that ends in a second."""
    with endpoint() as server:
        env = embedding(server)
        for looking in (("status",), ("doctor", "--port", "0"), ("export", "out.jsonl")):
            assert filled(*looking, *DATA, env=env).code == 0, looking
        assert server.requests == []
        words = ("search", "who breeds alpacas", "--layer", "messages", *DATA, "--json")
        by_words = filled(*words, env=env).json
        assert [set(hit["legs"]) for hit in by_words["hits"]] == [{"keyword"}]
        assert by_words["degraded"] == ["embedding: vectors are being made; what has none is found by keyword"]
        assert {text for request in server.requests for text in request.texts} <= {".", "who breeds alpacas"}
        assert filled("reindex", *DATA, env=env).code == 0
        by_both = filled(*words, env=env).json
        assert set(by_both["hits"][0]["legs"]) == {"keyword", "vector"}
        assert by_both["degraded"] == []


def test_without_an_embedder_it_says_what_to_set(filled: Shell) -> None:
    done = filled("reindex", *DATA)
    assert done.code == 3
    assert "MEMSTRATA_EMBEDDING_PROVIDER" in done.err


def test_an_embedder_that_fails_is_said_and_ends_the_wait(filled: Shell) -> None:
    with endpoint(status=404) as server:
        done = filled("reindex", *DATA, "--json", env=embedding(server))
        assert done.code == 4
        assert "404" in done.out + done.err


def test_the_running_server_is_followed(filled: Shell) -> None:
    with endpoint() as server:
        process = filled.start("serve", "--port", "0", *DATA, "--json", env=embedding(server))
        try:
            assert process.stdout is not None
            process.stdout.readline()
            report = filled("reindex", *DATA, "--json").json
            assert (report["missing"], report["refused"]) == (0, 0)
            assert report["rows"] >= 4
        finally:
            process.terminate()
            process.communicate(timeout=60)


def test_the_doctor_names_the_embedder_and_what_is_missing_for_it(memstrata: Shell) -> None:
    with endpoint() as server:
        well = memstrata("doctor", *DATA, "--port", "0", "--json", env=embedding(server)).json
        half = memstrata("doctor", *DATA, "--port", "0", "--json", env=embedding(server, ""))
        assert server.requests == []
    [check] = [check for check in well["checks"] if "small" in check["text"]]
    assert check["state"] == "ok"
    assert half.code == 3
    assert "MEMSTRATA_EMBEDDING_MODEL" in half.out
