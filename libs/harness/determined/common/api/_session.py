"""A small HTTP session over http.client: persistent connections, repeated calls, the task's token on every call.

A connection belongs to one thread, so that a long poll in one never delays a report in another.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode, urlsplit

from determined import util
from determined.common.api import errors
from determined.common.api._retry import READMISSION_S, RetryPolicy, policy_of, seconds_of

if TYPE_CHECKING:
    import ssl

logger = logging.getLogger("determined.session")

TOKEN_HEADER = "Grpc-Metadata-x-allocation-token"
TIMEOUT_S = 60.0
_GONE = (OSError, http.client.HTTPException)
Query = Mapping[str, str | int | bool]


class Session:
    """Calls to one master with one task's token.

    Calls are repeated while the master is away (connection errors, 502, 503, 504), as the policy allows, and not before
    the time of a Retry-After header. Any other error status is raised at once. A 401 is raised at once only if the
    session never had an answer before; otherwise the call is repeated for a minute. All methods may be called from any
    thread.
    """

    _readmission_s = READMISSION_S

    def __init__(
        self,
        master_url: str,
        token: str | None,
        *,
        cert_file: str | None = None,
        cert_name: str | None = None,
        retry: RetryPolicy | None = None,
        on_given_up: Callable[[str], None] | None = None,
    ) -> None:
        """`on_given_up`: called with the reason when the cluster has given up this task's run, in the thread whose call
        was refused."""
        split = urlsplit(master_url if "://" in master_url else f"http://{master_url}")
        if split.scheme not in ("http", "https") or not split.hostname:
            raise ValueError(f"master address: expected http(s)://host:port, found {master_url!r}")
        self._host = split.hostname
        self._port = split.port or (443 if split.scheme == "https" else 8080)
        self._prefix = split.path.rstrip("/")
        self._tls = _tls(cert_file) if split.scheme == "https" else None
        self._cert_name = cert_name
        self._on_given_up = on_given_up
        self._retry = policy_of(os.environ) if retry is None else retry
        self._headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if token:
            self._headers[TOKEN_HEADER] = f"Bearer {token}"
        if "TRACEPARENT" in os.environ:
            self._headers["traceparent"] = os.environ["TRACEPARENT"]
        self._mine = threading.local()
        self._every: set[http.client.HTTPConnection] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._let_in = False

    def get(
        self,
        path: str,
        params: Query | None = None,
        *,
        timeout_s: float = TIMEOUT_S,
        retry: RetryPolicy | None = None,
    ) -> Any:
        query = f"?{urlencode(params)}" if params else ""
        return self.request("GET", path + query, None, timeout_s=timeout_s, retry=retry)

    def post(
        self,
        path: str,
        body: Any = None,
        *,
        retry: RetryPolicy | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """POST `body` as JSON. It is repeated while the master is away, so it must be safe to send twice. If it is not,
        give a policy with one attempt, or an Idempotency-Key in `headers`."""
        encoded = util.json_bytes({} if body is None else body)
        return self.request("POST", path, encoded, retry=retry, headers=headers)

    def patch(self, path: str, body: Any, *, retry: RetryPolicy | None = None) -> Any:
        return self.request("PATCH", path, util.json_bytes(body), retry=retry)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        timeout_s: float = TIMEOUT_S,
        retry: RetryPolicy | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """The decoded JSON answer. Raises MasterNotFoundException when the policy allows no further attempt, and the
        exception of the status for an error."""
        policy = retry or self._retry
        sent = {**self._headers, **headers} if headers else self._headers
        started = time.monotonic()
        attempt, asked_for_s = 0, 0.0
        while True:
            if self._closed.wait(max(policy.pause_before(attempt), asked_for_s)):
                raise errors.MasterNotFoundException("the session was closed")
            status, text, problem, retry_after = self._attempt(method, path, body, timeout_s, sent)
            waited_s, asked_for_s = time.monotonic() - started, seconds_of(retry_after)
            shut_out = status == 401 and self._let_in and waited_s < self._readmission_s
            if status is not None and status not in policy.statuses and not shut_out:
                return self._answered(status, text)
            attempt += 1
            if not shut_out and not policy.allows(attempt, waited_s + asked_for_s):
                break
            if attempt == 3:
                logger.warning("no answer from the master (%s); still trying", problem or f"HTTP {status}")
        if status is not None:
            raise errors.of_status(status, text)
        raise errors.MasterNotFoundException(
            f"no answer from the master at {self._host}:{self._port} ({problem}), tried {attempt} times"
        )

    def _answered(self, status: int, text: str) -> Any:
        try:
            answer = _answer(status, text)
        except errors.RunGivenUpException as problem:
            if self._on_given_up is not None:
                self._on_given_up(problem.message)
            raise
        self._let_in = True
        return answer

    def _attempt(
        self, method: str, path: str, body: bytes | None, timeout_s: float, headers: Mapping[str, str]
    ) -> tuple[int | None, str, Exception | None, str | None]:
        """Status and body of an answer, or what went wrong; and the answer's Retry-After."""
        connection, kept = self._connection(timeout_s)
        try:
            return self._exchange(connection, method, path, body, headers)
        except _GONE as problem:
            self._drop(connection)
            if not kept or isinstance(problem, TimeoutError) or self._closed.is_set():
                return None, "", problem, None
        # The server may have closed an idle connection: try once more at once, with a new one.
        connection, _ = self._connection(timeout_s)
        try:
            return self._exchange(connection, method, path, body, headers)
        except _GONE as problem:
            self._drop(connection)
            return None, "", problem, None

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
    ) -> tuple[int, str, None, str | None]:
        connection.request(method, self._prefix + path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        return response.status, text, None, response.getheader("Retry-After")

    def _connection(self, timeout_s: float) -> tuple[http.client.HTTPConnection, bool]:
        """This thread's connection, and whether it was open already."""
        connection: http.client.HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is not None:
            connection.timeout = timeout_s
            if connection.sock is not None:
                connection.sock.settimeout(timeout_s)
            return connection, connection.sock is not None
        connection = self._new_connection(timeout_s)
        self._mine.connection = connection
        with self._lock:
            self._every.add(connection)
        return connection, False

    def _new_connection(self, timeout_s: float) -> http.client.HTTPConnection:
        if self._tls is None:
            return _Plain(self._host, self._port, timeout=timeout_s)
        return _Tls(self._host, self._port, self._tls, self._cert_name or self._host, timeout_s)

    def _drop(self, connection: http.client.HTTPConnection) -> None:
        connection.close()
        self._mine.connection = None
        with self._lock:
            self._every.discard(connection)

    def close(self) -> None:
        """Break off the calls of all threads, and refuse new ones."""
        self._closed.set()
        with self._lock:
            connections, self._every = self._every, set()
        for connection in connections:
            if connection.sock is not None:
                _hang_up(connection.sock)


class _Plain(http.client.HTTPConnection):
    def connect(self) -> None:
        super().connect()
        # Reports are small; waiting to fill a packet would add 40 ms to each.
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class _Tls(http.client.HTTPConnection):
    """A connection with TLS. The name in the certificate may differ from the address."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext, name: str, timeout_s: float) -> None:
        super().__init__(host, port, timeout=timeout_s)
        self._context = context
        self._name = name

    def connect(self) -> None:
        super().connect()
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock = self._context.wrap_socket(self.sock, server_hostname=self._name)


def _tls(cert_file: str | None) -> ssl.SSLContext:
    import ssl

    if cert_file and cert_file.lower() == "noverify":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    return ssl.create_default_context(cafile=cert_file or None)


def _hang_up(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        logger.debug("the connection was closed already")


def _answer(status: int, text: str) -> Any:
    if status >= 300:
        raise errors.of_status(status, text)
    try:
        return json.loads(text) if text else {}
    except ValueError as problem:
        raise errors.BadResponseException(f"the master's answer is not JSON: {text[:200]!r}") from problem


def segment(value: object) -> str:
    """`value` as one segment of a path."""
    return quote(str(value), safe="")
