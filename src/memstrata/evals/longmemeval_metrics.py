"""LongMemEval's own metrics, to the letter, so that a figure can stand beside a published one under the same name.

Source: the authors' `src/retrieval/eval_utils.py`. Two things in it are their own. The discount is 1, 1, 1/log2(3) …:
the first two places weigh the same. And folding turns into sessions keeps every turn as a row under its session's id and
widens `k` until `k` different sessions are in; the ideal counts rows too. Rankings there cover the whole haystack; ours
end at the depth that was asked for, and the widening with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

__all__ = ["LONGMEMEVAL_CUTS", "folded_k", "longmemeval_metrics", "ndcg_any"]

LONGMEMEVAL_CUTS = (5, 10)


def ndcg_any(k: int, ranked: Sequence[str], gold: AbstractSet[str], relevant_rows: int) -> float:
    """Return their nDCG; `relevant_rows` is how many rows of the whole corpus count as relevant."""
    ideal = _dcg([1.0] * min(k, relevant_rows))
    return _dcg([float(one in gold) for one in ranked[:k]]) / ideal if ideal else 0.0


def folded_k(k: int, sessions: Sequence[str]) -> int:
    """Return how many rows it takes until `k` different sessions are among them; more than all when there are fewer."""
    wide = k
    while wide <= len(sessions) and len(set(sessions[:wide])) < k:
        wide += 1
    return wide


def longmemeval_metrics(
    ranked: Sequence[str], gold: AbstractSet[str], session_of: Mapping[str, str]
) -> Mapping[str, float]:
    """Return their metrics of one question, at turns and folded to sessions. `session_of` names every unit of the corpus."""
    sessions = [session_of[one] for one in ranked]
    gold_sessions = {session_of[one] for one in gold}
    rows = sum(session in gold_sessions for session in session_of.values())
    figures: dict[str, float] = {}
    for k in LONGMEMEVAL_CUTS:
        wide = folded_k(k, sessions)
        for unit, cut, found, wanted, relevant in (
            ("turn", k, ranked, set(gold), len(gold)),
            ("session", wide, sessions, gold_sessions, rows),
        ):
            held = wanted.intersection(found[:cut])
            figures[f"lme_{unit}_recall_any@{k}"] = float(bool(held))
            figures[f"lme_{unit}_recall_all@{k}"] = float(held == wanted)
            figures[f"lme_{unit}_ndcg_any@{k}"] = ndcg_any(cut, found, wanted, relevant)
    return figures


def _dcg(gains: Sequence[float]) -> float:
    return sum(gain / (1.0 if place == 1 else math.log2(place)) for place, gain in enumerate(gains, start=1))
