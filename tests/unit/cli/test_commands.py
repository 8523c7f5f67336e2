"""The command line before a command runs: what it loads, what it offers, what it says where it cannot work."""

import subprocess
import sys

from memstrata.cli import agent_commands, commands
from memstrata.cli.example import example_file
from memstrata.setup.clients.table import CLIENTS
from memstrata.transfer import FORMATS, read_file


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)


def test_the_formats_on_offer_are_those_that_can_be_read() -> None:
    assert commands.FORMATS == FORMATS


def test_the_help_loads_neither_the_store_nor_the_network() -> None:
    heavy = "'apsw', 'httpx', 'uvicorn', 'memstrata.memory'"
    code = f"import sys, memstrata.cli.run, memstrata.cli.commands; print([m for m in ({heavy},) if m in sys.modules])"
    assert python(code).stdout.strip() == "[]"


def test_the_base_install_says_what_is_missing() -> None:
    found = python("import sys; sys.modules['typer'] = None; from memstrata.cli import main; sys.exit(main())")
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert 'pip install "memstrata[server]"' in found.stderr


def test_the_example_is_at_hand() -> None:
    file = read_file(example_file())
    assert len(file.sessions) == 9
    assert sum(len(session.messages) for session in file.sessions) == 96


def test_the_example_in_the_package_is_the_one_of_the_repository() -> None:
    packaged = example_file().parents[1] / "src" / "memstrata" / "cli" / "lin.jsonl"
    assert packaged.read_bytes() == example_file().read_bytes()


def test_the_coding_agents_on_offer_are_those_that_can_be_set_up() -> None:
    assert tuple(CLIENTS) == agent_commands.CLIENTS
