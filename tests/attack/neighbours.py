"""Unkind neighbours of those who work: hostile bodies, strangers at every route, and clients that never finish.

They go on while blows fall. None of what they send may be answered with success, or with an error of the gateway's own
(500); and none of it may keep the clerk or the trials from being served, which is checked with theirs.
"""

from __future__ import annotations

import random
import re
import socket
from collections import Counter
from contextlib import suppress
from http.client import HTTPConnection, HTTPException

from resolute.api.routing import Caller
from resolute.api.table import ROUTES
from tests.attack.background import Background

ANSWER_S = 15.0
HALF_SENT_MAX = 200
"""Connections with half a request that are held open at once."""
REFUSED = range(400, 500)
AWAY = frozenset({503})

HOSTILE_BODIES: tuple[tuple[str, bytes], ...] = (
    ("/api/v1/experiments", b'{"config": "labels: [' + b"a, " * 150_000 + b'a]"}'),
    ("/api/v1/experiments", b'{"config": "' + b"[" * 100_000 + b'"}'),
    ("/api/v1/experiments", b'{"config": "a: &a [x, x]\\nb: &b [*a, *a]\\nc: [*b, *b]", "modelDefinition": [null]}'),
    ("/api/v1/experiments", b"[" * 50_000),
    ("/api/v1/experiments", b'{"config": "x", ' + b'"y": 1' + b"0" * 500_000 + b"}"),
    ("/api/v1/checkpoints/rm", b'{"checkpointUuids": ["x"], "checkpointGlobs": ["' + b"*a" * 2_000 + b'b"]}'),
    ("/api/v1/auth/login", b'{"username": "' + b"u" * 60_000 + b'", "password": "p"}'),
    ("/api/v1/workspaces", b'{"name": "\xff\xfe"}'),
    ("/api/v1/workspaces", b'{"name": 18446744073709551616}'),
    ("/api/v1/trials/metrics/training_metrics", b'{"trialIds": [18446744073709551616]}'),
)


class Neighbours(Background):
    """What they sent, how it was answered, and what should not have happened."""

    every_s = 0.05

    def __init__(self, host: str, port: int, seed: int) -> None:
        super().__init__()
        self._host, self._port = host, port
        self._chance = random.Random(f"neighbours {seed}")
        self._half_sent: list[socket.socket] = []
        self.sent: Counter[str] = Counter()
        self.faults: list[str] = []

    def round(self) -> None:
        with suppress(OSError, HTTPException):  # the gateway may be away, and may hang up on any of this
            self._chance.choice((self._walk_a_route, self._send_a_body, self._send_half))()

    def finish(self) -> None:
        for connection in self._half_sent:
            connection.close()

    def _walk_a_route(self) -> None:
        """As a stranger, whoever the route is for."""
        route = self._chance.choice(ROUTES)
        path = re.sub(r"\{[^}]*\}", "1", route.path)
        self._judge("a stranger's request", route.method, path, b"{}", may_pass=Caller.ANYONE in route.access.callers)

    def _send_a_body(self) -> None:
        path, body = self._chance.choice(HOSTILE_BODIES)
        self._judge("a hostile body", "POST", path, body)

    def _judge(self, kind: str, method: str, path: str, body: bytes, *, may_pass: bool = False) -> None:
        connection = HTTPConnection(self._host, self._port, timeout=ANSWER_S)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            status, said = answer.status, answer.read(300)
        finally:
            connection.close()
        self.sent[kind] += 1
        if not (status in REFUSED or status in AWAY or (may_pass and status < 400)):
            self.faults.append(f"{kind}, {method} {path}, was answered with {status}: {said!r}")

    def _send_half(self) -> None:
        """Half a request, after which nothing comes."""
        connection = socket.create_connection((self._host, self._port), timeout=5.0)
        self._half_sent.append(connection)
        connection.sendall(b"POST /api/v1/auth/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Le")
        self.sent["half a request"] += 1
        if len(self._half_sent) > HALF_SENT_MAX:
            self._half_sent.pop(0).close()
