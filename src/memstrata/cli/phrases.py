"""The table behind `words`: each phrase in English and Chinese, and the nouns that are counted."""

from __future__ import annotations

from collections.abc import Mapping

from memstrata.cli.agent_phrases import AGENT_PHRASES
from memstrata.cli.archive_phrases import ARCHIVE_PHRASES
from memstrata.cli.audit_phrases import AUDIT_PHRASES
from memstrata.cli.eval_phrases import EVAL_PHRASES
from memstrata.cli.forgetting_phrases import FORGETTING_PHRASES
from memstrata.cli.mcp_phrases import MCP_PHRASES
from memstrata.cli.model_phrases import MODEL_PHRASES
from memstrata.cli.proxy_phrases import PROXY_PHRASES
from memstrata.cli.scan_phrases import SCAN_PHRASES

__all__ = ["NOUNS", "PHRASES"]

NOUNS: Mapping[str, tuple[str, str, str]] = {
    "message": ("message", "messages", "条消息"),
    "session": ("session", "sessions", "个会话"),
    "memory": ("memory", "memories", "条记忆"),
    "scene": ("scene", "scenes", "个场景"),
    "document": ("document", "documents", "份文档"),
    "character": ("character", "characters", "字"),
    "file": ("file", "files", "个文件"),
}

_HELP: Mapping[str, tuple[str, str]] = {
    "help": (
        "Layered long-term memory for AI agents: messages, memories, scenes and a persona.",
        "AI Agent 的分层长期记忆：消息、记忆、场景与画像。",
    ),
    "help.serve": (
        "Serve the HTTP API until Ctrl-C or `memstrata stop`.",
        "启动 HTTP 服务，Ctrl-C 或 `memstrata stop` 停止。",
    ),
    "help.demo": (
        "See it work: import a conversation, distill it, ask two questions. Needs no key.",
        "看它如何工作：导入一段对话，提炼，再问两个问题。不需要密钥。",
    ),
    "help.init_admin": (
        "Make the administrator of an instance that has no users, and show the key once.",
        "为还没有用户的实例创建管理员，密钥只显示一次。",
    ),
    "help.stop": ("Stop the server of a data folder.", "停止某个数据目录的服务。"),
    "help.import": (
        "Import conversations, or our own exports, from files.",
        "从文件导入对话，或导入本程序的导出文件。",
    ),
    "help.export": (
        "Write everything of a scope, a user or an instance as JSON lines.",
        "把一个范围、用户或实例的全部内容导出为 JSON 行。",
    ),
    "help.search": ("Search memories or messages.", "搜索记忆或消息。"),
    "help.trace": ("Why a memory is there, and how it was made.", "一条记忆为何存在，如何产生。"),
    "help.history": ("Every version of a memory.", "一条记忆的全部版本。"),
    "help.undo": ("Take back the last change of a memory.", "撤销一条记忆的最近一次变更。"),
    "help.status": ("What each layer holds and what waits.", "各层有什么，还有什么在等待。"),
    "help.doctor": ("Check the installation and say what to do.", "检查安装情况，并说明该怎么做。"),
    "help.config": ("Every setting: value, origin, default.", "全部设置：当前值、来源、默认值。"),
    "help.rebuild": ("Rebuild a lost database from its readable files.", "用可读文件重建丢失的数据库。"),
    "help.reindex": (
        "Wait until every message and memory has its vector, for example after a change of the embedding model.",
        "等待所有消息和记忆都有向量，例如更换向量模型之后。",
    ),
    "help.version": ("The version.", "版本。"),
    "help.option.data_dir": ("Folder of the database.", "数据库所在目录。"),
    "help.option.demo_dir": ("Folder of the demo's database.", "演示数据库所在目录。"),
    "help.option.config": (
        "Settings file (default: ./memstrata.toml if it is there).",
        "设置文件（默认 ./memstrata.toml，如果存在）。",
    ),
    "help.option.json": ("Print JSON only.", "只输出 JSON。"),
    "help.option.host": ("Address to listen on.", "监听地址。"),
    "help.option.port": ("Port to listen on; 0 takes a free one.", "监听端口，0 表示任选空闲端口。"),
    "help.option.quiet": ("Log warnings only, announce nothing.", "只记录警告，不输出启动信息。"),
    "help.option.log_format": ("Form of log lines: plain or json.", "日志格式：plain 或 json。"),
    "help.option.no_color": ("No colours.", "不使用颜色。"),
    "help.option.url": ("A server to use instead of a data folder.", "使用指定的服务，而不是数据目录。"),
    "help.option.api_key": ("Key of that server.", "该服务的密钥。"),
    "help.option.instance": ("Memory space; nothing is shared between two.", "记忆空间，彼此完全隔离。"),
    "help.option.team": ("Team of the scope.", "范围中的团队。"),
    "help.option.agent": ("Agent of the scope.", "范围中的 Agent。"),
    "help.option.user": ("User of the scope.", "范围中的用户。"),
    "help.option.username": ("Name of the administrator.", "管理员的用户名。"),
    "help.option.format": ("Format of the files: {formats}.", "文件格式：{formats}。"),
    "help.option.wait": ("Wait until all of it is distilled.", "等待全部提炼完成。"),
    "help.option.dry_run": ("Read the files, store nothing.", "只读取文件，不写入。"),
    "help.option.layer": ("What to search: memories or messages.", "搜索对象：memories（记忆）或 messages（消息）。"),
    "help.option.limit": ("Most results.", "最多返回几条。"),
    "help.option.neighbours": (
        "Messages to show before and after each one that was found.",
        "每条命中消息前后各显示几条。",
    ),
    "help.option.markdown": ("Print the table of the documentation.", "输出文档中的设置表。"),
    "help.option.from_files": ("From the readable files beside it.", "来自旁边的可读文件。"),
    "help.argument.demo_file": (
        "A conversation of your own (default: an example).",
        "你自己的对话文件（默认使用示例）。",
    ),
    "help.argument.files": ("Conversation files.", "对话文件。"),
    "help.argument.out": (
        "File to write, compressed if it ends with .gz; - is standard output.",
        "输出文件，以 .gz 结尾则压缩；- 表示标准输出。",
    ),
    "help.argument.memory_id": (
        "Id of a memory, as `memstrata search` shows it.",
        "记忆的 id，见 `memstrata search`。",
    ),
    "help.argument.query": ("What to look for.", "要找的内容。"),
}

