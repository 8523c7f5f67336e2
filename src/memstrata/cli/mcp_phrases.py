"""What the command line says about its MCP server: part of the table in `phrases`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MCP_PHRASES"]

MCP_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.mcp": (
        "Serve memory to an MCP client over standard input and output; it is the client that starts this.",
        "通过标准输入输出向 MCP 客户端提供记忆；由客户端启动。",
    ),
    "help.option.mcp_language": (
        "language of the tools, en or zh; else as the settings have it",
        "工具的语言，en 或 zh；默认取自设置",
    ),
    "mcp.missing": (
        'MCP needs an extra: pip install "memstrata[mcp]"',
        'MCP 需要安装附加组件：pip install "memstrata[mcp]"',
    ),
}
