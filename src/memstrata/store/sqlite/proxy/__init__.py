"""What the proxy keeps, in SQLite: see `store.proxy`."""

from memstrata.store.sqlite.proxy.repositories import SqliteProxy

__all__ = ["SqliteProxy"]