_ERRORS: Mapping[str, tuple[str, str]] = {
    "error.usage": ("{message} (`memstrata --help` shows the way)", "用法不对：{message}（参见 `memstrata --help`）"),
    "error.invalid": ("{message}", "输入有误：{message}"),
    "error.misconfigured": ("{message}", "配置有误：{message}"),
    "error.unauthorized": (
        "the server wants another key: {message}; give --api-key or set MEMSTRATA_API_KEY",
        "服务不接受这个密钥：{message}；请用 --api-key 或设置 MEMSTRATA_API_KEY",
    ),
    "error.unavailable": ("not now: {message}", "暂时不可用：{message}"),
    "error.conflict": ("it contradicts what is stored: {message}", "与已存内容冲突：{message}"),
    "error.not_found": ("{message}", "没有找到：{message}"),
    "error.failed": ("{message}", "失败：{message}"),
    "error.unexpected": (
        "this should not happen: {message}; MEMSTRATA_LOG_LEVEL=debug shows where",
        "意外错误：{message}；设置 MEMSTRATA_LOG_LEVEL=debug 可查看位置",
    ),
    "error.base_install": (
        'the command line is not part of the base install: pip install "memstrata[server]"',
        '基础安装不含命令行：pip install "memstrata[server]"',
    ),
    "warning": ("warning: {text}", "注意：{text}"),
    "interrupted": ("interrupted", "已中断"),
    "no_data": (
        "{folder} holds no memories yet; `memstrata demo` or `memstrata import FILE` makes some",
        "{folder} 里还没有记忆；先运行 `memstrata demo` 或 `memstrata import 文件`",
    ),
    "no_data_but_demo": (
        "{folder} holds no memories yet; those of the demo are in {demo}: add --data-dir {demo}",
        "{folder} 里还没有记忆；演示的记忆在 {demo}：请加上 --data-dir {demo}",
    ),
    "in_use": (
        "{folder} is open in process {pid}, which serves no address; it can be used when that process ends",
        "{folder} 正被进程 {pid} 打开，且没有提供服务地址；等它结束后再试",
    ),
    "url_form": (
        "--url must be http://HOST:PORT or https://HOST:PORT, got {url}",
        "--url 应为 http://主机:端口 或 https://主机:端口，而不是 {url}",
    ),
}

