"""What the command line says about the audit trail: part of the table in `phrases`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["AUDIT_PHRASES"]

AUDIT_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.audit": (
        "Who did what: ids and counts, never contents. Each row is chained to the one before.",
        "谁做了什么：只有 ID 和数量，没有内容。每一行都与前一行相连。",
    ),
    "help.audit.verify": (
        "Check that no row was changed, taken out, put in, moved or cut off. Exit code 1 where one was.",
        "检查是否有记录被修改、删除、插入、移动或截断。如有则退出码为 1。",
    ),
    "help.audit.list": (
        "Rows of an instance, the newest first. Users stand in them as marks; --user finds those of a name.",
        "实例的审计记录，最新的在前。用户以标记显示；用 --user 按名称查找。",
    ),
    "help.option.audit_user": ("Rows by or about this user.", "由该用户执行或与其有关的记录。"),
    "help.option.audit_action": (
        "Rows of this action, such as memory.delete; `memory.` for all of memories.",
        "该操作的记录，例如 memory.delete；`memory.` 表示与记忆有关的全部操作。",
    ),
    "help.option.audit_since": (
        "Rows from this time on, such as 2026-01-02T03:04:05Z.",
        "自该时间起的记录，例如 2026-01-02T03:04:05Z。",
    ),
    "help.option.audit_limit": ("How many rows at most.", "最多显示多少条记录。"),
    "audit.step": ("verifying the audit trail", "验证审计记录"),
    "audit.rows": ("{rows:,} rows", "{rows:,} 条记录"),
    "audit.intact": ("no row was changed or is missing", "没有记录被改动或缺失"),
    "audit.broken": ("broken at row {seq:,}: {reason}", "在第 {seq:,} 条记录处断开：{reason}"),
    "audit.row": (
        "{seq:>6}  {at}  {actor}  {action}  {owner}  {subject}",
        "{seq:>6}  {at}  {actor}  {action}  {owner}  {subject}",
    ),
    "audit.none": ("no such rows", "没有符合条件的记录"),
}
