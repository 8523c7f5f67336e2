"""One table of settings: precedence, names, and a refusal that says where the mistake stands."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from memstrata.errors import Misconfigured
from memstrata.settings import (
    FILE_NAME,
    PipelineSettings,
    ServerSettings,
    Settings,
    load_settings,
    settings_table,
    unknown_variables,
)


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder without a file of settings."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, text: str) -> Path:
    file = folder / "own.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_without_anything_the_defaults_hold(empty: Path) -> None:
    settings, origins = load_settings(environ={})
    assert (settings, origins) == (Settings(), {})


def test_a_flag_goes_before_the_environment_before_the_file_before_the_default(empty: Path) -> None:
    file = written(empty, "[server]\nport = 1\n[pipeline]\nevery_n = 2\nbatch_messages = 3\n")
    environ = {"MEMSTRATA_PORT": "4", "MEMSTRATA_PIPELINE_EVERY_N": "5"}

    settings, origins = load_settings(flags={"server.port": 6, "server.host": None}, environ=environ, file=file)

    assert (settings.server.port, origins["server.port"]) == (6, "flag")
    assert (settings.pipeline.every_n, origins["pipeline.every_n"]) == (5, "environment")
    assert (settings.pipeline.batch_messages, origins["pipeline.batch_messages"]) == (3, str(file))
    assert settings.server.host == "127.0.0.1"
    assert set(origins) == {"server.port", "pipeline.every_n", "pipeline.batch_messages"}


def test_a_file_in_the_working_folder_is_read_unless_another_is_named(empty: Path) -> None:
    (empty / FILE_NAME).write_text("log_level = 'debug'")
    assert load_settings(environ={})[0].log_level == "debug"
    assert load_settings(environ={}, file=written(empty, ""))[0].log_level == "info"


def test_a_named_file_must_exist(empty: Path) -> None:
    with pytest.raises(Misconfigured, match=r"absent\.toml: cannot be read"):
        load_settings(environ={}, file=empty / "absent.toml")


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("MEMSTRATA_DATA_DIR", "/srv/memory", "data_dir", Path("/srv/memory")),
        ("MEMSTRATA_HOST", "0.0.0.0", "server.host", "0.0.0.0"),
        ("MEMSTRATA_PORT", "9000", "server.port", 9000),
        ("MEMSTRATA_API_KEY", "key", "server.api_key", "key"),
        ("MEMSTRATA_LLM_BASE_URL", "http://127.0.0.1:1/v1", "llm.base_url", "http://127.0.0.1:1/v1"),
        ("MEMSTRATA_LLM_API_KEY", "key", "llm.api_key", "key"),
        ("MEMSTRATA_LLM_MODEL", "model", "llm.model", "model"),
        ("MEMSTRATA_EMBEDDING_PROVIDER", "openai", "embedding.provider", "openai"),
        ("MEMSTRATA_EMBEDDING_BASE_URL", "http://127.0.0.1:1/v1", "embedding.base_url", "http://127.0.0.1:1/v1"),
        ("MEMSTRATA_EMBEDDING_API_KEY", "key", "embedding.api_key", "key"),
        ("MEMSTRATA_EMBEDDING_MODEL", "model", "embedding.model", "model"),
        ("MEMSTRATA_PIPELINE_EVERY_N", "7", "pipeline.every_n", 7),
        ("MEMSTRATA_PIPELINE_L1_IDLE_SECONDS", "1.5", "pipeline.l1_idle_seconds", 1.5),
        ("MEMSTRATA_PIPELINE_L2_DELAY_SECONDS", "2", "pipeline.l2_delay_seconds", 2.0),
        ("MEMSTRATA_PIPELINE_L2_MIN_INTERVAL_SECONDS", "3", "pipeline.l2_min_interval_seconds", 3.0),
        ("MEMSTRATA_PIPELINE_L2_MAX_INTERVAL_SECONDS", "4", "pipeline.l2_max_interval_seconds", 4.0),
        ("MEMSTRATA_PIPELINE_PERSONA_EVERY_N", "60", "pipeline.persona_every_n", 60),
    ],
)
def test_a_variable_of_the_environment_sets_what_its_name_says(
    empty: Path, variable: str, text: str, name: str, value: object
) -> None:
    settings, origins = load_settings(environ={variable: text})

    (row,) = [row for row in settings_table(settings, origins) if row.name == name]
    assert (row.env, row.value, row.origin) == (variable, value, "environment")
    assert type(row.value) is type(value) or isinstance(value, Path)


def test_every_setting_has_a_variable_a_kind_and_a_sentence_of_its_own() -> None:
    rows = settings_table()
    assert len({row.env for row in rows}) == len({row.name for row in rows}) == len(rows) > 30
    assert all(row.env.startswith("MEMSTRATA_") and row.kind and row.text for row in rows)
    assert all(row.value == row.default and row.origin == "default" for row in rows)


def test_keys_are_marked_as_secret() -> None:
    secret = {row.name for row in settings_table() if row.secret}
    assert secret == {row.name for row in settings_table() if row.name.endswith(("api_key", "upstream_keys"))}


def test_every_default_passes_its_own_limits(empty: Path) -> None:
    environ = {row.env: str(row.default) for row in settings_table() if row.kind in ("integer", "number", "boolean")}
    assert load_settings(environ=environ)[0] == Settings()


def test_a_variable_that_is_no_setting_is_named_with_what_was_probably_meant() -> None:
    environ = {
        "MEMSTRATA_PROT": "1",
        "MEMSTRATA_1234567890123456789012345678901": "1",
        "PATH": "x",
        "MEMSTRATA_PORT": "1",
    }
    assert unknown_variables(environ) == (
        "MEMSTRATA_1234567890123456789012345678901 is no setting",
        "MEMSTRATA_PROT is no setting; did you mean MEMSTRATA_PORT?",
    )


def test_a_file_may_hold_every_kind_of_value(empty: Path) -> None:
    text = """
        data_dir = "~/memory"
        [server]
        host = "::1"
        port = 0
        cors_origins = ["https://a.example", "https://b.example"]
        [pipeline]
        enabled = false
        l1_idle_seconds = 30
        profile_scope = "agent_user"
    """
    settings, _ = load_settings(environ={}, file=written(empty, text))

    assert settings.data_dir == Path.home() / "memory"
    assert settings.server.cors_origins == ("https://a.example", "https://b.example")
    assert settings.pipeline == replace(
        PipelineSettings(), enabled=False, l1_idle_seconds=30.0, profile_scope="agent_user"
    )
    assert settings.server == replace(
        ServerSettings(), host="::1", port=0, cors_origins=("https://a.example", "https://b.example")
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[server]\nprot = 1", r"own\.toml line 2: unknown key 'server\.prot'; did you mean server\.port\?"),
        ("\n\n[pipelin]\nevery_n = 1", r"own\.toml line 3: unknown key 'pipelin'"),
        ("log_levle = 'debug'", r"own\.toml line 1: unknown key 'log_levle'; did you mean log_level\?"),
        ("[server]\nhost = 'x'\n[pipeline]\nhost = 'x'", r"line 4: unknown key 'pipeline\.host'"),
        ("server.prot = 1", r"line 1: unknown key 'server\.prot'"),
        ("log_level = 'info'\nxyzzyqwerty = 1", r"line 2: unknown key 'xyzzyqwerty'$"),
        ("server = 5", r"line 1: unknown key 'server'"),
        ("[server]\n# a note\nport = 'many'", r"line 3: server\.port: expected integer, got 'many'"),
        ("[server]\nport = 70000", r"line 2: server\.port: must be between 0 and 65535, got 70000"),
        ("[server]\nport = -1", r"server\.port: must be between 0 and 65535, got -1"),
        ("[server]\nport = true", r"server\.port: expected integer, got True"),
        ("[server]\nport = 80.5", r"server\.port: expected integer, got 80\.5"),
        ("[server]\nport = [80]", r"server\.port: expected integer"),
        ("[server]\nhost = 5", r"server\.host: expected text, got 5"),
        ("[server]\ncors_origins = 5", r"server\.cors_origins: expected list, got 5"),
        ("[server]\ncors_origins = [5]", r"server\.cors_origins: expected list"),
        ("[server]\ncors_origins = {a = 'b'}", r"server\.cors_origins: expected list"),
        ("[pipeline]\nenabled = 'perhaps'", r"pipeline\.enabled: expected boolean, got 'perhaps'"),
        ("[pipeline]\nenabled = 2", r"pipeline\.enabled: expected boolean, got 2"),
        ("[pipeline]\nprofile_scope = 'team'", r"pipeline\.profile_scope: expected agent\|agent_user, got 'team'"),
        ("[pipeline]\nl1_idle_seconds = nan", r"pipeline\.l1_idle_seconds: expected number, got nan"),
        ("[pipeline]\nl1_idle_seconds = inf", r"pipeline\.l1_idle_seconds: expected number, got inf"),
        ("[pipeline]\nl1_idle_seconds = -1", r"pipeline\.l1_idle_seconds: must be at least 0, got -1"),
        ("data_dir = ''", r"data_dir: expected folder, got ''"),
        ("data_dir = 5", r"data_dir: expected folder, got 5"),
        ("log_level = 'loud'", r"log_level: expected debug\|info\|warning\|error"),
    ],
)
def test_a_mistake_in_the_file_is_named_with_its_line(empty: Path, text: str, problem: str) -> None:
    with pytest.raises(Misconfigured, match=problem) as refused:
        load_settings(environ={}, file=written(empty, text))
    assert str(empty / "own.toml") in str(refused.value)


@pytest.mark.parametrize("text", ["[server", "port = ", "[server]\nport = 1\nport = 2", "a = 'x"])
def test_a_file_that_is_no_toml_is_refused_with_the_place(empty: Path, text: str) -> None:
    with pytest.raises(Misconfigured, match=r"own\.toml: .*line \d|own\.toml: .*document"):
        load_settings(environ={}, file=written(empty, text))


def test_a_file_that_is_no_text_is_refused(empty: Path) -> None:
    file = empty / "own.toml"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(Misconfigured, match="cannot be read"):
        load_settings(environ={}, file=file)


@pytest.mark.parametrize(
    ("variable", "text", "problem"),
    [
        ("MEMSTRATA_PORT", "many", "MEMSTRATA_PORT: expected integer, got 'many'"),
        ("MEMSTRATA_PORT", "", "MEMSTRATA_PORT: expected integer, got ''"),
        ("MEMSTRATA_PORT", "80.5", "MEMSTRATA_PORT: expected integer"),
        ("MEMSTRATA_PORT", "9" * 400, "MEMSTRATA_PORT: expected integer"),
        ("MEMSTRATA_PORT", "65536", "must be between 0 and 65535"),
        ("MEMSTRATA_PIPELINE_EVERY_N", "0", "must be at least 1, got 0"),
        ("MEMSTRATA_PIPELINE_L1_IDLE_SECONDS", "nan", "expected number"),
        ("MEMSTRATA_RECALL_FLOOR", "1.01", "must be between 0 and 1"),
        ("MEMSTRATA_EMBEDDING_PROVIDER", "magic", r"expected none\|builtin\|openai, got 'magic'"),
        ("MEMSTRATA_DATA_DIR", "", "expected folder"),
    ],
)
def test_a_mistake_in_the_environment_is_named_with_its_variable(
    empty: Path, variable: str, text: str, problem: str
) -> None:
    with pytest.raises(Misconfigured, match=problem) as refused:
        load_settings(environ={variable: text})
    assert variable in str(refused.value)


def test_a_mistake_in_a_flag_is_named(empty: Path) -> None:
    with pytest.raises(Misconfigured, match=r"flag for server\.port: expected integer"):
        load_settings(flags={"server.port": "many"}, environ={})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", True),
        ("true", True),
        (" ON ", True),
        ("Yes", True),
        ("0", False),
        ("FALSE", False),
        ("off", False),
        ("no", False),
    ],
)
def test_a_switch_reads_as_people_write_it(empty: Path, text: str, value: bool) -> None:
    assert load_settings(environ={"MEMSTRATA_PIPELINE_ENABLED": text})[0].pipeline.enabled is value


def test_a_list_in_the_environment_is_separated_by_commas(empty: Path) -> None:
    environ: dict[str, Any] = {"MEMSTRATA_SERVER_CORS_ORIGINS": "https://a.example, https://b.example,"}
    assert load_settings(environ=environ)[0].server.cors_origins == ("https://a.example", "https://b.example")


def test_a_folder_of_the_home_directory_is_found(empty: Path) -> None:
    assert load_settings(environ={"MEMSTRATA_DATA_DIR": "~/m"})[0].data_dir == Path.home() / "m"
    assert load_settings(flags={"data_dir": Path("relative")}, environ={})[0].data_dir == Path("relative")


def test_numbers_are_finite_everywhere() -> None:
    assert all(math.isfinite(row.default) for row in settings_table() if row.kind == "number")
