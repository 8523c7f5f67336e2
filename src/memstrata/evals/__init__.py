"""How well memory finds what was said, measured without a model. `docs/evals.md` says how to read the figures."""
