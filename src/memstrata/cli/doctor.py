"""`doctor`: whether this installation can work, and what to do where it cannot. It changes nothing.

Models are only asked where that is wanted (`--llm`): it costs tokens.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import apsw

from memstrata.cli.background import owner_of
from memstrata.cli.check import Check, show_check
from memstrata.cli.distilling import distiller_state
from memstrata.cli.failures import MISCONFIGURED
from memstrata.cli.place import Place
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.clock import SystemClock
from memstrata.errors import MemstrataError, Misconfigured
from memstrata.server import bind
from memstrata.settings import FILE_NAME, Settings, load_settings, unknown_variables
from memstrata.store.sqlite.connection import open_reader, query
from memstrata.store.sqlite.errors import translated
from memstrata.store.sqlite.store import DATABASE_NAME
from memstrata.vectors.factory import embedder_of

__all__ = ["Check", "doctor", "examine"]

_MINIMUM_PYTHON = (3, 11)
_LOW_BYTES = 1 << 30


def doctor(screen: Screen, place: Place, port: int | None, *, asks_models: bool = False) -> int:
    """Look at everything and return the exit code: 3 where something must be changed. `asks_models`: call them, too."""
    checks = list(examine(place, port))
    for check in checks:
        show_check(screen, check)
    if asks_models:
        for check in asyncio.run(_models(screen, place)):
            show_check(screen, check)
            checks.append(check)
    failed = sum(check.state == "failed" for check in checks)
    screen.line(say("doctor.unwell", number=failed) if failed else say("doctor.well"), "bold")
    screen.json({"ok": not failed, "checks": [check.as_json() for check in checks]})
    return MISCONFIGURED if failed else 0


def examine(place: Place, port: int | None) -> Iterator[Check]:
    """Yield what was found, one check at a time. Settings that cannot be read leave out what depends on them."""
    yield _python(sys.version_info[:2])
    yield _packages()
    yield _sqlite()
    try:
        flags = {"data_dir": place.data_dir, "server.port": port}
        settings, origins = load_settings(flags=flags, file=place.config)
    except MemstrataError as error:
        yield Check("doctor.settings", "failed", str(error))
        return
    yield _settings(place.config, frozenset(origins.values()))
    for text in unknown_variables(os.environ):
        yield Check("doctor.settings", "warning", text)
    yield _folder(settings.data_dir)
    yield _disk(settings.data_dir)
    yield _port(settings)
    yield _database(settings.data_dir)
    yield _distiller(settings)
    yield _embedder(settings)


def _embedder(settings: Settings) -> Check:
    """Look whether the embedder can be made, and ask it nothing: a model of gigabytes would be loaded for it."""
    try:
        embedder = embedder_of(settings.embedding, SystemClock())
    except Misconfigured as error:
        return Check("doctor.embedder", "failed", str(error))
    if embedder is None:
        return Check("doctor.embedder", "ok", say("doctor.embedder.none"))
    return Check("doctor.embedder", "ok", say("doctor.embedder.there", embedder=embedder.name))


def _python(version: tuple[int, ...]) -> Check:
    text = f"{platform.python_version()} ({platform.python_implementation()})"
    if version < _MINIMUM_PYTHON:
        return Check("doctor.python", "failed", f"{text} → {say('doctor.python.old')}")
    return Check("doctor.python", "ok", text)


def _packages() -> Check:
    requirements = metadata.requires("memstrata") or []
    names = sorted({_project(each) for each in requirements if _is_for_the_server(each)})
    missing = [name for name in names if not _installed(name)]
    if missing:
        return Check("doctor.packages", "failed", say("doctor.packages.missing", names=", ".join(missing)))
    return Check("doctor.packages", "ok", say("doctor.packages.ok", number=len(names)))


def _is_for_the_server(requirement: str) -> bool:
    """Whether it is of the base install or of `server` on every platform. Others may rightly be absent."""
    _, semicolon, marker = requirement.partition(";")
    return not semicolon or marker.strip().replace('"', "'") == "extra == 'server'"


def _project(requirement: str) -> str:
    end = next((at for at, char in enumerate(requirement) if not (char.isalnum() or char in "-_.")), len(requirement))
    return requirement[:end]


def _installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _sqlite() -> Check:
    version = apsw.sqlite_lib_version()
    try:
        apsw.Connection(":memory:").execute("CREATE VIRTUAL TABLE t USING fts5(x, content='', contentless_delete=1)")
    except apsw.Error:
        return Check("doctor.sqlite", "failed", say("doctor.sqlite.no_fts", version=version))
    return Check("doctor.sqlite", "ok", say("doctor.sqlite.ok", version=version))


def _settings(file: Path | None, origins: frozenset[str]) -> Check:
    used = file or (Path(FILE_NAME) if FILE_NAME in origins else None)
    return Check("doctor.settings", "ok", str(used) if used else say("doctor.settings.none"))


def _folder(folder: Path) -> Check:
    existing = _nearest(folder)
    try:
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        return Check("doctor.folder", "failed", say("doctor.folder.bad", folder=folder, reason=reason))
    return Check(
        "doctor.folder", "ok", say("doctor.folder.ok" if folder.is_dir() else "doctor.folder.new", folder=folder)
    )


def _disk(folder: Path) -> Check:
    free = shutil.disk_usage(_nearest(folder)).free
    if free < _LOW_BYTES:
        return Check("doctor.disk", "warning", say("doctor.disk.low", size=_size(free)))
    return Check("doctor.disk", "ok", say("doctor.disk.free", size=_size(free)))


def _port(settings: Settings) -> Check:
    owner = owner_of(settings.data_dir)
    if owner and owner.get("url"):
        return Check("doctor.port", "ok", say("doctor.port.ours", url=owner["url"]))
    try:
        bind(settings.server).close()
    except MemstrataError as error:
        return Check("doctor.port", "failed", say("doctor.port.taken", reason=error))
    address = f"{settings.server.host}:{settings.server.port}"
    return Check("doctor.port", "ok", say("doctor.port.free", address=address))


def _database(folder: Path) -> Check:
    file = folder / DATABASE_NAME
    if not file.exists():
        return Check("doctor.database", "ok", say("doctor.database.none"))
    owner = owner_of(folder)
    if owner is not None:
        return Check("doctor.database", "ok", say("doctor.database.in_use", pid=owner.get("pid", "?")))
    try:
        with translated(f"open {file}"):
            connection = open_reader(file)
            found = query(connection, "PRAGMA quick_check(1)")
            connection.close()
        reason = "" if found == [("ok",)] else str(found[0][0])
    except MemstrataError as error:
        reason = str(error)
    if reason:
        return Check("doctor.database", "failed", say("doctor.database.damaged", reason=reason))
    return Check("doctor.database", "ok", say("doctor.database.ok", size=_size(file.stat().st_size)))


def _distiller(settings: Settings) -> Check:
    """Say what distills, without asking it."""
    if settings.llm.configured:
        # Loaded only where it is used, as in the server.
        from memstrata.distill.model import role_models

        try:
            role_models(settings.llm)
        except MemstrataError as error:
            return Check("doctor.distiller", "failed", str(error))
    return Check("doctor.distiller", "ok", distiller_state(settings))


async def _models(screen: Screen, place: Place) -> list[Check]:
    """Ask the models. What else is wrong with the settings has been said."""
    from memstrata.cli.model_check import check_models

    try:
        settings, _ = load_settings(flags={"data_dir": place.data_dir}, file=place.config)
        if not settings.llm.configured:
            return [Check("doctor.llm.model", "failed", say("doctor.llm.none"))]
        return await check_models(
            settings.llm, SystemClock(), lambda model: screen.bullet(say("doctor.llm.step", model=model))
        )
    except Misconfigured:
        return []


def _nearest(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next((each for each in (folder, *folder.parents) if each.is_dir()), Path())


def _size(number: float) -> str:
    for unit in ("B", "KiB", "MiB"):
        if number < 1024:
            return f"{number:.0f} {unit}"
        number /= 1024
    return f"{number:.1f} GiB"
