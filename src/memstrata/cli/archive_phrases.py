"""What the command line says about exports that come back, and backups: part of the table in `phrases`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ARCHIVE_PHRASES"]

ARCHIVE_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.option.out": ("The same as FILE.", "同 FILE。"),
    "help.option.of": (
        "What to export: the scope, all of the user, or the whole instance.",
        "导出什么：当前范围、该用户的全部内容，或整个实例。",
    ),
    "help.option.as_instance": (
        "Import an export into this instance instead of its own.",
        "把导出文件导入到此实例，而不是它原来的实例。",
    ),
    "help.option.as_user": (
        "Import the export of one user as this user.",
        "把单个用户的导出文件导入为此用户。",
    ),
    "help.backup": (
        "Write the whole database to a file, also while a server runs.",
        "把整个数据库备份为一个文件，服务运行时也可以。",
    ),
    "help.restore": ("Put a backup into an empty data folder.", "把备份恢复到空的数据目录。"),
    "help.argument.backup": ("File to write; it may not exist yet.", "要写入的文件，不能已存在。"),
    "help.argument.restore": ("A file that `memstrata backup` wrote.", "由 `memstrata backup` 写出的文件。"),
    "help.option.force": (
        "Move what is in the folder aside first.",
        "先把目录中已有的内容移到一旁。",
    ),
    "archive.imported": (
        "{name}: {added} added, {known} already there, {conflict} in conflict, {skipped} left out",
        "{name}：新增 {added}，已存在 {known}，冲突 {conflict}，跳过 {skipped}",
    ),
    "archive.would": (
        "{name}: would add {added}; {known} already there, {conflict} in conflict, {skipped} left out",
        "{name}：将新增 {added}；已存在 {known}，冲突 {conflict}，跳过 {skipped}",
    ),
    "archive.problem": ("line {line} ({kind}): {reason}", "第 {line} 行（{kind}）：{reason}"),
    "archive.more": ("and {number} more", "另有 {number} 处"),
    "archive.mixed": (
        "some of the files are exports and some are conversations; import them one after the other",
        "这些文件里既有导出文件又有对话文件，请分开导入",
    ),
    "archive.not_one": (
        "--as-instance and --as-user go with an export alone; conversations go where --instance and --user say",
        "--as-instance 和 --as-user 只用于导出文件；对话文件用 --instance 和 --user 指定去处",
    ),
    "archive.no_answer": ("the server answered {status}", "服务返回 {status}"),
    "backup.done": ("{folder} as it was at {at} is in {file}", "{folder} 在 {at} 的内容已备份到 {file}"),
    "restore.done": ("{folder} is as it was at {at} ({file})", "{folder} 已恢复到 {at} 的状态（{file}）"),
    "restore.aside": ("what was in it is in {folder}", "原有内容已移到 {folder}"),
}
