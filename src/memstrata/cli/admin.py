"""The administrator of an instance: made by `init-admin`, or by the first `serve` of a data folder.

The key is in a file that only its owner can read, written before the user is: a key that nobody has would lock the
instance for ever, a file without a user is only in the way of the next try. No file is ever overwritten: after a database
was lost, the key of the old one may still open a backup.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from memstrata.audit import AuditTrail
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.clock import SystemClock
from memstrata.directory.bootstrap import Bootstrap
from memstrata.directory.key_text import new_key
from memstrata.directory.people import NewUser
from memstrata.directory.verification import Verification
from memstrata.errors import Conflict, Misconfigured
from memstrata.ids import file_name
from memstrata.records.audit import CLI
from memstrata.store.audit import acting
from memstrata.store.sqlite.store import SqliteStore

__all__ = ["DEFAULT_INSTANCE", "admin_key_file", "first_admin", "init_admin", "tell_of_older"]

DEFAULT_INSTANCE = "default"
USERNAME = "admin"


def init_admin(screen: Screen, place: Place, username: str) -> None:
    """Make the administrator of an instance and show the key, this once.

    Raises Conflict if the instance has users, Misconfigured if the folder cannot be used or a server has it open.
    """
    write_logs("warning")
    settings, _ = read_settings(place.data_dir, place.config)
    admin, file = asyncio.run(_made(settings.data_dir, place.instance, username))
    screen.bullet(say("admin.made", username=username, instance=place.instance, file=file))
    tell_of_older(screen, file, admin_key_file(settings.data_dir, place.instance))
    screen.line(admin.key)
    screen.json({"instance": place.instance, "user_id": admin.user.user_id, "user_key": admin.key, "file": str(file)})


async def first_admin(bootstrap: Bootstrap, folder: Path) -> Path | None:
    """Make the administrator of the instance `default` where it has no user yet; return the file with the key.

    None where there is nothing to do. Raises Misconfigured if the file cannot be written.
    """
    try:
        _, file = await _make(bootstrap, folder, DEFAULT_INSTANCE, USERNAME)
    except Conflict:
        return None
    return file


def admin_key_file(folder: Path, instance: str) -> Path:
    """Return where the key of an instance's administrator is written, if nothing is there."""
    return folder / ("admin.key" if instance == DEFAULT_INSTANCE else f"admin-{file_name(instance)}.key")


def tell_of_older(screen: Screen, file: Path, usual: Path) -> None:
    """Say that a key was written beside an older one, if it was."""
    if file != usual:
        screen.line(say("admin.older", older=usual), "yellow", indent=2)


async def _made(folder: Path, instance: str, username: str) -> tuple[NewUser, Path]:
    store = await SqliteStore.open(folder)
    try:
        clock = SystemClock()
        trail = AuditTrail(store, clock, folder)
        await trail.start()
        made = await _make(Bootstrap(store, clock, Verification(store, clock)), folder, instance, username)
        await trail.flush()  # or the next start finds an end that nobody noted
        return made
    finally:
        await store.close()


async def _make(bootstrap: Bootstrap, folder: Path, instance: str, username: str) -> tuple[NewUser, Path]:
    if await bootstrap.is_done(instance):
        raise Conflict("already_initialized: this instance has users")
    key = new_key()
    file = await asyncio.to_thread(_write, admin_key_file(folder, instance), key)
    try:
        with acting(CLI):
            return await bootstrap.init_admin(instance, username=username, key=key), file
    except BaseException:
        file.unlink(missing_ok=True)
        raise


def _write(wanted: Path, key: str) -> Path:
    """Write a new file, so that its mode is ours, and return it: beside the wanted one where a key is there already."""
    try:
        file, descriptor = _opened(wanted)
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(f"{key}\n")
            out.flush()
            os.fsync(out.fileno())
    except OSError as error:
        raise Misconfigured(f"{error.filename or wanted} cannot be written: {error.strerror}") from error
    return file


def _opened(wanted: Path) -> tuple[Path, int]:
    """Return a file that was not there, and its descriptor: the wanted one, else the first of `.2`, `.3`, …"""
    file, number = wanted, 1
    while True:
        try:
            return file, os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            if not file.is_file():
                raise
            number += 1
            file = wanted.with_name(f"{wanted.name}.{number}")
