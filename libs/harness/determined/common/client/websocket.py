"""A WebSocket of a client, with messages of bytes (RFC 6455), over the standard library alone."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from determined.common.client.problems import ClientError
from determined.common.client.trust import Trust

HEAD_BYTES_MAX = 65_536
MESSAGE_BYTES_MAX = 2**24
CONNECT_S = 30.0
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONTINUED, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10


class NotOpened(ClientError):
    """The master answered the opening of a WebSocket with another status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class WebSocket:
    """One thread may send while another one receives."""

    def __init__(self, master: str, path: str, headers: Mapping[str, str], trust: Trust | None = None) -> None:
        """Connects to `path` at the master. Raises ClientError: NotOpened for an answer that is no WebSocket."""
        url = urlsplit(master)
        assert url.hostname, "a canonical address names a host"
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            self._socket = socket.create_connection((url.hostname, port), CONNECT_S)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if url.scheme == "https":
                believed = trust or Trust.of(master)
                name = believed.server_name or url.hostname
                self._socket = believed.context().wrap_socket(self._socket, server_hostname=name)
            self._file = self._socket.makefile("rb", buffering=2**17)
            self._sending = threading.Lock()
            self._open(f"{url.hostname}:{port}", f"{url.path}{path}", headers)
            self._socket.settimeout(None)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        except OSError as error:
            raise ClientError(f"no answer from the master at {master} ({error})") from error

    def _open(self, host: str, path: str, headers: Mapping[str, str]) -> None:
        key = base64.b64encode(os.urandom(16))
        asked = {
            "Host": host,
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": key.decode(),
            **headers,
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in asked.items())]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        status, answered = self._head()
        if status != 101:
            length = min(int(answered.get("content-length") or 0), HEAD_BYTES_MAX)
            raise NotOpened(status, self._file.read(length).decode(errors="replace") or f"the master answered {status}")
        expected = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
        if answered.get("sec-websocket-accept") != expected:
            raise ClientError("what answers at the address of the master is no WebSocket")

    def _head(self) -> tuple[int, dict[str, str]]:
        lines, size = [], 0
        while (line := self._file.readline(HEAD_BYTES_MAX)).strip():
            lines.append(line.decode("latin-1").rstrip("\r\n"))
            size += len(line)
            if size > HEAD_BYTES_MAX:
                break
        words = lines[0].split(" ", 2) if lines else []
        if len(words) < 2 or not words[1].isdecimal():
            raise ClientError("what answers at the address of the master is no HTTP server")
        pairs = (line.partition(":") for line in lines[1:])
        return int(words[1]), {name.strip().lower(): value.strip() for name, _, value in pairs}

    def send(self, data: bytes) -> None:
        """Raises OSError where the connection is gone."""
        self._send(_BINARY, data)

    def close(self) -> None:
        """Says that nothing more comes. What the other side still sends can be received."""
        try:
            self._send(_CLOSE, (1000).to_bytes(2, "big"))
        except OSError:
            return

    def abort(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def receive(self) -> bytes | None:
        """The bytes of the next message; None when the other side has closed. Raises OSError where it is cut off."""
        message = b""
        while True:
            final, opcode, data = self._frame()
            if opcode == _PING:
                self._send(_PONG, data)
            elif opcode == _CLOSE:
                return None
            elif opcode in (_CONTINUED, _BINARY, _TEXT):
                message += data
                if len(message) > MESSAGE_BYTES_MAX:
                    raise ConnectionError("a message is too long")
                if final:
                    return message

    def _frame(self) -> tuple[bool, int, bytes]:
        head = self._exactly(2)
        length = head[1] & 0x7F
        if length >= 126:
            length = int.from_bytes(self._exactly(2 if length == 126 else 8), "big")
        if length > MESSAGE_BYTES_MAX or head[1] & 0x80:
            raise ConnectionError("a frame is too long, or masked, which only those of clients are")
        return bool(head[0] & 0x80), head[0] & 0x0F, self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        data: bytes = self._file.read(count)
        if len(data) < count:
            raise ConnectionError("the connection was closed")
        return data

    def _send(self, opcode: int, data: bytes) -> None:
        size = len(data)
        head = bytes([0x80 | opcode])
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 2**16:
            head += b"\xfe" + size.to_bytes(2, "big")
        else:
            head += b"\xff" + size.to_bytes(8, "big")
        mask = os.urandom(4)
        with self._sending:
            self._socket.sendall(head + mask + _masked(data, mask))


def _masked(data: bytes, mask: bytes) -> bytes:
    size = len(data)
    whole = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(data, "big") ^ int.from_bytes(whole, "big")).to_bytes(size, "big")
