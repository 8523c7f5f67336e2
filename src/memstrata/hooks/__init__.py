"""`memstrata hook`: memory for coding agents that run a command at the start of a session, at a prompt and at its end.

The whole command has two seconds and should take a quarter of one, so this room imports the standard library and the
parts of `memstrata.client` that need no more. It fails open: whatever happens, the exit code is 0 and the agent goes on.
"""