_SERVER: Mapping[str, tuple[str, str]] = {
    "server.ready": (
        "memstrata {version} on {url} · store {folder} · {distiller}",
        "memstrata {version} 运行在 {url} · 数据 {folder} · {distiller}",
    ),
    "server.at": ("server on {url} · store {folder} · {distiller}", "服务 {url} · 数据 {folder} · {distiller}"),
    "server.reused": (
        "server on {url} · store {folder} · it was running already",
        "服务 {url} · 数据 {folder} · 已经在运行",
    ),
    "admin.first": (
        "first start: the administrator's key for the directory is in {file}",
        "首次启动：管理员密钥已写入 {file}",
    ),
    "admin.made": (
        "administrator {username} of instance {instance} · the key is shown this once, and is in {file}",
        "实例 {instance} 的管理员 {username} · 密钥只显示这一次，也已写入 {file}",
    ),
    "admin.older": (
        "{older} was there already, stays as it is, and opens nothing here: its database is another one",
        "{older} 原已存在，保持不变；它属于另一个数据库，在这里无效",
    ),
    "server.distiller.rules": (
        "no model set: distilling by rules (MEMSTRATA_LLM_BASE_URL and MEMSTRATA_LLM_MODEL set one)",
        "未设置模型：按规则提炼（用 MEMSTRATA_LLM_BASE_URL 和 MEMSTRATA_LLM_MODEL 设置）",
    ),
    "server.distiller.model": ("distilling with {models}", "由 {models} 提炼"),
    "server.stopped": ("stopped {url} (process {pid}) · store {folder}", "已停止 {url}（进程 {pid}）· 数据 {folder}"),
    "server.none": ("no server is running on {folder}", "{folder} 上没有正在运行的服务"),
    "server.not_stopped": (
        "process {pid} is still finishing its work after {seconds:.0f} s; it was told to stop",
        "进程 {pid} 在 {seconds:.0f} 秒后仍在收尾；已通知它停止",
    ),
    "server.start_failed": ("the server did not start: {reason} (log: {log})", "服务没有启动：{reason}（日志：{log}）"),
    "server.start_slow": (
        "the server has not answered for {seconds:.0f} s (log: {log})",
        "服务在 {seconds:.0f} 秒内没有应答（日志：{log}）",
    ),
}

_LAYERS: Mapping[str, tuple[str, str]] = {
    "layers.none": ("none yet", "还没有"),
    "layers.l0": ("{messages}, {since} → {until}", "{messages}，{since} → {until}"),
    "layers.l0_sessions": ("{messages}, {sessions}, {since} → {until}", "{messages}，{sessions}，{since} → {until}"),
    "layers.l1": ("{memories}: {types}", "{memories}：{types}"),
    "layers.superseded": (" · {number} superseded", " · {number} 条已被取代"),
    "layers.scene": ("{path} (heat {heat})", "{path}（热度 {heat}）"),
    "layers.l3": ("persona, {characters}", "画像，{characters}"),
    "layers.separator": (", ", "，"),
}

