"""Every setting, in one typed table: name, environment variable, default, limits, help.

Precedence: flag > environment > `memstrata.toml` > default. What cannot be read stops the start with file, line and
key, because a mistyped name that is silently ignored is how an instance ends up open, expensive or empty. Long for a module,
because the table is one: names, limits and help of a setting stand in one place, and nowhere else.
"""

from __future__ import annotations

import difflib
import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

from memstrata.errors import Misconfigured

__all__ = [
    "FILE_NAME",
    "CaptureSettings",
    "DirectorySettings",
    "EmbeddingSettings",
    "LlmSettings",
    "MirrorSettings",
    "PipelineSettings",
    "ProxySettings",
    "RecallSettings",
    "RetentionSettings",
    "ServerSettings",
    "Setting",
    "Settings",
    "load_settings",
    "settings_table",
    "unknown_variables",
]

FILE_NAME = "memstrata.toml"
T = TypeVar("T")


def _option(
    default: T,
    text: str,
    *,
    env: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    secret: bool = False,
) -> T:
    about = {"help": text, "env": env, "minimum": minimum, "maximum": maximum, "secret": secret}
    if isinstance(default, tuple):
        return field(default_factory=tuple, metadata=about)  # type: ignore[return-value]
    return field(default=default, metadata=about)


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """How the HTTP server listens and what it accepts."""

    host: str = _option("127.0.0.1", "address to listen on; any but loopback needs an API key", env="MEMSTRATA_HOST")
    port: int = _option(8420, "port to listen on; 0 takes a free one", env="MEMSTRATA_PORT", minimum=0, maximum=65_535)
    api_key: str = _option(
        "", "key that every request must carry as bearer; empty: loopback only", env="MEMSTRATA_API_KEY", secret=True
    )
    cors_origins: tuple[str, ...] = _option((), "browser origins that may call; `*` for any, empty for none")
    max_body_bytes: int = _option(1_048_576, "largest request body after decompression", minimum=1_024, maximum=1 << 30)
    require_session: Literal["writes", "always"] = _option(
        "writes", "which L0 and L1 calls must name a session", env="MEMSTRATA_REQUIRE_SESSION"
    )
    mcp_language: Literal["en", "zh"] = _option("en", "language of the MCP tools, over HTTP and over standard input")
    shutdown_seconds: float = _option(10.0, "how long a stop may take to finish waiting distillation", minimum=0)


