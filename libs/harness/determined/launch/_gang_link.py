"""The connections between the launchers of a gang: the chief's launcher listens, the others connect to it, and small
JSON messages go both ways.

A connection is open for as long as the gang runs. Each end sends a beat every second, so that the other end notices
within seconds when a launcher is gone, even where the connection is never closed.
"""

from __future__ import annotations

import json
import select
import socket
import time
from collections.abc import Mapping
from typing import Any

BEAT_S = 1.0
SILENCE_S = 15.0
"""After this time without a message a launcher counts as lost, with its host or the network. It is long enough that a
short pause of the network, or a host that swaps, does not end a run."""
SEND_S = 2.0
MESSAGE_BYTES_MAX = 1 << 20


class LinkClosed(Exception):
    """The connection is closed: no further message will come."""


class Link:
    """One end of a connection between two launchers; messages are lines of JSON."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(SEND_S)
        self.connection = connection
        self.heard_at = time.monotonic()
        self._buffer = bytearray()
        self._left_over: list[dict[str, Any]] = []

    def fileno(self) -> int:
        return self.connection.fileno()

    def send(self, message: Mapping[str, Any]) -> None:
        """Raises LinkClosed."""
        try:
            self.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError as problem:
            raise LinkClosed(str(problem)) from problem

    def receive(self) -> list[dict[str, Any]]:
        """The messages that have arrived, for a link with data to read; none while a message is incomplete. Raises
        LinkClosed."""
        try:
            data = self.connection.recv(1 << 16)
        except OSError as problem:
            raise LinkClosed(str(problem)) from problem
        if not data or len(self._buffer) > MESSAGE_BYTES_MAX:
            raise LinkClosed("the connection was closed")
        self.heard_at = time.monotonic()
        self._buffer += data
        *lines, rest = bytes(self._buffer).split(b"\n")
        self._buffer[:] = rest
        return [json.loads(line) for line in lines]

    def wait_for(self, kind: str, deadline: float) -> dict[str, Any]:
        """The next message of this kind; messages before it are dropped. Raises LinkClosed, also at the deadline."""
        while (left := deadline - time.monotonic()) > 0:
            if select.select([self.connection], [], [], left)[0]:
                messages = self.receive()
                for at, message in enumerate(messages):
                    if message["kind"] == kind:
                        self._left_over = messages[at + 1 :]
                        return message
        raise LinkClosed("no message came in time")

    def left_over(self) -> list[dict[str, Any]]:
        """The messages that came together with the one of `wait_for`. A second call returns none."""
        messages, self._left_over = self._left_over, []
        return messages

    def close(self) -> None:
        self.connection.close()
