"""What an answer said, read beside its way to the client: streams and JSON of each protocol."""
