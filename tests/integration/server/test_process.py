"""The server as a process: it starts on a free port, stops on a signal with 0, and refuses what it cannot do."""

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from memstrata.server import bind
from memstrata.settings import ServerSettings

SCRIPT = """
import sys
from pathlib import Path
from memstrata.errors import Misconfigured
from memstrata.memory import Memory
from memstrata.server import serve
from memstrata.settings import ServerSettings, Settings

settings = Settings(data_dir=Path(sys.argv[1]), server=ServerSettings(port=int(sys.argv[2]), shutdown_seconds=2.0))
try:
    serve(lambda: Memory.open(settings=settings), settings.server, on_ready=lambda url: print(url, flush=True))
except Misconfigured as error:
    sys.exit(str(error))
print("closed", flush=True)
"""


def started(folder: Path, port: int = 0) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, str(folder), str(port)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_cleanly_and_nothing_is_lost(tmp_path: Path, number: signal.Signals) -> None:
    with started(tmp_path) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        body = {
            "team_id": "t",
            "agent_id": "a",
            "user_id": "u",
            "session_id": "s",
            "messages": [{"role": "user", "content": "Remember: I live in Lisbon."}],
        }
        headers = {"authorization": "Bearer x", "x-tdai-service-id": "default", "content-type": "application/json"}
        request = urllib.request.Request(f"{url}/v3/conversation/add", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30) as response:
            assert response.status == 200
        server.send_signal(number)
        output, errors = server.communicate(timeout=30)

    assert (server.returncode, output.strip()) == (0, "closed"), errors


def test_a_port_in_use_ends_it_with_one_line_and_leaves_the_data_alone(tmp_path: Path) -> None:
    with bind(ServerSettings(port=0)) as taken:
        port = taken.getsockname()[1]
        with started(tmp_path / "data", port) as server:
            _, errors = server.communicate(timeout=30)

    assert server.returncode == 1
    assert errors.strip() == f"server.port: 127.0.0.1:{port} is in use by another program"
    assert not (tmp_path / "data").exists()
