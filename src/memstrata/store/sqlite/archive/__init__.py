"""Rows as the lines of an export, out of and into a database."""
