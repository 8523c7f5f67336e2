"""How what is stored came about: the prompts that steer it, and the log of the runs that made it."""

from memstrata.provenance.log import GenerationLog, GenerationPage
from memstrata.provenance.prompts import DeletedPrompts, PromptBook
from memstrata.provenance.record import GenerationRecord, GenerationStatus, OutputRecord, RowRef

__all__ = [
    "DeletedPrompts",
    "GenerationLog",
    "GenerationPage",
    "GenerationRecord",
    "GenerationStatus",
    "OutputRecord",
    "PromptBook",
    "RowRef",
]
