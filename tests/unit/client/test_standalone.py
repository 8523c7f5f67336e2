import subprocess
import sys


def test_the_client_needs_nothing_but_httpx() -> None:
    """A base install has no msgspec, no store and no server; importing one would fail there."""
    script = (
        "import sys, memstrata.client\n"
        "house = [n for n in sys.modules if n.startswith('memstrata.') and not n.startswith('memstrata.client')]\n"
        "extra = [n for n in ('msgspec', 'apsw', 'starlette', 'uvicorn', 'regex') if n in sys.modules]\n"
        "print(house + extra)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
