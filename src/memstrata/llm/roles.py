"""Which model answers for which role. Each role has exactly one: a failing model is never replaced by another.

Silent switching once spent a whole subscription at a provider that nobody had chosen (user needs A35).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memstrata.endpoint.http import check_base_url, check_key
from memstrata.errors import Misconfigured
from memstrata.llm.dialects import DIALECTS, Dialect, DialectName, dialect_of
from memstrata.llm.protocol import MODEL_ROLES, ModelRole

__all__ = ["ModelChoice", "RoleModels"]


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model at an endpoint. `base_url` ends before `/chat/completions` or `/messages`, usually with `/v1`.

    Raises Misconfigured if an address or a name is missing, the address holds more than an address, or the key no key.
    """

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    dialect_name: DialectName | Literal["auto"] = "auto"  # auto: by the address
    disable_thinking: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "base_url", check_base_url(self.base_url))
        check_key(self.api_key)
        if not self.model.strip():
            raise Misconfigured("the model's name is missing")

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.base_url) if self.dialect_name == "auto" else DIALECTS[self.dialect_name]


@dataclass(frozen=True, slots=True)
class RoleModels:
    """The model of each role."""

    extract: ModelChoice
    resolve: ModelChoice
    consolidate: ModelChoice
    portray: ModelChoice

    @classmethod
    def all(cls, choice: ModelChoice, **others: ModelChoice) -> RoleModels:
        """Return one model for every role but those named: `RoleModels.all(small, portray=large)`."""
        return cls(**{role: others.get(role, choice) for role in MODEL_ROLES})

    def of(self, role: ModelRole) -> ModelChoice:
        """Return the model that answers for `role`."""
        choice: ModelChoice = getattr(self, role)
        return choice
