"""The distiller that needs no model."""

from memstrata.distill.rules.distiller import RulesDistiller

__all__ = ["RulesDistiller"]
