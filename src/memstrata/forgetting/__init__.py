"""Forgetting on request and by age: what goes, what is kept for how long, and that no byte of it stays."""

from memstrata.forgetting.forgetter import Forgetter
from memstrata.forgetting.policies import PolicyBook, PolicyInForce
from memstrata.forgetting.retention import Retention
from memstrata.forgetting.scrubbing import Scrubbing
from memstrata.forgetting.secret_scan import ScanReport, SecretScan, SecretsFound

__all__ = [
    "Forgetter",
    "PolicyBook",
    "PolicyInForce",
    "Retention",
    "ScanReport",
    "Scrubbing",
    "SecretScan",
    "SecretsFound",
]
