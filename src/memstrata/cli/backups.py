"""`backup` and `restore`: a whole database in one file, taken while a server runs, put back where none does."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from memstrata.audit.head import write_head
from memstrata.cli.logs import write_logs
from memstrata.cli.place import Place, read_settings
from memstrata.cli.screen import Screen
from memstrata.cli.words import say
from memstrata.clock import SystemClock, to_iso
from memstrata.records.audit import AuditHead
from memstrata.store.sqlite.backup import BackupManifest, back_up, restore

__all__ = ["make_backup", "restore_backup"]


def make_backup(screen: Screen, place: Place, target: Path) -> None:
    """Write the backup. Raises NotFound, Conflict if the file is there, OSError."""
    write_logs("warning")
    settings, _ = read_settings(place.data_dir, place.config)
    manifest = back_up(settings.data_dir, target, SystemClock())
    at = to_iso(manifest.created_at)
    _tell(screen, say("backup.done", file=target, folder=settings.data_dir, at=at), manifest, target, settings.data_dir)


def restore_backup(screen: Screen, place: Place, file: Path, *, force: bool) -> None:
    """Put it back. Raises Conflict if the folder is not empty, InvalidRequest if the file is damaged, Misconfigured."""
    write_logs("warning")
    settings, _ = read_settings(place.data_dir, place.config)
    folder = settings.data_dir
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    aside = folder.with_name(f"{folder.name}.before-restore-{stamp}")
    manifest = restore(file, folder, force=force, moved_aside=aside)
    at = to_iso(manifest.created_at)
    if manifest.audit_rows:
        # Or the trail would seem cut off: its end is noted beside the database, and that note is not in the backup.
        write_head(folder, AuditHead(manifest.audit_rows, bytes.fromhex(manifest.audit_hash)))
    _tell(screen, say("restore.done", file=file, folder=folder, at=at), manifest, file, folder)
    if aside.exists():
        screen.line(say("restore.aside", folder=aside), indent=2)


def _tell(screen: Screen, text: str, manifest: BackupManifest, file: Path, folder: Path) -> None:
    screen.bullet(text)
    messages, memories = say.count("message", manifest.messages), say.count("memory", manifest.memories)
    screen.line(f"{messages} · {memories} · sha256 {manifest.sha256}", indent=2)
    screen.json(
        {
            "file": str(file),
            "data_dir": str(folder),
            "created_at": to_iso(manifest.created_at),
            "schema": manifest.schema,
            "sha256": manifest.sha256,
            "messages": manifest.messages,
            "memories": manifest.memories,
        }
    )
