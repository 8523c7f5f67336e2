"""Answers and errors that the proxy gives itself, as the client libraries of each protocol read them."""
