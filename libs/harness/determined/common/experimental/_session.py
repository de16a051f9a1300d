"""The session of a script: requests with a user's token, lists page by page, streams line by line, downloads."""

from __future__ import annotations

import http.client
import json
import ssl
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Any
from urllib.parse import urlsplit

from determined.common.api import Session, errors
from determined.common.api._retry import ONCE, RetryPolicy, policy_of
from determined.common.client.trust import NamedHTTPSConnection, Trust
from determined.common.client.wire import encode_query, lines

READS = policy_of({"DET_RETRY_CONFIG": '{"total": 5, "backoff_factor": 0.5}'})
"""Reads are tried again while the master is away; what changes something is sent once."""

DOWNLOAD_TIMEOUT_S = 600.0


class UserSession(Session):
    """Requests to the master at `master` (a canonical address), as the user of `token`."""

    _readmission_s = 0.0

    def __init__(self, master: str, token: str = "", *, user: str = "", trust: Trust | None = None) -> None:
        super().__init__(master, None, retry=READS)
        self.master, self.user = master, user
        self._trust = trust or Trust.of(master)
        self._secure = urlsplit(master).scheme == "https"
        self._context: ssl.SSLContext | None = None
        self.use(token)

    def use(self, token: str) -> None:
        """Send this token from now on; an empty one logs the session out."""
        self.token = token
        self._headers.pop("Authorization", None)
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def get(
        self,
        path: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout_s: float = 60.0,
        retry: RetryPolicy | None = None,
    ) -> Any:
        return self.request("GET", _target(path, params), None, timeout_s=timeout_s, retry=retry)

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        *,
        timeout_s: float = 60.0,
        retry: RetryPolicy | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        if method != "GET":
            retry = retry or ONCE
            headers = {"Idempotency-Key": str(uuid.uuid4()), **(headers or {})}
        return super().request(method, path, body, timeout_s=timeout_s, retry=retry, headers=headers)

    def put(self, path: str, body: Any = None) -> Any:
        return self.request("PUT", path, json.dumps({} if body is None else body).encode())

    def delete(self, path: str, body: Any = None) -> Any:
        return self.request("DELETE", path, None if body is None else json.dumps(body).encode())

    def pages(
        self, path: str, key: str, params: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> Iterator[Any]:
        """The items under `key`, asking for page after page until the last one, lazily."""
        offset = 0
        while True:
            answer = self.get(path, {**(params or {}), "limit": limit, "offset": offset})
            yield from answer.get(key) or []
            page = answer.get("pagination") or {}
            end, total = page.get("endIndex") or 0, page.get("total") or 0
            if end >= total or end <= offset:
                return
            offset = end

    def stream(self, path: str, params: Mapping[str, Any] | None = None) -> Iterator[Any]:
        """The results of a streaming operation as they come, for as long as the master sends."""
        with self._opened(_target(path, params), {}, None) as response:
            try:
                for line in lines(response):
                    document = json.loads(line)
                    if "error" in document:
                        raise errors.of_status(int(document["error"].get("httpCode") or 500), line.decode())
                    yield document["result"]
            except (OSError, http.client.HTTPException, ValueError) as problem:
                raise errors.MasterNotFoundException(f"the stream from {self.master} broke off: {problem}") from problem

    def download(self, path: str, accept: str, into: IO[bytes]) -> None:
        """Copy a binary answer into a file."""
        with self._opened(path, {"Accept": accept}, DOWNLOAD_TIMEOUT_S) as response:
            try:
                while chunk := response.read(1 << 20):
                    into.write(chunk)
            except (OSError, http.client.HTTPException) as problem:
                raise errors.MasterNotFoundException(f"the download broke off: {problem}") from problem

    @contextmanager
    def _opened(
        self, target: str, headers: Mapping[str, str], timeout_s: float | None
    ) -> Iterator[http.client.HTTPResponse]:
        """An answer that is read piece by piece, over a connection of its own."""
        connection = self._connect(timeout_s)
        try:
            try:
                connection.request("GET", self._prefix + target, headers={**self._headers, **headers})
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as problem:
                raise errors.MasterNotFoundException(f"no answer from {self.master}: {problem}") from problem
            if response.status >= 300:
                raise errors.of_status(response.status, response.read().decode("utf-8", "replace"))
            yield response
        finally:
            connection.close()

    def _new_connection(self, timeout_s: float) -> http.client.HTTPConnection:
        return self._connect(timeout_s)

    def _connect(self, timeout_s: float | None) -> http.client.HTTPConnection:
        if not self._secure:
            return http.client.HTTPConnection(self._host, self._port, timeout=timeout_s)
        self._context = self._context or self._trust.context()
        name = self._trust.server_name or self._host
        return NamedHTTPSConnection(self._host, self._port, timeout_s, context=self._context, server_name=name)


def _target(path: str, params: Mapping[str, Any] | None) -> str:
    text = encode_query(params or {})
    return f"{path}?{text}" if text else path


def session_of(session: Session) -> UserSession:
    """`session` as what the things of the SDK need: it can list, stream and download."""
    if not isinstance(session, UserSession):
        raise TypeError(f"session: expected the session of a Determined object; found {type(session).__name__}")
    return session
