"""Talking REST to a master: one connection kept open, JSON both ways, streams read line by line.

Whatever goes wrong comes out as a `CliError` that a person can act on.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO
from urllib.parse import quote, urlsplit

from determined.common.client.trust import NamedHTTPSConnection, Trust
from determined.common.client.wire import encode_query as encode_query
from resolute.cli import responses
from resolute.cli.errors import Unreachable
from resolute.cli.terminal import Progress

Query = Mapping[str, Any]

_RETRIES = 5
_BACKOFF_S = 0.5
_AWAY = (502, 503, 504)
_RETRY_AFTER_MAX_S = 30.0
_PATIENCE_S = 120.0  # for an ordinary answer; a stream may be silent for as long as it likes


class Session:
    """Requests to the master at `master`, as the user of `token`."""

    def __init__(self, master: str, token: str = "", *, trust: Trust | None = None) -> None:
        self.master, self.token, self.user = master, token, ""
        self._trust = trust or Trust.of(master)
        self._kept: http.client.HTTPConnection | None = None

    def get(self, path: str, query: Query | None = None) -> Any:
        return self._call("GET", path, query)

    def post(self, path: str, body: Any = None) -> Any:
        return self._call("POST", path, body=body)

    def put(self, path: str, body: Any = None) -> Any:
        return self._call("PUT", path, body=body)

    def patch(self, path: str, body: Any) -> Any:
        return self._call("PATCH", path, body=body)

    def delete(self, path: str, body: Any = None) -> Any:
        return self._call("DELETE", path, body=body)

    def pages(
        self,
        path: str,
        key: str,
        query: Query | None = None,
        *,
        limit: int | None = None,
        offset: int = 0,
        only_first: bool = False,
    ) -> Iterator[Any]:
        """The items under `key`, asking for page after page until the last."""

        def ask(start: int) -> Any:
            return self.get(path, {**(query or {}), "limit": limit, "offset": start})

        return _paged(ask, key, offset, only_first)

    def searched(
        self, path: str, key: str, wanted: Query | None = None, *, limit: int, offset: int = 0, only_first: bool = False
    ) -> Iterator[Any]:
        """The same for operations that are asked by POST, and must be told a limit."""

        def ask(start: int) -> Any:
            return self.post(path, {**(wanted or {}), "limit": limit, "offset": start})

        return _paged(ask, key, offset, only_first)

    def stream(self, path: str, query: Query | None = None) -> Iterator[Any]:
        """The results of a streaming operation as they come.

        Raises Unreachable when the connection breaks before the stream's end.
        """
        with self._opened("GET", path, query, {}) as response:
            if response.status != 200:
                raise responses.refusal(response.status, response.read())
            yield from responses.results(response, self.master)

    def download(
        self,
        path: str,
        accept: str,
        into: BinaryIO,
        *,
        query: Query | None = None,
        on_chunk: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Copy a binary answer into a file, telling `on_chunk` the bytes so far; returns its size in bytes."""
        size = 0
        with self._opened("GET", path, query, {"Accept": accept}) as response:
            if response.status != 200:
                raise responses.refusal(response.status, response.read())
            try:
                while chunk := response.read(1 << 20):
                    size += into.write(chunk)
                    on_chunk(size)
            except (OSError, http.client.HTTPException) as error:
                raise Unreachable(f"the download broke off after {size} bytes: {error}") from error
        return size

    def close(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def _call(self, method: str, path: str, query: Query | None = None, body: Any = None) -> Any:
        payload = None if body is None else json.dumps(body).encode()
        # One key for all attempts: a master that did what was asked, and could not say so, does not do it twice.
        once = {} if method == "GET" else {"Idempotency-Key": str(uuid.uuid4())}
        with Progress("Waiting for the master"):
            return self._persistently(method, path, query, payload, once)

    def _persistently(
        self, method: str, path: str, query: Query | None, payload: bytes | None, once: Mapping[str, str]
    ) -> Any:
        """Ask, and ask again with growing pauses while the master is away and asking twice does no harm."""
        for attempt in range(_RETRIES + 1):
            last, asked_for_s = attempt == _RETRIES, 0.0
            try:
                status, content, asked_for_s = self._exchange(method, path, query, payload, once)
            except Unreachable as error:
                if last or not _may_repeat(method, error.__cause__):
                    raise
            else:
                if status not in _AWAY or last:
                    return responses.document_of(status, content)
            time.sleep(max(_BACKOFF_S * 2**attempt, asked_for_s))
        raise AssertionError("the last attempt returns or raises")

    def _exchange(
        self, method: str, path: str, query: Query | None, payload: bytes | None, once: Mapping[str, str]
    ) -> tuple[int, bytes, float]:
        """One request over the kept connection; a server that hung up while we were idle is called again.

        Status, body, and how many seconds the master asks to wait before the next attempt."""
        fresh = self._kept is None
        connection = self._kept or self._connect(_PATIENCE_S)
        try:
            connection.request(method, self._target(path, query), payload, {**self._headers(payload), **once})
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            connection.close()
            if not fresh and isinstance(error, http.client.RemoteDisconnected | BrokenPipeError):
                return self._exchange(method, path, query, payload, once)
            raise self._unreachable(error) from error
        self._kept = None if response.will_close else connection
        return response.status, content, _seconds_of(response.getheader("Retry-After"))

    @contextmanager
    def _opened(
        self, method: str, path: str, query: Query | None, headers: Mapping[str, str]
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is read piece by piece, over a connection of its own."""
        connection = self._connect(None)
        try:
            try:
                connection.request(method, self._target(path, query), headers={**self._headers(None), **headers})
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise self._unreachable(error) from error
            yield response
        finally:
            connection.close()

    def _connect(self, timeout_s: float | None) -> http.client.HTTPConnection:
        url = urlsplit(self.master)
        assert url.hostname, "a canonical address names a host"
        if url.scheme == "http":
            return http.client.HTTPConnection(url.hostname, url.port, timeout=timeout_s)
        context = self._trust.context()
        if self._trust.server_name:
            return NamedHTTPSConnection(
                url.hostname, url.port, timeout_s, context=context, server_name=self._trust.server_name
            )
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=timeout_s, context=context)

    def _target(self, path: str, query: Query | None) -> str:
        text = encode_query(query or {})
        return urlsplit(self.master).path + quote(path) + (f"?{text}" if text else "")

    def _headers(self, payload: bytes | None) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        if payload is not None:
            headers["Content-Type"] = "application/json"
        return headers

    def _unreachable(self, error: Exception) -> Unreachable:
        if isinstance(error, ssl.SSLCertVerificationError):
            return Unreachable(
                f"the certificate of {self.master} is not trusted ({error.verify_message}). "
                "DET_MASTER_CERT_FILE names a file to trust, DET_MASTER_CERT_NAME the name to expect in it"
            )
        return Unreachable(
            f"no answer from the master at {self.master} ({error}). "
            "Is it running? `det deploy local cluster-up` starts one here; -m or DET_MASTER names another"
        )


def _paged(ask: Callable[[int], Any], key: str, offset: int, only_first: bool) -> Iterator[Any]:
    while True:
        answer = ask(offset)
        yield from answer.get(key) or []
        page = answer.get("pagination") or {}
        end, total = page.get("endIndex", 0), page.get("total", 0)
        if only_first or end >= total or end <= offset:
            return
        offset = end


def _seconds_of(retry_after: str | None) -> float:
    """What a Retry-After header asks for, within bounds; 0 where there is none, or a date."""
    text = (retry_after or "").strip()
    return min(float(text), _RETRY_AFTER_MAX_S) if text.isdecimal() and len(text) < 10 else 0.0


def _may_repeat(method: str, error: BaseException | None) -> bool:
    """Whether repeating a request is safe: the master has not received it, or receiving it twice has no further
    effect."""
    return isinstance(error, ConnectionRefusedError) or (method == "GET" and not isinstance(error, ssl.SSLError))