_IMPORT: Mapping[str, tuple[str, str]] = {
    "import.step": ("importing {name}", "导入 {name}"),
    "import.progress": ("{done}/{messages} · {sessions}", "{done}/{messages} · {sessions}"),
    "import.file": ("{name}: {format}, {messages} in {sessions}", "{name}：{format} 格式，{sessions}，{messages}"),
    "import.empty": ("{name}: no user or assistant messages in it", "{name}：里面没有用户或助手的消息"),
    "import.done": ("{new} new, {known} already there", "新增 {new}，已存在 {known}"),
    "import.dry_run": ("nothing was stored (--dry-run)", "没有写入（--dry-run）"),
    "import.skipped": ("left out", "跳过"),
    "import.not_waited": (
        "not waiting: a running server distills them; `memstrata status` shows how far",
        "不等待：由运行中的服务提炼，`memstrata status` 可查看进度",
    ),
    "import.nothing": ("no messages to import", "没有可导入的消息"),
    "skip.system message": ("system messages", "系统消息"),
    "skip.tool message": ("tool messages", "工具消息"),
    "skip.tool call": ("tool calls", "工具调用"),
    "skip.reasoning": ("reasoning", "推理过程"),
    "skip.empty message": ("empty messages", "空消息"),
    "skip.repeated message": ("repeated messages", "重复消息"),
    "skip.image": ("images", "图片"),
    "skip.audio": ("audio", "音频"),
    "skip.attachment": ("attachments", "附件"),
    "skip.distilled again from the messages": (
        "lines that are distilled again from the messages",
        "将从消息重新提炼的内容",
    ),
    "distill.step": ("distilling", "提炼"),
    "distill.progress": ("L1 {memories} · L2 {scenes} · L3 {personas}", "L1 {memories} · L2 {scenes} · L3 {personas}"),
    "distill.done": (
        "L1 {memories} · L2 {scenes} · L3 {personas}   ({seconds:.1f} s)",
        "L1 {memories} · L2 {scenes} · L3 {personas}   （{seconds:.1f} 秒）",
    ),
    "distill.unfinished": (
        "not all is distilled: {reason}; `memstrata status` shows what waits",
        "尚未全部提炼：{reason}；`memstrata status` 可查看还在等待的内容",
    ),
    "distill.waiting": ("{number} waiting in {layer}", "{layer} 还有 {number} 条在等待"),
}

_EXPORT: Mapping[str, tuple[str, str]] = {
    "export.done": (
        "{messages}, {memories}, {documents} written to {file}",
        "已写入 {file}：{messages}，{memories}，{documents}",
    ),
    "export.incomplete": ("the export was cut short; export again", "导出中断，请重新导出"),
}

_SEARCH: Mapping[str, tuple[str, str]] = {
    "search.none": ("nothing found for “{query}”", "没有找到“{query}”"),
    "search.neighbours": (
        "only messages have neighbours; add --layer messages",
        "只有消息才有前后文；请加上 --layer messages",
    ),
    "search.degraded": ("searched with less: {reasons}", "搜索能力受限：{reasons}"),
}

_TRACE: Mapping[str, tuple[str, str]] = {
    "trace.unknown": (
        "no memory {id} for --instance {instance} --team {team} --agent {agent} --user {user}; "
        "`memstrata search` shows the ids of these",
        "在 --instance {instance} --team {team} --agent {agent} --user {user} 中没有记忆 {id}；"
        "`memstrata search` 可查看其中的 id",
    ),
    "trace.by_rules": ("by rules", "由规则"),
    "trace.by_model": ("by {model}, prompt {prompt}, {mode}", "由 {model}，提示词 {prompt}，{mode}"),
    "history.live": ("holds", "有效"),
    "history.retired": ("replaced", "已被取代"),
    "history.proposal": ("proposed only", "仅为提议"),
    "undo.done": ("holds again: “{content}” ({id} v{version})", "重新有效：“{content}”（{id} v{version}）"),
}

