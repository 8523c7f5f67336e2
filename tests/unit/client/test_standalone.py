import subprocess
import sys


def test_the_client_needs_nothing_but_httpx() -> None:
    """A base install has no msgspec, no store and no server; importing one would fail there."""
    script = (
        "import sys, memstrata.client\n"
        "for name in memstrata.client.__all__: getattr(memstrata.client, name)\n"
        "house = [n for n in sys.modules if n.startswith('memstrata.') and not n.startswith('memstrata.client')]\n"
        "extra = [n for n in ('msgspec', 'apsw', 'starlette', 'uvicorn', 'regex') if n in sys.modules]\n"
        "print(house + extra)\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_importing_the_package_loads_neither_server_nor_client() -> None:
    """Names load on first use, so a program pays for what it takes."""
    script = (
        "import sys, memstrata\n"
        "print([n for n in sys.modules if n.startswith('memstrata.') or n in ('httpx', 'msgspec', 'starlette', 'apsw')])\n"
        "from memstrata import MemoryClient\n"
        "print([n for n in sys.modules if n.split('.')[0:2] in (['memstrata', 'server'], ['memstrata', 'store'])])\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["[]", "[]"]


def test_the_moved_client_and_the_hooks_of_a_run_need_nothing_else_either() -> None:
    script = (
        "import sys, memstrata.client.compat, memstrata.client.recalling, memstrata.client.toolset\n"
        "roots = {n.split('.')[0] for n in sys.modules}\n"
        "print(sorted(roots & {'msgspec', 'apsw', 'starlette', 'uvicorn', 'regex', 'langchain_core', 'numpy'}))\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_names_load_on_first_use_and_all_of_them_do() -> None:
    script = (
        "import sys, memstrata.client as client\n"
        "print('httpx' in sys.modules, client.MemoryClient.__name__, 'memstrata.client.turn' in sys.modules)\n"
        "print([name for name in client.__all__ if getattr(client, name, None) is None])\n"
        "print(set(client.__all__) ^ set(client._HOMES))\n"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines() == ["False MemoryClient False", "[]", "set()"]
