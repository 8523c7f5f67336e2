"""What the command line says about the scan for secrets: part of the table in `phrases`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["SCAN_PHRASES"]

SCAN_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.scan": (
        "Look for secrets in all that is stored. Says where they are, never what they are; --fix takes them out.",
        "在全部已存内容中查找密钥和密码。只说在哪里，不显示内容；--fix 将其去除。",
    ),
    "help.option.fix": (
        "Write a placeholder over what is found, in every version and copy.",
        "在每个版本和副本中用占位符覆盖找到的内容。",
    ),
    "scan.step": ("reading all texts", "读取全部文本"),
    "scan.done": ("{scanned:,} texts, {rows:,} with secrets", "{scanned:,} 份文本，{rows:,} 份含有密钥"),
    "scan.kind": ("{number:,} × {kind}", "{number:,} × {kind}"),
    "scan.row": (
        "{layer} {record} (version {version}) of {owner}: {kinds}",
        "{layer} {record}（版本 {version}），属于 {owner}：{kinds}",
    ),
    "scan.kept": ("kept by policy", "按策略保留"),
    "scan.more": ("… and {number:,} more", "……还有 {number:,} 处"),
    "scan.fixed": (
        "{fixed:,} texts were written over, in every copy",
        "已覆盖 {fixed:,} 份文本，包括所有副本",
    ),
    "scan.not_scrubbed": (
        "old bytes may still lie in files; the next start goes on with that",
        "文件中可能仍有旧字节，下次启动时会继续清理",
    ),
    "scan.hint": ("`memstrata scan --fix` takes them out.", "用 `memstrata scan --fix` 去除。"),
}
