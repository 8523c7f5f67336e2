"""The proxy: memory for agents whose code cannot be changed. It stands where the model provider's address was."""
