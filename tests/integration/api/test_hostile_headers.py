"""Credentials whose bytes are no text in UTF-8: the gateway refuses them like any that are wrong, and never fails."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from resolute.service import metrics_token
from tests.integration.api.running import running

NO_TEXT = b"\xff\xfe\x80"

ME = ("GET", "/api/v1/me", b"")
LOGOUT = ("POST", "/api/v1/auth/logout", b"")
LOGIN = ("POST", "/api/v1/auth/login", json.dumps({"username": "determined", "password": "wrong"}).encode())

Request = tuple[str, str, bytes]

SHOWN: dict[str, tuple[Request, dict[str, bytes], int]] = {
    "a session's token": (ME, {"Authorization": b"Bearer " + NO_TEXT}, 401),
    "the metrics token": (ME, {"Authorization": b"Bearer metrics-" + NO_TEXT}, 401),
    "a task's token": (ME, {"Authorization": b"Bearer rt1.YQ.YQ." + NO_TEXT}, 401),
    "a cookie": (ME, {"Cookie": b"auth=" + NO_TEXT}, 401),
    "what a page must repeat": (LOGOUT, {"Cookie": b"auth=a", "X-CSRF-Token": NO_TEXT}, 403),
    "a device": (LOGIN, {"Cookie": b"resolute_device=" + NO_TEXT}, 401),
    "a device's seal": (LOGIN, {"Cookie": b"resolute_device=1.a.1." + NO_TEXT}, 401),
    "the gateway's name": (ME, {"Host": NO_TEXT}, 421),
    "a page's origin": (ME, {"Origin": b"http://" + NO_TEXT}, 401),
}


@pytest.fixture
async def base(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[str]:
    file = tmp_path / "metrics.token"
    file.write_text(metrics_token.new())
    async with running(postgres_dsn, metrics_token_file=file) as cluster:
        yield cluster.nobody.base


async def test_credentials_that_are_no_text_are_refused_as_wrong_ones(base: str) -> None:
    for name, (request, headers, status) in SHOWN.items():
        assert (name, await asyncio.to_thread(status_of, base, request, headers)) == (name, status)


def status_of(base: str, request: Request, headers: dict[str, bytes]) -> int:
    where, (method, path, body) = urlsplit(base), request
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=60)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        return connection.getresponse().status
    finally:
        connection.close()
