"""What the proxy knows of each client: where its session id is, what it wraps around a question, how it asks one."""
