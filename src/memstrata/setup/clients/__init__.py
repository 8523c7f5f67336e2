"""The clients that setup knows, one module each: which files they read, and what stands in them for each kind."""
