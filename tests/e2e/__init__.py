"""The command line as a process: what a person or a script types, and what they get."""
