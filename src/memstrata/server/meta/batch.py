"""How a batch is answered: `{deleted_ids, failed: [{id, reason}]}`. Source: wire contract §5."""

from __future__ import annotations

from memstrata.directory.batch import Batch
from memstrata.server.envelope import Data

__all__ = ["shown_batch"]


def shown_batch(batch: Batch) -> Data:
    """Return what went and what did not."""
    failed = [{"id": one.item_id, "reason": one.reason} for one in batch.failed]
    return {"deleted_ids": list(batch.deleted_ids), "failed": failed}
