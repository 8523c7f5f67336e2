"""One reader per data set; each gives the same value, `memstrata.evals.dataset.Dataset`."""
