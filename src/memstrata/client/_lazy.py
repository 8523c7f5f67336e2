"""Packages whose names load on first use, so that a program pays for what it uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["homes", "loader"]


def homes(modules: Mapping[str, str]) -> Mapping[str, str]:
    """Return the module of each name, from the names of each module."""
    return {name: module for module, names in modules.items() for name in names.split()}


def loader(package: str, namespace: dict[str, Any], modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a package's `__getattr__`: it loads a name from its module and keeps it in the package's namespace."""

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        namespace[name] = value
        return value

    return load