@dataclass(frozen=True, slots=True)
class CaptureSettings:
    """What is accepted into L0."""

    receipt_days: int = _option(30, "how long an idempotency key is remembered", minimum=1)
    redact_secrets: bool = _option(
        True, "take keys and passwords out before anything is stored; a policy for a part of an instance goes before it"
    )


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """When memories, scenes and the persona are distilled."""

    enabled: bool = _option(True, "distill in the background; off: messages are kept, layers wait")
    every_n: int = _option(5, "rounds (user messages) that start L1 once a session is warm", minimum=1)
    warmup: bool = _option(True, "start L1 after 1, 2, 4 … rounds in a new session")
    l1_idle_seconds: float = _option(600.0, "L1 runs this long after a session's last message", minimum=0)
    l2_delay_seconds: float = _option(10.0, "L2 follows L1 after this long", minimum=0)
    l2_min_interval_seconds: float = _option(900.0, "least time between two L2 runs of a profile", minimum=0)
    l2_max_interval_seconds: float = _option(
        3_600.0, "most time that a new memory of an active agent waits for L2", minimum=1
    )
    active_hours: float = _option(24.0, "an agent counts as active this long after its last message", minimum=0)
    persona_every_n: int = _option(50, "new memories that renew the persona", minimum=1)
    max_scenes: int = _option(15, "most scenes per profile", minimum=2, maximum=200)
    mode: Literal["chat", "work"] = _option("chat", "what a model looks for: a person's life, or a team's work")
    profile_scope: Literal["agent", "agent_user"] = _option(
        "agent", "whose scenes and persona: the agent's or each user's", env="MEMSTRATA_PROFILE_SCOPE"
    )
    batch_messages: int = _option(10, "messages that one L1 run distills", minimum=1, maximum=100)
    background_messages: int = _option(
        5, "messages before them that are shown for understanding", minimum=0, maximum=100
    )
    workers: int = _option(4, "distillation jobs at a time", minimum=1, maximum=256)
    lease_seconds: float = _option(60.0, "how long a worker owns a job before it must renew", minimum=1)
    attempts: int = _option(5, "failed tries before a job goes to the dead letters", minimum=1)
    retry_seconds: float = _option(5.0, "wait after the first failure; triples with each further one", minimum=0)


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """What comes back before a turn, and how much of it."""

    limit: int = _option(5, "most memories in one recall", minimum=1, maximum=100)
    timeout_seconds: float = _option(
        5.0, "deadline of a whole recall; what has not arrived is named in `degraded`", minimum=0.001
    )
    max_characters_per_memory: int = _option(800, "longest text of one recalled memory", minimum=40)
    max_characters: int = _option(4_000, "longest text of all recalled memories together", minimum=40)
    max_persona_characters: int = _option(2_400, "longest text of the injected persona", minimum=40)
    max_tokens_per_memory: int = _option(
        0, "most tokens of one recalled memory, about 1 per CJK character, 1 per 4 others; 0: no limit", minimum=0
    )
    max_tokens: int = _option(
        0, "most tokens of both injected blocks with all around them; 0: no limit. A call may name its own", minimum=0
    )
    max_scenes: int = _option(15, "most scenes named in the injected index", minimum=0)
    floor: float = _option(0.05, "least score of a recalled memory, 0 to 1", minimum=0, maximum=1)
    gate: bool = _option(True, "stay silent where only accidents agree: nonsense, everyday words, far meanings")
    strategy: Literal["hybrid", "keyword", "embedding"] = _option(
        "hybrid", "what a search goes by: words and meaning, words alone, meaning alone; without an embedder by words"
    )
    fusion: Literal["calibrated", "rrf"] = _option(
        "calibrated", "how words and meaning become one ranking: by their scores, or by their ranks (k = 60)"
    )
    borrowed: bool = _option(True, "read the memory of other agents too where it is bound to an agent, at most two")


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """What is kept for how long. A policy for a team, an agent or a user goes before it."""

    l0_l1_days: int = _option(
        0, "days that messages and memories are kept; 0: for ever. Scenes and portraits stay", minimum=0, maximum=36_500
    )


