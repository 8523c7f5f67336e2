"""What an endpoint has turned out to accept: asked for the best at first, taken back step by step on refusal.

Endpoints cannot be asked for their abilities and lists of models age, so the first refusal teaches. What was conceded
is remembered only when the lesser request then succeeds: a refusal for another reason must not cost structured output.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from memstrata.llm.dialects import Dialect, Form, TokensField
from memstrata.llm.protocol import ChatRequest

__all__ = ["Terms", "concede"]

_ABOUT_FORM = ("response_format", "json_schema", "json_object", "json schema", "structured", "tool_choice", "grammar")


@dataclass(frozen=True, slots=True)
class Terms:
    """How one provider is asked. The numbers count what its dialect offers and the endpoint has refused."""

    dialect: Dialect
    think: bool = False  # the operator wants the model to think, so thinking is not switched off
    forms_refused: int = 0
    switches_refused: int = 0
    send_temperature: bool = True
    other_tokens_field: bool = False

    def form(self, request: ChatRequest) -> Form:
        """Return how to ask for structure. Tools and a forced form exclude each other on some endpoints."""
        if request.schema is None or request.tools:
            return "plain"
        return self.best_form

    @property
    def best_form(self) -> Form:
        """Return the best way to ask for structure that has not been refused."""
        return self.dialect.forms[self.forms_refused]

    @property
    def thinking_switch(self) -> Mapping[str, Any]:
        """Return the body's fields that switch thinking off."""
        left = () if self.think else self.dialect.thinking_off[self.switches_refused :]
        return left[0] if left else {}

    @property
    def tokens_field(self) -> TokensField:
        usual = self.dialect.tokens_field
        if not self.other_tokens_field:
            return usual
        return "max_tokens" if usual == "max_completion_tokens" else "max_completion_tokens"


def concede(terms: Terms, request: ChatRequest, refusal: str) -> Terms | None:
    """Return the next lesser terms after an endpoint refused a request with the text `refusal`, None if there are none.

    The text decides what goes first; one that names nothing costs the form, then the thinking switch.
    """
    said = refusal.lower()
    if terms.send_temperature and request.temperature is not None and "temperature" in said:
        return replace(terms, send_temperature=False)
    about_tokens = "max_completion_tokens" in said or ("max_tokens" in said and "support" in said)
    if about_tokens and not terms.other_tokens_field and terms.dialect.wire == "openai":
        return replace(terms, other_tokens_field=True)
    if any(_names(said, field) for field in terms.thinking_switch):
        return replace(terms, switches_refused=terms.switches_refused + 1)
    if terms.form(request) != "plain":
        return replace(terms, forms_refused=terms.forms_refused + 1)
    if terms.thinking_switch and not any(word in said for word in _ABOUT_FORM):
        return replace(terms, switches_refused=terms.switches_refused + 1)
    return None


def _names(said: str, field: str) -> bool:
    return field in said or field.replace("_", " ") in said
