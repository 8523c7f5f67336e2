"""File formats in and out: readers of conversation files, the writer of our own export, and batches for the store.

Pure: no store, no network, no clock. `read_file` reads, `batches` cuts what it read into requests that may be repeated.
"""

from memstrata.transfer.batches import ImportBatch, batches
from memstrata.transfer.conversation import ImportedMessage, ImportedSession, ImportFile, SkipReason
from memstrata.transfer.detect import FORMATS, read_data, read_file
from memstrata.transfer.own import document_line, export_lines, header_line, memory_line, message_line

__all__ = [
    "FORMATS",
    "ImportBatch",
    "ImportFile",
    "ImportedMessage",
    "ImportedSession",
    "SkipReason",
    "batches",
    "document_line",
    "export_lines",
    "header_line",
    "memory_line",
    "message_line",
    "read_data",
    "read_file",
]
