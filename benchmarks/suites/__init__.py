"""What is measured, one module a question. Each offers `measure(bench)`."""
