"""A method of a client, written once: the function says what to send, and the class it is in how.

In a class whose `_send` blocks the verb returns the answer, in one whose `_send` is a coroutine function it returns an
awaitable of it, with the same arguments and the same types.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from memstrata.client._calls import Call

__all__ = ["AsyncSender", "Sender", "Verb", "verb"]

P = ParamSpec("P")
T = TypeVar("T")
X = TypeVar("X")


class Sender(Protocol):
    """What blocks until the answer is there."""

    def _send(self, call: Call[X], /) -> X: ...


class AsyncSender(Protocol):
    """What is awaited."""

    def _send(self, call: Call[X], /) -> Coroutine[Any, Any, X]: ...


class Verb(Generic[P, T]):
    """A function from arguments to a `Call`, as a method of whatever has `_send`."""

    def __init__(self, make: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._make = make
        self.__doc__ = make.__doc__
        signature = inspect.signature(make)
        _, *rest = signature.parameters.values()
        self.__signature__ = signature.replace(parameters=rest, return_annotation=inspect.Signature.empty)

    def __set_name__(self, owner: type, name: str) -> None:
        self.__name__ = name
        self.__qualname__ = f"{owner.__qualname__}.{name}"

    def __call__(self, client: Any, /, *args: P.args, **named: P.kwargs) -> Any:
        """Send as a client, where the verb was read from its class."""
        return client._send(self._make(client, *args, **named))

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Sender, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncSender, owner: type) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        def send(*args: Any, **named: Any) -> Any:
            return self(client, *args, **named)

        send.__name__, send.__qualname__, send.__doc__ = self.__name__, self.__qualname__, self.__doc__
        send.__signature__ = self.__signature__  # type: ignore[attr-defined]
        return send


def verb(make: Callable[Concatenate[Any, P], Call[T]]) -> Verb[P, T]:
    """Make a method of a function that describes a call."""
    return Verb(make)
