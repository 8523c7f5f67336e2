"""The proxy whole: a client on a socket, the proxy with its store, a core with keys, a provider that is scripted."""
