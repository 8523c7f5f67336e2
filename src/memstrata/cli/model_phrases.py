"""What `doctor --llm` says, in English and Chinese. Part of the table behind `words`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["MODEL_PHRASES"]

MODEL_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.option.llm": (
        "Also ask the configured model a few small questions (a few thousand tokens).",
        "同时向已配置的模型提几个小问题（约数千 token）。",
    ),
    "doctor.llm.step": ("asking {model}", "正在询问 {model}"),
    "doctor.llm.none": (
        "no model to ask → set llm.base_url (MEMSTRATA_LLM_BASE_URL) and llm.model (MEMSTRATA_LLM_MODEL)",
        "没有可询问的模型 → 请设置 llm.base_url (MEMSTRATA_LLM_BASE_URL) 和 llm.model (MEMSTRATA_LLM_MODEL)",
    ),
    "doctor.llm.model": ("model", "模型"),
    "doctor.llm.choice": ("{model} at {url} (dialect {dialect}): {roles}", "{model}，{url}（方言 {dialect}）：{roles}"),
    "doctor.llm.reachable": ("reachable", "连接"),
    "doctor.llm.answers": ("it answers", "有应答"),
    "doctor.llm.form": ("structure", "结构化"),
    "doctor.llm.form.json_schema": ("it takes a JSON schema", "支持 JSON schema"),
    "doctor.llm.form.json_object": (
        "it takes “JSON object”, no schema: the schema is told in words",
        "支持 JSON object，不支持 schema：schema 以文字说明",
    ),
    "doctor.llm.form.plain": (
        "plain text only: answers are read from it, and more of them must be asked for twice",
        "只支持纯文本：从中读取答案，需要重问的会多一些",
    ),
    "doctor.llm.extract": ("L1 memories", "L1 记忆"),
    "doctor.llm.facts": ("{right} of {most} planted facts found", "埋入的 {most} 个事实找到 {right} 个"),
    "doctor.llm.trapped": ("took the assistant's guess for a fact", "把助手的猜测当成了事实"),
    "doctor.llm.too_weak": ("a stronger model does this better: {setting}", "换一个更强的模型：{setting}"),
    "doctor.llm.resolve": ("L1 conflicts", "L1 冲突"),
    "doctor.llm.change_seen": ("a changed value replaces the old one", "值改变后，旧值被取代"),
    "doctor.llm.change_missed": (
        "does not see that a new value replaces the old one",
        "没有看出新值取代了旧值",
    ),
    "doctor.llm.tools": ("L2 tools", "L2 工具"),
    "doctor.llm.told": (
        "it works with tools: {right} of {most} memories told",
        "能使用工具：写入 {most} 条记忆中的 {right} 条",
    ),
    "doctor.llm.no_tools": ("tools were not used to any end: {reason}", "没有用工具完成任何事：{reason}"),
    "doctor.llm.thinking": ("thinking", "思考"),
    "doctor.llm.thinking.off": ("off", "已关闭"),
    "doctor.llm.thinking.wanted": (
        "left on, as llm.disable_thinking says: slower and dearer",
        "按 llm.disable_thinking 保留：更慢也更贵",
    ),
    "doctor.llm.thinking.on": (
        "still on, which costs time and tokens → set llm.dialect (MEMSTRATA_LLM_DIALECT, now {dialect}) to the endpoint's "
        "own, or take a model that can leave it off",
        "仍然开启，耗时也耗 token → 把 llm.dialect（MEMSTRATA_LLM_DIALECT，现为 {dialect}）设为该服务的方言，"
        "或换一个可以关闭思考的模型",
    ),
    "doctor.llm.only_reasoning": (
        "only reasoning came back, no answer → set {setting}, now {dialect}, to the endpoint's own, or take another {model}",
        "只返回了思考过程，没有答案 → 把 {setting}（现为 {dialect}）设为该服务的方言，或更换 {model}",
    ),
    "doctor.llm.unreadable": ("the answers cannot be used: {reason}", "回答无法使用：{reason}"),
    "doctor.llm.speed": ("speed", "速度"),
    "doctor.llm.speed.seconds": (
        "{calls} calls, {seconds:.1f} s, {rate:.0f} tokens/s",
        "{calls} 次调用，{seconds:.1f} 秒，{rate:.0f} token/秒",
    ),
    "doctor.llm.speed.slow": (
        "one reply took more than half of the {seconds:g} s that it may take: raise llm.timeout_seconds "
        "(MEMSTRATA_LLM_TIMEOUT_SECONDS) or take a faster model",
        "有一次回答用去了 {seconds:g} 秒时限的一半以上：提高 llm.timeout_seconds (MEMSTRATA_LLM_TIMEOUT_SECONDS) 或换更快的模型",
    ),
    "doctor.llm.cost": ("cost", "开销"),
    "doctor.llm.cost.tokens": (
        "about {tokens:,} tokens for 100 turns, before the provider's prompt cache",
        "每 100 轮约 {tokens:,} token，未计服务商的 prompt cache",
    ),
    "doctor.llm.advice.key": ("give another key: {setting}", "更换密钥：{setting}"),
    "doctor.llm.advice.address": (
        "start the endpoint, or give its address, which usually ends in /v1: {setting}",
        "启动该服务，或修改地址（通常以 /v1 结尾）：{setting}",
    ),
    "doctor.llm.advice.time": ("raise {setting}, or take a faster {model}", "提高 {setting}，或换更快的 {model}"),
    "doctor.llm.advice.wait": ("wait and ask again; distillation waits by itself", "稍后再试；提炼会自己等待"),
    "doctor.llm.advice.tools": (
        "take a model that can call tools: llm.consolidate_model, llm.portray_model, or llm.model for all",
        "换一个支持工具调用的模型：llm.consolidate_model、llm.portray_model，或用 llm.model 统一更换",
    ),
    "doctor.llm.advice.model": (
        "look at {model} and {url}, which ends before /chat/completions or /messages; and at {dialect}",
        "检查 {model} 与 {url}（到 /chat/completions 或 /messages 之前为止），以及 {dialect}",
    ),
    "doctor.llm.advice.context": (
        "give the model a context of at least 16,000 tokens (Ollama: num_ctx)",
        "给模型至少 16,000 token 的上下文（Ollama：num_ctx）",
    ),
    "doctor.llm.advice.room": ("raise {setting}", "提高 {setting}"),
    "doctor.llm.advice.filter": (
        "the filter withheld a harmless answer; take another {setting}",
        "内容过滤拦下了无害的回答；请更换 {setting}",
    ),
    "doctor.llm.advice.endpoint": (
        "look at the endpoint's own log, and whether this is the right address: {setting}",
        "查看该服务自己的日志，并确认地址是否正确：{setting}",
    ),
}