_STATUS: Mapping[str, tuple[str, str]] = {
    "status.server": ("server {url} (version {version}) is {state}", "服务 {url}（版本 {version}）：{state}"),
    "status.no_server": (
        "no server is running on {folder}: nothing is distilled until one is",
        "{folder} 上没有正在运行的服务：启动之前不会提炼",
    ),
    "status.waiting": ("waiting", "等待"),
    "status.layer.idle": ("nothing waits", "无等待"),
    "status.layer.waiting": ("{pending} waiting", "{pending} 等待中"),
    "status.layer.running": ("{pending} being distilled", "{pending} 提炼中"),
    "status.layer.dead": ("{pending} given up", "{pending} 已放弃"),
    "status.parked": ("{number} messages that no model takes", "{number} 条消息无法被模型处理，已搁置"),
    "status.last_error": ("last error: {error}", "最近错误：{error}"),
    "status.tokens": ("tokens", "词元"),
    "status.tokens.used": ("{used} used today (UTC)", "今日（UTC）已用 {used}"),
    "status.tokens.limited": ("{used} of {limit} used today (UTC)", "今日（UTC）已用 {used}，上限 {limit}"),
    "status.tokens.spent": (
        "{used} of {limit} used today (UTC): distillation waits for tomorrow",
        "今日（UTC）已用 {used}，达到上限 {limit}：提炼暂停至明天",
    ),
    "status.state.ok": ("ok", "正常"),
    "status.state.reduced": ("reduced", "受限"),
    "status.state.failed": ("failed", "故障"),
    "status.state.degraded": ("degraded", "降级"),
}

_DOCTOR: Mapping[str, tuple[str, str]] = {
    "doctor.python": ("Python", "Python"),
    "doctor.python.old": ("3.11 or newer is needed", "需要 3.11 或更新版本"),
    "doctor.packages": ("packages", "依赖包"),
    "doctor.packages.ok": ("{number} installed", "已安装 {number} 个"),
    "doctor.packages.missing": (
        'missing: {names} → pip install "memstrata[server]"',
        '缺少：{names} → pip install "memstrata[server]"',
    ),
    "doctor.sqlite": ("SQLite", "SQLite"),
    "doctor.sqlite.ok": ("{version} with FTS5", "{version}，含 FTS5"),
    "doctor.sqlite.no_fts": (
        "{version} without FTS5 → pip install --force-reinstall apsw",
        "{version}，不含 FTS5 → pip install --force-reinstall apsw",
    ),
    "doctor.settings": ("settings", "设置"),
    "doctor.settings.none": ("no file, defaults and environment", "没有设置文件，使用默认值与环境变量"),
    "doctor.folder": ("data folder", "数据目录"),
    "doctor.folder.ok": ("{folder}, writable", "{folder}，可写"),
    "doctor.folder.new": ("{folder}, will be created", "{folder}，将会创建"),
    "doctor.folder.bad": (
        "{folder}: {reason} → choose another with --data-dir",
        "{folder}：{reason} → 用 --data-dir 换一个",
    ),
    "doctor.disk": ("disk", "磁盘"),
    "doctor.disk.free": ("{size} free", "剩余 {size}"),
    "doctor.disk.low": (
        "{size} free → make room: writes are refused when it is full",
        "剩余 {size} → 请清理空间：写满后会拒绝写入",
    ),
    "doctor.port": ("port", "端口"),
    "doctor.port.free": ("{address} is free", "{address} 空闲"),
    "doctor.port.ours": ("our server answers on {url}", "我们的服务在 {url}"),
    "doctor.port.taken": (
        "{reason} → choose another with --port or MEMSTRATA_PORT",
        "{reason} → 用 --port 或 MEMSTRATA_PORT 换一个",
    ),
    "doctor.database": ("database", "数据库"),
    "doctor.database.none": ("none yet; the first start creates it", "还没有，首次启动时创建"),
    "doctor.database.in_use": (
        "in use by process {pid}, which checked it when it started",
        "进程 {pid} 正在使用，启动时已检查",
    ),
    "doctor.database.ok": ("whole, {size}", "完好，{size}"),
    "doctor.database.damaged": (
        "{reason} → move it away and run `memstrata rebuild --from-files`",
        "{reason} → 移走它，再运行 `memstrata rebuild --from-files`",
    ),
    "doctor.distiller": ("distiller", "提炼"),
    "doctor.embedder": ("embedder", "向量"),
    "doctor.embedder.none": ("none needed: searching by keyword", "不需要：按关键词搜索"),
    "doctor.embedder.there": ("{embedder}: searching by words and meaning", "{embedder}：按关键词和语义搜索"),
    "doctor.well": ("all is well", "一切正常"),
    "doctor.unwell": ("{number} to mend, marked ✗", "有 {number} 处需要处理，见 ✗"),
}

