"""What the command line says about evaluations: part of the table in `phrases`."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["EVAL_PHRASES"]

EVAL_PHRASES: Mapping[str, tuple[str, str]] = {
    "help.eval": ("How well it finds what was said, without a model.", "不借助模型，衡量能否找回说过的话。"),
    "help.eval.retrieval": (
        "Rank the evidence of every question; recall, MRR, nDCG.",
        "对每个问题的证据排序，给出召回率、MRR、nDCG。",
    ),
    "help.eval.layered": (
        "Evidence behind what recall injects, against search alone.",
        "召回注入的内容所依据的证据，与单纯搜索相比。",
    ),
    "help.eval.nonsense": (
        "Whether nonsense finds nothing, and what that costs.",
        "无意义的提问是否一无所获，以及为此失去多少。",
    ),
    "help.option.queries": ("Queries of each kind of nonsense.", "每类无意义提问的数量。"),
    "help.option.draws": ("Seed of the draws.", "抽样的随机种子。"),
    "help.option.dataset": ("Data set: {datasets}.", "数据集：{datasets}。"),
    "help.option.path": (
        "Where the data set is; ours comes with the package.",
        "数据集所在路径；ours 随软件包提供。",
    ),
    "help.option.language": ("Language of MADial-Bench.", "MADial-Bench 的语言。"),
    "help.option.captions": ("Index the captions of LoCoMo's images.", "索引 LoCoMo 图片的说明文字。"),
    "help.option.roles": ("Whose turns are indexed.", "索引谁说的话。"),
    "help.option.view": (
        "Each corpus alone, all of a kind pooled, or both.",
        "各语料单独评测（separate）、合并评测（pooled）或两者（both）。",
    ),
    "help.option.seed": ("Seed of the bootstrap.", "自助法的随机种子。"),
    "help.option.corpora": ("Only the first so many corpora; 0 is all.", "只用前若干个语料，0 表示全部。"),
    "help.option.out": (
        "File for the raw rankings (default: named by set and time).",
        "原始排序写入的文件（默认按数据集与时间命名）。",
    ),
    "eval.view.separate": ("{dataset}, each corpus alone", "{dataset}，各语料单独"),
    "eval.view.pooled": ("{dataset}, pooled", "{dataset}，合并"),
    "eval.view.layered": ("{dataset}, layers against search", "{dataset}，分层与搜索对比"),
    "eval.view.nonsense": ("{dataset}, nonsense and the gate", "{dataset}，无意义提问与门限"),
    "eval.report": ("report: {file}", "报告：{file}"),
    "eval.storing": ("storing {done:,}/{total:,}", "写入 {done:,}/{total:,}"),
    "eval.distilling": ("distilling {done:,}/{total:,}", "提炼 {done:,}/{total:,}"),
    "eval.asking": ("asking {done:,}/{total:,}", "提问 {done:,}/{total:,}"),
    "eval.pairs": (
        "{kind}: newer above older in {newer} of {pairs}, older above newer in {older}, neither found in {neither};"
        " both in the first ten {both:.0%}",
        "{kind}：{pairs} 对中新的排在旧的前面 {newer}，旧的在前 {older}，都未找到 {neither}；两者都在前十 {both:.0%}",
    ),
    "eval.distilled": (
        "distilled by {distiller}: L1 {memories:,} · L2 {scenes:,} · L3 {personas:,}",
        "由 {distiller} 提炼：L1 {memories:,} · L2 {scenes:,} · L3 {personas:,}",
    ),
    "eval.written": ("raw rankings: {file}", "原始排序：{file}"),
}
