"""Model endpoints over HTTP, whatever they are asked for: chat and embeddings share connections, failures and patience."""
