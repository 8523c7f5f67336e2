"""What the command line says about coding agents, their hooks and their configuration: part of the table in `phrases`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["AGENT_PHRASES"]

AGENT_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.hook": (
        "Answer an event of a coding agent (claude-code, codex): JSON in, JSON out, never more than two seconds.",
        "回应编程助手（claude-code、codex）的一个事件：JSON 进，JSON 出，最多两秒。",
    ),
    "help.hook.status": (
        "What the hooks did last, and which turns wait for a server.",
        "钩子最近做了什么，哪些对话轮次在等待服务。",
    ),
    "help.setup": (
        "Connect a coding agent: show what would change in its configuration, ask, write, keep a backup.",
        "接入编程助手：先显示其配置将有哪些改动，确认后写入，并保留备份。",
    ),
    "help.argument.client": ("one of: {clients}", "可选：{clients}"),
    "help.option.with": (
        "also set this up, may be repeated: hooks, mcp; or proxy, which takes the place of hooks",
        "同时设置，可重复：hooks、mcp；或 proxy，它取代 hooks",
    ),
    "help.option.setup_yes": ("write without asking", "不询问，直接写入"),
    "help.option.setup_undo": (
        "take everything out again; files that nobody changed since are restored to the byte",
        "全部撤销；此后没有别人改动过的文件会逐字节还原",
    ),
    "help.option.setup_url": ("the server that the agent will use", "编程助手将使用的服务"),
    "setup.unknown": ("{client} is not known; there are {clients}", "不认识 {client}；可选 {clients}"),
    "setup.unsupported": ("{client} has no {kind}", "{client} 没有 {kind}"),
    "setup.nothing": ("nothing to change for {client}", "{client} 无需改动"),
    "setup.ask": ("Write this?", "写入以上改动？"),
    "setup.not_asked": (
        "nothing was written: there is no terminal to ask at; --yes writes it",
        "没有写入：没有可以询问的终端；加 --yes 写入",
    ),
    "setup.declined": ("nothing was written", "没有写入"),
    "setup.written": ("wrote {file}", "已写入 {file}"),
    "setup.removed": ("removed {file}, which did not exist before", "已删除 {file}，它原先不存在"),
    "setup.backup": ("what it was before is kept in {file}", "原内容保存在 {file}"),
    "setup.undo_hint": (
        "`memstrata setup {client} --undo` takes it back.",
        "`memstrata setup {client} --undo` 可撤销。",
    ),
    "help.option.user_key": (
        "key of a user in a server with keys, for the proxy; never shown",
        "服务启用密钥时的用户密钥，供代理使用；不会显示",
    ),
    "setup.proxy.claude-code": (
        "Claude Code speaks to the proxy from its next start; hooks of ours are out, because the proxy recalls already.",
        "Claude Code 下次启动起经由代理；我们的 hooks 已移除，因为代理会负责召回。",
    ),
    "setup.proxy.codex": (
        "Start it with `codex -c model_provider=memstrata`, or put that line at the top of config.toml.",
        "用 `codex -c model_provider=memstrata` 启动，或把这一行写在 config.toml 的开头。",
    ),
    "setup.proxy.variables": (
        "set the base URL of {client} to {url}",
        "把 {client} 的 base URL 设为 {url}",
    ),
    "setup.proxy.header": ("and let it send the header {header}", "并让它发送请求头 {header}"),
    "setup.proxy.none": (
        "no proxy answers at {url}: start it with `memstrata serve`, or check the user key",
        "{url} 没有代理应答：用 `memstrata serve` 启动，或检查用户密钥",
    ),
    "setup.proxy.own_credential": (
        "the proxy is there and reaches the provider, which wants the client's own credential",
        "代理可用并能到达模型服务；模型服务要求客户端自己的凭据",
    ),
    "setup.proxy.no_provider": (
        "the proxy is there, but the provider behind it does not answer ({status}); see proxy.upstreams",
        "代理可用，但上游模型服务没有应答（{status}）；请检查 proxy.upstreams",
    ),
    "setup.proxy.reached": (
        "the proxy is there and the provider answers ({status})",
        "代理可用，模型服务有应答（{status}）",
    ),
    "setup.advice.restart": (
        "Sessions that run already do not see it; start a new one.",
        "正在运行的会话看不到改动，请新开一个。",
    ),
    "setup.advice.trust": (
        "Codex may run new hooks only after you have trusted them: look at /hooks. Its earlier versions also need"
        " `codex_hooks = true` under [features] in config.toml.",
        "Codex 可能要等你信任新钩子后才运行它们：请查看 /hooks。较早版本还需要在 config.toml 的 [features] 下设置"
        " `codex_hooks = true`。",
    ),
    "setup.no_server": (
        "No server answers at {url} yet; `memstrata serve` starts one. Until then hooks keep turns and recall nothing.",
        "{url} 目前没有服务；用 `memstrata serve` 启动。在此之前钩子只保存对话轮次，不召回记忆。",
    ),
    "hooks.none": ("no hook has run yet", "还没有钩子运行过"),
    "hooks.last": ("{event}: {outcome}, {time}", "{event}：{outcome}，{time}"),
    "hooks.waiting": ("{number:,} turns wait for the server", "{number:,} 轮对话在等待服务"),
    "hooks.refused": ("{number:,} turns were refused for good", "{number:,} 轮对话被服务拒绝，不再重试"),
    "hooks.outcome.recalled": ("memory was added to the prompt", "已加入记忆"),
    "hooks.outcome.captured": ("the turn was handed over", "已交付本轮对话"),
    "hooks.outcome.nothing new": ("nothing new", "没有新内容"),
    "hooks.outcome.nothing found": ("nothing found that bears on it", "没有找到相关记忆"),
    "hooks.outcome.skipped": ("nothing to do", "无需处理"),
    "hooks.outcome.no server": ("no server answered; none was started", "没有服务应答；没有启动新服务"),
    "hooks.outcome.refused": ("the server refused", "服务拒绝"),
    "hooks.outcome.failed": ("failed", "失败"),
}
