"""`mem:` commands: what a person types to see and steer the memory of the session they are in."""
