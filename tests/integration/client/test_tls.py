"""Certificates are verified, against the usual authorities or against one of the caller's own."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from memstrata.client import AsyncMemoryClient, MemoryClient, Unreachable, compat

SCOPE: dict[str, Any] = {"team": "t", "agent": "a", "user": "u"}
IDS: dict[str, Any] = {"team_id": "t", "agent_id": "a", "user_id": "u"}


class Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        body = b'{"code": 0, "data": {"content": "# Lin"}}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        return


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    files = (folder / "own.pem", folder / "own.key")
    request = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
        "-addext",
        "subjectAltName=IP:127.0.0.1",
    ]
    subprocess.run(
        [openssl, *request, "-out", files[0], "-keyout", files[1]], check=True, capture_output=True, timeout=60
    )
    return files


@pytest.fixture
def url(certificate: tuple[Path, Path]) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_certificate_that_nobody_vouches_for_is_refused(url: str) -> None:
    memory = MemoryClient(url, **SCOPE)
    memory._pause = lambda _: None
    with memory, pytest.raises(Unreachable, match="CERTIFICATE_VERIFY_FAILED"):
        memory.persona()


async def test_a_ca_of_ones_own_is_given_as_a_context(url: str, certificate: tuple[Path, Path]) -> None:
    own = ssl.create_default_context(cafile=certificate[0])

    with MemoryClient(url, tls=own, **SCOPE) as memory:
        persona = memory.persona()
    async with AsyncMemoryClient(url, tls=own, **SCOPE) as twin:
        assert await twin.persona() == persona
    with compat.MemoryClient(url, "k", "i", verify=str(certificate[0]), **IDS) as moved:
        assert moved.read_core() == {"content": "# Lin"}
