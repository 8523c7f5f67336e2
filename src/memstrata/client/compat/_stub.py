"""How the contract's SDK sends and reads: no retries, failures of the network as httpx raises them.

Source: wire contract §9.1 (transport, decoding, errors).
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from typing import Any, TypeAlias

import httpx

from memstrata.client._errors import MemstrataClientError, ParamError
from memstrata.client._exchange import base_headers, base_url, checked_tls, encode

__all__ = ["AsyncHttpStub", "HttpStub", "TDAMError", "Verify"]

Answer: TypeAlias = dict[str, Any]
Verify: TypeAlias = bool | str | ssl.SSLContext
"""True, or the file of a CA's certificates, or a context that verifies."""


class TDAMError(MemstrataClientError):
    """An answer that is an error, or none of this API; its code is −1 where it says neither."""

    def __str__(self) -> str:
        request = f", request_id={self.request_id}" if self.request_id else ""
        return f"<TDAMError: (code={self.code}, message={self.message}{request})>"


class HttpStub:
    """Posts bodies and returns the data of answers."""

    def __init__(
        self,
        endpoint: str,
        api_key: str,
        service_id: str,
        timeout: float = 30,
        verify: Verify = True,
        user_key: str | None = None,
        client: httpx.Client | None = None,
    ) -> None:
        """Raises ParamError for an argument that cannot be meant."""
        self._settings = _settings(endpoint, api_key, service_id, timeout, user_key)
        self._client = client or httpx.Client(verify=_verified(verify))

    def post(self, path: str, body: Mapping[str, Any], timeout: float | None = None) -> Answer:
        """Send a body and return the data of the answer. Raises TDAMError and httpx.HTTPError."""
        return _decoded(self._client.post(**_request(self._settings, path, timeout), content=encode(body)))

    def get(self, path: str, query: Mapping[str, Any] | None = None, timeout: float | None = None) -> Answer:
        """Send a query and return the data of the answer. Raises TDAMError and httpx.HTTPError."""
        return _decoded(self._client.get(**_request(self._settings, path, timeout), params=query))

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


class AsyncHttpStub:
    """`HttpStub` with coroutines."""

    def __init__(
        self,
        endpoint: str,
        api_key: str,
        service_id: str,
        timeout: float = 30,
        verify: Verify = True,
        user_key: str | None = None,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        """Raises ParamError for an argument that cannot be meant."""
        self._settings = _settings(endpoint, api_key, service_id, timeout, user_key)
        self._client = client or httpx.AsyncClient(verify=_verified(verify))

    async def post(self, path: str, body: Mapping[str, Any], timeout: float | None = None) -> Answer:
        """Send a body and return the data of the answer. Raises TDAMError and httpx.HTTPError."""
        return _decoded(await self._client.post(**_request(self._settings, path, timeout), content=encode(body)))

    async def get(self, path: str, query: Mapping[str, Any] | None = None, timeout: float | None = None) -> Answer:
        """Send a query and return the data of the answer. Raises TDAMError and httpx.HTTPError."""
        return _decoded(await self._client.get(**_request(self._settings, path, timeout), params=query))

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()


def _settings(endpoint: str, api_key: object, service_id: object, timeout: object, user_key: str | None) -> Answer:
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise ParamError(f"timeout is a number of seconds above 0, got {timeout!r}")
    if not isinstance(api_key, str) or not isinstance(service_id, str):
        raise ParamError("api_key and service_id are needed")
    try:
        headers = base_headers(api_key, service_id, user_key or None)
        return {"endpoint": base_url(endpoint), "headers": headers, "timeout": timeout}
    except ValueError as error:
        raise ParamError(str(error)) from error


def _verified(verify: Verify) -> ssl.SSLContext | bool:
    if verify is False:
        raise ParamError("certificates are always verified; for a CA of your own, give its file as verify")
    context = ssl.create_default_context(cafile=verify) if isinstance(verify, str) else verify
    try:
        return checked_tls(context if isinstance(context, ssl.SSLContext) else None)
    except ValueError as error:
        raise ParamError(str(error)) from error


def _request(settings: Mapping[str, Any], path: str, timeout: float | None) -> dict[str, Any]:
    return {
        "url": f"{settings['endpoint']}{path}",
        "headers": settings["headers"],
        "timeout": settings["timeout"] if timeout is None else timeout,
    }


def _decoded(response: httpx.Response) -> Answer:
    status = response.status_code
    try:
        answer = response.json()
    except ValueError:
        raise TDAMError(status if status >= 400 else -1, response.text) from None
    if not isinstance(answer, dict):
        raise TDAMError(-1, "the answer is not a JSON object")
    code, data = answer.get("code", 0), answer.get("data")
    trace = response.headers.get("x-trace-id")
    if status >= 400 or code != 0:
        request_id = answer.get("request_id") or response.headers.get("x-qcloud-transaction-id") or trace or ""
        raise TDAMError(
            code if isinstance(code, int) and code else status,
            str(answer.get("message") or f"HTTP {status}"),
            str(request_id),
            data if isinstance(data, dict) else None,
        )
    if not isinstance(data or {}, dict):
        raise TDAMError(-1, "the data of the answer is not a JSON object")
    return {**(data or {}), **({"trace_id": trace} if trace else {})}
