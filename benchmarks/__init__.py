"""What the server costs: one command that starts it, drives it and says which targets it reaches. See `docs/benchmarks.md`."""
