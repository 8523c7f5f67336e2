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
    "setup.either": (
        "hooks and proxy together would recall memory twice; choose one of them",
        "hooks 与 proxy 同时使用会重复召回记忆；请二选一",
    ),
    "setup.twice": (
        "The proxy is set up in {client} too: with hooks beside it memory is recalled twice. `--with proxy` takes the hooks out,"
        " `--undo` takes everything out.",
        "{client} 已设置代理：再加 hooks 会重复召回记忆。`--with proxy` 会移除 hooks，`--undo` 会全部移除。",
    ),
    "setup.displaced": (
        "{value} stands in {file}; ours takes its place, and `--undo` brings it back",
        "{file} 中原有 {value}；将由我们的值取代，`--undo` 会恢复",
    ),
    "setup.proxy.variables": (
        "set the base URL of {client} to {url}",
        "把 {client} 的 base URL 设为 {url}",
    ),
    "setup.proxy.header": ("and let it send the header {header}", "并让它发送请求头 {header}"),
    "setup.proxy.no_name": ("{client} is no name for a client in a path", "{client} 不能作为路径中的客户端名称"),
    "setup.proxy.none": (
        "no proxy answers at {url}: start it with `memstrata serve`",
        "{url} 没有代理应答：用 `memstrata serve` 启动",
    ),
    "setup.proxy.there": ("the proxy answers at {url}", "代理在 {url} 应答"),
    "setup.proxy.no_user": (
        "the proxy wants the key of a user that it knows: give it with --user-key",
        "代理需要它认识的用户密钥：用 --user-key 提供",
    ),
    "setup.proxy.refused": ("the proxy refuses: {reason}", "代理拒绝：{reason}"),
    "setup.proxy.silent": (
        "the provider behind it said nothing within {seconds:g} s",
        "模型服务在 {seconds:g} 秒内没有应答",
    ),
    "setup.proxy.own_credential": (
        "the provider answered 401 to a request without a credential, so the client's own will be used",
        "模型服务对不带凭据的请求返回 401，因此将使用客户端自己的凭据",
    ),
    "setup.proxy.no_provider": (
        "the provider behind it does not answer ({status}); see the setting proxy.upstreams",
        "上游模型服务没有正常应答（{status}）；请检查设置 proxy.upstreams",
    ),
    "setup.proxy.reached": ("the provider answers ({status})", "模型服务有应答（{status}）"),
    "setup.advice.proxied": (
        "Our hooks are out of it, if there were any: the proxy recalls already.",
        "如有我们的 hooks，已经移除：代理本身会召回记忆。",
    ),
    "setup.advice.tool_search": (
        "With a base URL of one's own Claude Code loads all MCP tools at once; ENABLE_TOOL_SEARCH=true in `env` searches again.",
        "使用自定义 base URL 时，Claude Code 会一次加载所有 MCP 工具；在 `env` 中设 ENABLE_TOOL_SEARCH=true 可恢复按需搜索。",
    ),
    "setup.advice.login": (
        "Codex keeps its login. One with ChatGPT needs"
        " `codex=https://chatgpt.com/backend-api/codex/responses` in the setting proxy.upstreams.",
        "Codex 沿用已有登录。若用 ChatGPT 登录，需在设置 proxy.upstreams 中加入"
        " `codex=https://chatgpt.com/backend-api/codex/responses`。",
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
