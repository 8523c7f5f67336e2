"""The metadata plane, `/v3/meta/*`: who there is and who may see what. Source: wire contract §5."""
