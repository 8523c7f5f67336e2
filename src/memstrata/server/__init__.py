"""The HTTP API: a thin skin over `Memory`. Start at `routes`, which is the table of everything it answers."""

from memstrata.server.app import create_app
from memstrata.server.run import bind, serve, serve_alone, serve_until

__all__ = ["bind", "create_app", "serve", "serve_alone", "serve_until"]
