"""What the command line says about the proxy. English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["PROXY_PHRASES"]

PROXY_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.proxy": (
        "Run the model proxy alone, in front of a memory server elsewhere. `memstrata serve` has it on its own port.",
        "单独运行模型代理，记忆服务在别处；`memstrata serve` 已在同一端口提供代理。",
    ),
    "help.option.core": ("Address of the memory server.", "记忆服务的地址。"),
    "help.option.proxy_port": (
        "Port to listen on, 8096 by default; 0 takes a free one.",
        "监听端口，默认 8096，0 表示任选空闲端口。",
    ),
    "status.proxy": (
        "{requests} requests, {without} without memory · {recalled} recalls · {waiting} turns wait, {parked} put aside"
        " · {share:.0%} read from the provider's cache",
        "{requests} 个请求，其中 {without} 个未带记忆 · 召回 {recalled} 次 · {waiting} 轮等待写入，{parked} 轮已搁置"
        " · {share:.0%} 读自模型服务的缓存",
    ),
    "proxy.ready": (
        "proxy on {url} · core {core} · store {folder}",
        "代理运行在 {url} · 记忆服务 {core} · 数据 {folder}",
    ),
}
