"""The three protocols between coding clients and models: read, edit in place, answer, and read answers. Pure."""
