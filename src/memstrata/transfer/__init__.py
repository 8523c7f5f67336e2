"""File formats in and out: readers of conversation files, batches for the store, and `archive`, our own export.

All but `archive` is pure: no store, no network, no clock. `read_file` reads, `batches` cuts what it read into requests
that may be repeated.
"""

from memstrata.transfer.batches import ImportBatch, batches
from memstrata.transfer.conversation import ImportedMessage, ImportedSession, ImportFile, SkipReason
from memstrata.transfer.detect import FORMATS, read_data, read_file

__all__ = [
    "FORMATS",
    "ImportBatch",
    "ImportFile",
    "ImportedMessage",
    "ImportedSession",
    "SkipReason",
    "batches",
    "read_data",
    "read_file",
]