_CONFIG: Mapping[str, tuple[str, str]] = {
    "rebuild.needs_flag": (
        "rebuild needs --from-files: it says where from",
        "rebuild 需要 --from-files，表明从哪里重建",
    ),
    "rebuild.done": (
        "rebuilt {folder}: {messages}, {memories}, {documents} in {sessions}",
        "已重建 {folder}：{messages}，{memories}，{documents}，{sessions}",
    ),
    "rebuild.problem": ("not restored: {problem}", "未能恢复：{problem}"),
    "reindex.step": ("making vectors", "生成向量"),
    "reindex.progress": ("{done:,} of {rows:,}", "{done:,} / {rows:,}"),
    "reindex.done": ("{rows:,} rows have their vector, {seconds:.1f} s", "{rows:,} 行都有向量，用时 {seconds:.1f} 秒"),
    "reindex.refused": (
        "{number:,} of them the model would not take; they are found by keyword",
        "其中 {number:,} 行模型不接受，按关键词可以找到",
    ),
    "reindex.none": (
        "no embedder is configured: set MEMSTRATA_EMBEDDING_PROVIDER, for example to builtin",
        "没有配置向量模型：请设置 MEMSTRATA_EMBEDDING_PROVIDER，例如 builtin",
    ),
    "reindex.stuck": (
        "{missing:,} rows have no vector: {reason}. What is done stays done; the rest is made when the embedder answers",
        "{missing:,} 行没有向量：{reason}。已完成的会保留，其余在向量模型恢复后补上",
    ),
}

_DEMO: Mapping[str, tuple[str, str]] = {
    "demo.persona": ("L3 · persona", "L3 · 画像"),
    "demo.no_memories": (
        "no statement in it was recognised that holds outside the conversation",
        "没有在其中识别出脱离对话仍然成立的内容",
    ),
    "demo.nothing_recalled": (
        "nothing recalled: no memory shares a word with the question",
        "没有召回：没有记忆与问题有共同的词",
    ),
    "demo.why": ("why?", "为什么？"),
    "demo.chain.persona": ("persona", "画像"),
    "demo.chain.scene": ("← scene", "← 场景"),
    "demo.chain.memory": ("← memory", "← 记忆"),
    "demo.chain.message": ("← message", "← 消息"),
    "demo.chain.replaces": ("replaces “{content}”", "取代“{content}”"),
    "demo.chain.quote": ("“{text}”", "“{text}”"),
    "demo.about": ("What do you remember about “{topic}”?", "关于“{topic}”，你记得什么？"),
    "demo.running": ("It keeps running on {url}.", "服务继续运行：{url}"),
    "demo.stop": ("stop", "停止"),
    "demo.search": ("search", "搜索"),
    "demo.next": ("next", "接着"),
    "demo.next.readme": ("README.md § Connect an agent", "README.zh-CN.md § 接入 Agent"),
}

PHRASES: Mapping[str, tuple[str, str]] = {
    **_HELP,
    **_ERRORS,
    **_SERVER,
    **_LAYERS,
    **_IMPORT,
    **_EXPORT,
    **_SEARCH,
    **_TRACE,
    **_STATUS,
    **_DOCTOR,
    **MODEL_PHRASES,
    **EVAL_PHRASES,
    **FORGETTING_PHRASES,
    **AGENT_PHRASES,
    **MCP_PHRASES,
    **PROXY_PHRASES,
    **ARCHIVE_PHRASES,
    **AUDIT_PHRASES,
    **SCAN_PHRASES,
    **_CONFIG,
    **_DEMO,
}
