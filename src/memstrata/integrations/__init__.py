"""Adapters that give agents of common frameworks memory, each over `memstrata.client` alone and behind an extra.

Each module imports its framework, so import the one you need: `from memstrata.integrations.langchain import …`.
"""