@dataclass(frozen=True, slots=True)
class MirrorSettings:
    """The readable copy of everything, as files beside the database."""

    enabled: bool = _option(True, "write conversations, records and profiles as readable files")
    interval_seconds: float = _option(1.0, "how often new rows are written out", minimum=0.05)


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """The chat model that distills. Without one, rules do.

    A role's own model, address or key takes the place of the common one for that role: extract (L1), resolve (L1, what
    contradicts what), consolidate (L2), portray (L3).
    """

    base_url: str = _option("", "its endpoint, for example http://127.0.0.1:11434/v1; empty: rules distill")
    api_key: str = _option("", "its key", secret=True)
    model: str = _option("", "its model")
    dialect: Literal[
        "auto", "generic", "openai", "deepseek", "qwen", "vllm", "ollama", "lmstudio", "openrouter", "anthropic"
    ] = _option("auto", "how the endpoint speaks; auto: by its address")
    disable_thinking: bool = _option(True, "ask the model not to think aloud, in the way of its dialect")
    timeout_seconds: float = _option(180.0, "longest wait for one reply; L2 has half as much again", minimum=1)
    max_tokens: int = _option(4_096, "room for one reply; doubled once when it does not fit", minimum=256)
    daily_tokens: int = _option(
        0, "tokens an instance may use per UTC day; then distillation waits. 0: no limit", minimum=0
    )
    redistill: bool = _option(True, "distill again with the model what rules had distilled before there was one")
    extract_model: str = _option("", "model of the role extract, if it has its own")
    extract_base_url: str = _option("", "endpoint of the role extract, if it has its own")
    extract_api_key: str = _option("", "key of the role extract, if it has its own", secret=True)
    resolve_model: str = _option("", "model of the role resolve, if it has its own")
    resolve_base_url: str = _option("", "endpoint of the role resolve, if it has its own")
    resolve_api_key: str = _option("", "key of the role resolve, if it has its own", secret=True)
    consolidate_model: str = _option("", "model of the role consolidate, if it has its own")
    consolidate_base_url: str = _option("", "endpoint of the role consolidate, if it has its own")
    consolidate_api_key: str = _option("", "key of the role consolidate, if it has its own", secret=True)
    portray_model: str = _option("", "model of the role portray, if it has its own")
    portray_base_url: str = _option("", "endpoint of the role portray, if it has its own")
    portray_api_key: str = _option("", "key of the role portray, if it has its own", secret=True)

    @property
    def configured(self) -> bool:
        """Whether a model is named at all, wholly or in part."""
        return any(getattr(self, f.name) for f in fields(self) if f.name.endswith(("base_url", "model")))


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The embedding model of the vector leg. Without one, search is by keyword."""

    provider: Literal["none", "builtin", "openai"] = _option("none", "where vectors come from")
    base_url: str = _option("", "OpenAI-compatible endpoint for the provider `openai`")
    api_key: str = _option("", "its key", secret=True)
    model: str = _option("", "its model")
    dimensions: int = _option(
        0, "length of the vectors to ask for; 0 sends no such wish and takes the model's own", minimum=0, maximum=65_536
    )
    query_prefix: str = _option("", "what the model wants in front of a question, for example `query: `")
    passage_prefix: str = _option("", "what the model wants in front of a stored text, for example `passage: `")
    batch: int = _option(64, "most texts in one request", minimum=1, maximum=2_048)
    query_timeout_seconds: float = _option(
        2.0, "longest wait for the vector of a question, which somebody waits for", minimum=0.05
    )
    timeout_seconds: float = _option(60.0, "longest wait for the vectors of stored texts", minimum=1)
    memory_megabytes: int = _option(1_024, "most memory for the indexes of all scopes together", minimum=1)
    enabled: bool = _option(True, "give rows their vectors in the background; off: only questions get one")


@dataclass(frozen=True, slots=True)
class DirectorySettings:
    """How much an instance's directory may hold."""

    max_users: int = _option(500, "most users of an instance", minimum=1)
    max_teams: int = _option(100, "most teams of an instance", minimum=1)
    max_active_keys: int = _option(20, "most keys of a user that have not expired", minimum=1)


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """The model proxy: what stands where the provider's address was, and puts memory into requests."""

    enabled: bool = _option(True, "take the proxy's paths on the server's port")
    host: str = _option("127.0.0.1", "address of a proxy that runs alone; any but loopback needs a core with keys")
    port: int = _option(8_096, "port of a proxy that runs alone; 0 takes a free one", minimum=0, maximum=65_535)
    core_url: str = _option("http://127.0.0.1:8420", "the core that a proxy which runs alone asks")
    core_api_key: str = _option("", "the core's API key, for a proxy that runs alone", secret=True)
    public_url: str = _option("", "address by which agents reach the proxy, for the recipes in prompts; empty: its own")
    upstreams: tuple[str, ...] = _option(
        (),
        "providers as name=address; a name is an agent's, or `anthropic` or `openai` for all that speak so. These two"
        " are https://api.anthropic.com and https://api.openai.com/v1 unless they are named here",
    )
    upstream_keys: tuple[str, ...] = _option(
        (), "keys of providers as name=key; one takes the place of the client's own", secret=True
    )
    instance: str = _option("default", "instance of requests whose path names none")
    user: str = _option("me", "whose memory it is in front of a core without an API key, if no user key comes")
    team: str = _option("personal", "team of that memory, for sessions that name none")
    agent: str = _option("assistant", "agent of that memory, for sessions that name none")
    system_users: tuple[str, ...] = _option((), "ids of users whose requests have no memory, such as workers' own")
    recall: bool = _option(True, "put memories into questions of clients that send their whole history each time")
    recall_agents: tuple[str, ...] = _option(
        (),
        "agents by the name in their path: `name` also sends its whole history each time, `-name` gets no memories in its"
        " questions",
    )
    recall_budget_ms: int = _option(300, "longest that a question waits for its memories", minimum=10)
    recall_memories: int = _option(5, "most memories in one question", minimum=1, maximum=50)
    recall_characters: int = _option(1_200, "longest text of all memories in one question", minimum=100)
    snapshot_tokens: int = _option(4_000, "most tokens of persona, scenes and guide in a system prompt", minimum=200)
    memory_write: bool = _option(True, "keep what was asked and answered")
    turn_idle_seconds: float = _option(
        3_600.0,
        "silence after which a question is kept with what there is of its answer; a long tool step must fit in",
        minimum=60,
    )
    forms: bool = _option(True, "ask in the client whose memory a new session has, where there is a choice")
    session_days: int = _option(30, "days that an unused session keeps its binding and its ledger", minimum=1)
    connect_timeout_seconds: float = _option(10.0, "longest wait for a provider's connection; 0: no limit", minimum=0)
    first_byte_timeout_seconds: float = _option(
        600.0, "longest wait for an answer's first byte; 0: no limit", minimum=0
    )
    idle_timeout_seconds: float = _option(300.0, "longest silence within an answer; 0: no limit", minimum=0)
    max_body_bytes: int = _option(67_108_864, "largest request body", minimum=1_024, maximum=1 << 30)
    requests_per_minute: int = _option(0, "requests of a user to a model within a minute; 0: no limit", minimum=0)
    input_tokens_per_minute: int = _option(
        0, "tokens that a model reads for a user within a minute; 0: no limit", minimum=0
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """All sections. Construct one directly in code, or read it with `load_settings`."""

    data_dir: Path = _option(  # noqa: RUF009 (a Path is immutable)
        Path(".memstrata"), "folder of the database and its readable mirror", env="MEMSTRATA_DATA_DIR"
    )
    time_zone: str = _option(
        "UTC", 'the users\' time zone, for example Asia/Shanghai: it decides which day "yesterday" was'
    )
    log_level: Literal["debug", "info", "warning", "error"] = _option("info", "least severe log line that is written")
    server: ServerSettings = field(default_factory=ServerSettings)
    capture: CaptureSettings = field(default_factory=CaptureSettings)
    pipeline: PipelineSettings = field(default_factory=PipelineSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    mirror: MirrorSettings = field(default_factory=MirrorSettings)
    llm: LlmSettings = field(default_factory=LlmSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    directory: DirectorySettings = field(default_factory=DirectorySettings)
    proxy: ProxySettings = field(default_factory=ProxySettings)


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `value` and `origin` are those in force where the row comes from `load_settings`."""

    name: str  # "pipeline.every_n"
    env: str  # "MEMSTRATA_PIPELINE_EVERY_N"
    kind: str  # "integer", "number", "boolean", "text", "list", "folder", or the choices joined by |
    default: Any
    text: str
    secret: bool
    value: Any
    origin: str  # "default", "memstrata.toml", "environment", "flag"


@dataclass(frozen=True, slots=True)
class _Row:
    section: str
    key: str
    env: str
    type: Any
    default: Any
    about: Mapping[str, Any]

    @property
    def name(self) -> str:
        return f"{self.section}.{self.key}" if self.section else self.key


def _rows() -> Iterator[_Row]:
    root = Settings()
    for section, values in [("", root), *((f.name, getattr(root, f.name)) for f in fields(root) if not f.metadata)]:
        hints = get_type_hints(type(values))
        for f in fields(values):
            if f.metadata:
                env = f.metadata["env"] or f"MEMSTRATA_{f'{section}_' if section else ''}{f.name}".upper()
                yield _Row(section, f.name, env, hints[f.name], getattr(values, f.name), f.metadata)


_ROWS: Mapping[str, _Row] = {row.name: row for row in _rows()}


def settings_table(loaded: Settings | None = None, origins: Mapping[str, str] | None = None) -> tuple[Setting, ...]:
    """Return every setting with its value and where it comes from; documentation and `memstrata config` print this."""
    root = loaded or Settings()
    return tuple(
        Setting(
            name=row.name,
            env=row.env,
            kind=_kind(row.type),
            default=row.default,
            text=row.about["help"],
            secret=row.about["secret"],
            value=getattr(getattr(root, row.section) if row.section else root, row.key),
            origin=(origins or {}).get(row.name, "default"),
        )
        for row in _ROWS.values()
    )


def load_settings(
    *,
    flags: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> tuple[Settings, Mapping[str, str]]:
    """Read the settings in force, and the origin of each that is not a default.

    `flags` maps names such as `server.port` to values; None values are absent flags. `file` must exist when given;
    otherwise `./memstrata.toml` is read if it is there. Raises Misconfigured naming file, line and key, or variable.
    """
    environ = os.environ if environ is None else environ
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    if file is None and Path(FILE_NAME).is_file():
        file = Path(FILE_NAME)
    if file is not None:
        for name, value in _read_file(file):
            values[name], origins[name] = value, str(file)
    for row in _ROWS.values():
        if row.env in environ:
            values[row.name], origins[row.name] = _convert(row, environ[row.env], row.env), "environment"
    for name, value in (flags or {}).items():
        if value is not None:
            values[name], origins[name] = _convert(_ROWS[name], value, f"flag for {name}"), "flag"
    return _build(values), origins


def unknown_variables(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a line for each `MEMSTRATA_…` variable that is no setting, with the name that was probably meant."""
    known = [row.env for row in _ROWS.values()]
    return tuple(
        f"{name} is no setting{_hint(name, known)}"
        for name in sorted(environ)
        if name.startswith("MEMSTRATA_") and name not in known
    )


def _build(values: Mapping[str, Any]) -> Settings:
    sections = {f.name: type(getattr(Settings(), f.name)) for f in fields(Settings) if not f.metadata}

    def given(section: str) -> dict[str, Any]:
        return {row.key: values[name] for name, row in _ROWS.items() if row.section == section and name in values}

    return Settings(**given(""), **{section: kind(**given(section)) for section, kind in sections.items()})


def _read_file(file: Path) -> Iterator[tuple[str, Any]]:
    try:
        text = file.read_text(encoding="utf-8")
        raw = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{file}: cannot be read: {error}") from error
    except tomllib.TOMLDecodeError as error:
        raise Misconfigured(f"{file}: {error}") from error
    sections = {row.section for row in _ROWS.values()}
    for key, value in raw.items():
        inner = value.items() if isinstance(value, dict) and key in sections else [("", value)]
        for name, item in inner:
            full = f"{key}.{name}" if name else key
            where = f"{file} line {_line_of(text, full)}"
            if full not in _ROWS:
                raise Misconfigured(f"{where}: unknown key {full!r}{_hint(full, _ROWS)}")
            yield full, _convert(_ROWS[full], item, f"{where}: {full}")


def _line_of(text: str, name: str) -> int:
    """Where a key stands. tomllib gives no positions, so the section headers and keys are looked for again."""
    section, _, key = name.rpartition(".")
    current = ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\s*([^\]]+?)\s*\]", line)
        current = header[1].strip("\"' ") if header else current
        if header and not section and current == key:
            return number
        if current == section and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[.=]", line):
            return number
        if re.match(rf"\s*{re.escape(name)}\s*=", line):
            return number
    return 1


def _hint(name: str, known: Mapping[str, Any] | list[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _convert(row: _Row, value: Any, where: str) -> Any:
    """Bring a value from text, TOML or a flag to the row's type and check its limits."""
    converted = _as_type(row.type, value)
    if converted is None:
        raise Misconfigured(f"{where}: expected {_kind(row.type)}, got {value!r}")
    low, high = row.about["minimum"], row.about["maximum"]
    if (low is not None and converted < low) or (high is not None and converted > high):
        limits = f"at least {low:g}" if high is None else f"between {low or 0:g} and {high:g}"
        raise Misconfigured(f"{where}: must be {limits}, got {converted!r}")
    return converted


def _as_type(kind: Any, value: Any) -> Any:
    """Return the value as `kind`, or None when it cannot be meant."""
    if get_origin(kind) is Literal:
        return value if value in get_args(kind) else None
    if get_origin(kind) is tuple:
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            return None
        return tuple(part for part in parts if part)
    if kind is bool:
        words = {
            "1": True,
            "true": True,
            "on": True,
            "yes": True,
            "0": False,
            "false": False,
            "off": False,
            "no": False,
        }
        return value if isinstance(value, bool) else words.get(str(value).strip().lower())
    if isinstance(value, bool):
        return None
    if kind is Path:
        return Path(value).expanduser() if isinstance(value, str | Path) and str(value) else None
    if kind is str:
        return value if isinstance(value, str) else None
    try:
        number = kind(value)
        # No limit stops `inf` and `nan`, and a fraction must not be lost in silence.
        return number if math.isfinite(number) and (isinstance(value, str) or number == value) else None
    except (TypeError, ValueError, OverflowError):
        return None


def _kind(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    if get_origin(kind) is tuple:
        return "list"
    return {int: "integer", float: "number", bool: "boolean", str: "text", Path: "folder"}[kind]
