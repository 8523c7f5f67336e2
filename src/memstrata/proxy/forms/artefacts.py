"""A form's traces in a conversation, found by the ids of its calls and cut out of every later request.

What is cut depends on the body alone, so the same history gives the same bytes for ever: the model never sees a form, and
no made-up message without thinking stands before the user's question. Source: `reference/proxy.md` §4.7.
"""

from __future__ import annotations

from collections.abc import Sequence

from memstrata.proxy.wire.request import Block, ProxyRequest, Span
from memstrata.proxy.wire.splice import Edit

__all__ = ["FORM_PREFIXES", "answers_form", "form_answer", "strip_forms"]

FORM_PREFIXES = ("toolu_memstrata_form_", "call_memstrata_form_")


def form_answer(request: ProxyRequest, call_id: str) -> str | None:
    """Return the result of a form's call if the newest message holds it, None if it does not."""
    for said in reversed(request.messages):
        for block in said.blocks:
            if block.kind == "tool_result" and block.id == call_id:
                return block.text
        if said.role == "assistant":
            return None
    return None


def answers_form(request: ProxyRequest) -> bool:
    """Say whether the newest message brings the answer to a form, whichever it is."""
    for said in reversed(request.messages):
        if said.role == "assistant":
            return False
        if any(block.kind == "tool_result" and _is_form(block) for block in said.blocks):
            return True
    return False


def strip_forms(request: ProxyRequest) -> tuple[Edit, ...]:
    """Return the edits that take every form out of a request; none where there is no form in it."""
    edits: list[Edit] = []
    gone: list[int] = []
    for at, said in enumerate(request.messages):
        forms = [index for index, block in enumerate(said.blocks) if _is_form(block)]
        if not forms:
            continue
        if all(_is_form(block) or (block.kind == "text" and not block.text) for block in said.blocks):
            gone.append(at)
        elif said.content is not None and all(
            said.content.start <= one.span.start < said.content.end for one in said.blocks
        ):
            edits += _without([block.span for block in said.blocks], forms)
    edits += _without([said.span for said in request.messages], gone)
    return tuple(sorted(edits, key=lambda edit: edit.start))


def _is_form(block: Block) -> bool:
    return block.kind in ("tool_use", "tool_result") and block.id.startswith(FORM_PREFIXES)


def _without(spans: Sequence[Span], gone: Sequence[int]) -> list[Edit]:
    """Return the edits that take some elements out of an array, each with one of the commas beside it.

    Elements that lead the array take the comma behind them with them, others the one before; if all go, nothing is left.
    """
    edits: list[Edit] = []
    leading = True
    for at in range(len(spans)):
        if at not in gone:
            leading = False
        elif not leading:
            edits.append(Edit(spans[at - 1].end, spans[at].end, b""))
        elif at + 1 < len(spans):
            edits.append(Edit(spans[at].start, spans[at + 1].start, b""))
        else:
            edits.append(Edit(spans[at].start, spans[at].end, b""))
    return edits
