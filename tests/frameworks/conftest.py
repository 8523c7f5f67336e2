"""The real frameworks: which are here, and for each test a bench and a driver.

`--with-frameworks` names those that must run, so that one that is missing fails. Without it, those that are installed run,
and the rest is named at the top of the output.
"""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

# No framework may report on a test run.
os.environ.update(
    OTEL_SDK_DISABLED="true",
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    OPENAI_AGENTS_DISABLE_TRACING="1",
    LANGSMITH_TRACING="false",
    LANGCHAIN_TRACING_V2="false",
    ANONYMIZED_TELEMETRY="false",
    DO_NOT_TRACK="1",
)

from memstrata.testing.llm import ScriptedLLM

from .bench import MARK, Bench, running_server
from .driver import Driver

# Name of the adapter, what its framework is imported as, the class in `<name>_driver.py`.
FRAMEWORKS = {
    "langchain": ("langchain", "LangChainDriver"),
    "langchain_blocking": ("langchain", "BlockingLangChainDriver"),
    "openai_agents": ("agents", "AgentsDriver"),
    "pydantic_ai": ("pydantic_ai", "PydanticDriver"),
    "llamaindex": ("llama_index.core", "LlamaDriver"),
    "google_adk": ("google.adk", "AdkDriver"),
    "crewai": ("crewai", "CrewDriver"),
    "autogen": ("autogen_agentchat", "AutoGenDriver"),
    "claude_agent": ("claude_agent_sdk", "ClaudeDriver"),
}


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


HERE = Path(__file__).parent
INSTALLED = {name for name, (module, _) in FRAMEWORKS.items() if _is_installed(module)}
collect_ignore = [f"test_{name}.py" for name in FRAMEWORKS.keys() - INSTALLED]
if not (_is_installed("anthropic") and _is_installed("openai")):
    collect_ignore.append("test_model_clients.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--with-frameworks", default="", metavar="NAMES", help="frameworks that must run, with commas")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "xdist_group(name): tests that share a worker, which imports one framework")
    config.addinivalue_line("markers", "needs(ability): what a framework must have for a scenario")
    missing = _asked_for(config) - INSTALLED
    if missing:
        raise pytest.UsageError(f"frameworks that are not installed: {', '.join(sorted(missing))}")
    if INSTALLED:  # what frameworks warn of is their own affair
        config.addinivalue_line("filterwarnings", "ignore")
        config.addinivalue_line("filterwarnings", r"error:::memstrata\..*")


def pytest_report_header(config: pytest.Config) -> str:
    left_out = FRAMEWORKS.keys() - (_asked_for(config) or INSTALLED)
    return f"frameworks left out, because this environment is not theirs: {', '.join(sorted(left_out)) or 'none'}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "driver" in metafunc.fixturenames and metafunc.module.__name__.endswith("test_scenarios"):
        chosen = _asked_for(metafunc.config) or INSTALLED
        names = [name for name in FRAMEWORKS if name in chosen and (HERE / f"{name}_driver.py").exists()]
        metafunc.parametrize(
            "driver", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in names], indirect=True
        )


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.frameworks)
            name = item.path.stem.removeprefix("test_")
            if name in FRAMEWORKS:
                item.add_marker(pytest.mark.xdist_group(name))


def _asked_for(config: pytest.Config) -> set[str]:
    return set(filter(None, str(config.getoption("--with-frameworks", "")).split(",")))


@pytest.fixture(scope="session")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_server(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
async def bench(server_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    async with ScriptedLLM() as model:
        made = Bench(server_url, f"team-{uuid.uuid4().hex[:12]}", tmp_path, model)
        yield made
        await made.end()


@pytest.fixture
async def driver(bench: Bench, request: pytest.FixtureRequest) -> AsyncIterator[Driver]:
    """The framework of a scenario, or of a module `test_<name>.py`. At the end nothing injected is stored anywhere."""
    name = getattr(request, "param", request.path.stem.removeprefix("test_"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = getattr(import_module(f"{__package__}.{name}_driver"), FRAMEWORKS[name][1])
    for mark in request.node.iter_markers("needs"):
        if mark.args[0] in kind.lacks:
            pytest.skip(f"{name} has no {mark.args[0]}: {kind.lacks[mark.args[0]]}")
    made: Driver = kind(bench)
    yield made
    await made.aclose()
    assert MARK not in (await made.history()).replace('\\"', '"')  # JSON is a form that histories have
    assert MARK not in str(await bench.said())
