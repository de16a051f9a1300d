"""A terminal in a shell, seen in the terminal of this program: what is typed here goes there, what comes is shown here.

A connection that is lost is opened again, and shows the same session: its programs have gone on meanwhile.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from determined.cli.tunnel import Tunnel
from determined.common import terminal
from determined.common.client.problems import ClientError
from determined.common.client.websocket import NotOpened, WebSocket
from determined.common.terminal import Frames, document, frame, read_document
from resolute.cli.errors import CliError

RECONNECT_S = 120.0
"""How long a lost connection is tried again."""
AGAIN_S = 1.0
READ_BYTES = 65_536
ESCAPE, LEAVE = b"~", b"."
"""At the beginning of a line they leave the session, as in ssh."""
_END_OF_INPUT = b"\x04"
LEFT = None
OVER = (401, 403, 404, 410)
"""Answers after which no other is to be expected: the login or the shell has ended."""
CLEAR = b"\x1b[H\x1b[2J\x1b[3J"


def ask(tunnel: Tunnel, token: str) -> Mapping[str, Any]:
    """What there is at the port: `ssh`, `user`, `sessions`. Raises ClientError."""
    way = _opened(tunnel, {"token": token, "ask": True})
    frames = Frames()
    try:
        while (data := way.receive()) is not None:
            for kind, content in frames.feed(data):
                return _welcome(kind, content)
    except OSError as error:
        raise ClientError(f"the shell does not answer ({error})") from error
    finally:
        way.abort()
    raise ClientError("the shell does not answer: it may be of another release")


def view(tunnel: Tunnel, token: str, session: str) -> int | None:
    """The exit status of the session's program; None when the person leaves it. Raises ClientError."""
    with _raw_input():
        return _View(tunnel, token, session).run()


def _opened(tunnel: Tunnel, hello: Mapping[str, Any]) -> WebSocket:
    way = tunnel.open()
    way.send(terminal.GREETING + document(terminal.HELLO, **hello))
    return way


def _welcome(kind: bytes, content: bytes) -> Mapping[str, Any]:
    said = read_document(content)
    if kind == terminal.REFUSED:
        raise CliError(f"the shell does not let you in: {said.get('message')}")
    return said


class _View:
    def __init__(self, tunnel: Tunnel, token: str, session: str) -> None:
        self._tunnel, self._token, self._session = tunnel, token, session
        self._way: WebSocket | None = None
        self._left = False
        self._seen = False
        """Whether the session has been shown before."""

    def run(self) -> int | None:
        signal.signal(signal.SIGWINCH, self._resized)
        self._connect()
        threading.Thread(target=self._type, daemon=True).start()
        while True:
            try:
                status = self._show()
            except OSError:
                status = -1
            if self._left:
                return LEFT
            if status >= 0:
                return status
            self._reconnect()

    def _connect(self) -> None:
        hello = {"token": self._token, "session": self._session, "term": os.environ.get("TERM", ""), **_window()}
        if self._seen:
            hello["again"] = True
        self._way = _opened(self._tunnel, hello)

    def _reconnect(self) -> None:
        """Raises ClientError when that is not possible for too long."""
        _note("the connection is lost; trying again")
        until = time.monotonic() + RECONNECT_S
        while True:
            time.sleep(AGAIN_S)
            try:
                self._connect()
            except (ClientError, OSError) as error:
                over = isinstance(error, NotOpened) and error.status in OVER
                if over or time.monotonic() > until:
                    raise
            else:
                if sys.stdin.isatty():
                    _write(CLEAR)  # what was printed lately comes again
                return

    def _show(self) -> int:
        """The exit status; -1 for a connection that ended without one. Raises OSError, CliError."""
        assert self._way is not None
        frames = Frames()
        while (data := self._way.receive()) is not None:
            for kind, content in frames.feed(data):
                if kind == terminal.OUTPUT:
                    _write(content)
                elif kind == terminal.ENDED:
                    return int(read_document(content)["status"])
                else:
                    self._greet(_welcome(kind, content))
        return -1

    def _greet(self, said: Mapping[str, Any]) -> None:
        if not self._seen and sys.stdin.isatty():
            others = int(said.get("viewers", 1)) - 1
            seen = f", which {others} more {'looks' if others == 1 else 'look'} at" if others else ""
            _note(f"session {said.get('session')}{seen}; to leave it running, type Enter ~ .")
        self._seen = True

    def _type(self) -> None:
        keys = Keys()
        while data := os.read(0, READ_BYTES):
            typed, left = keys.feed(data)
            self._send(frame(terminal.INPUT, typed))
            if left:
                self._leave()
                return
        self._send(frame(terminal.INPUT, _END_OF_INPUT))

    def _leave(self) -> None:
        self._left = True
        if self._way is not None:
            self._way.abort()

    def _send(self, data: bytes) -> None:
        with suppress(OSError):  # what is typed while there is no connection is lost, and its line says so
            if self._way is not None:
                self._way.send(data)

    def _resized(self, _number: int, _frame: FrameType | None) -> None:
        # A thread of its own: the handler may interrupt the very call that holds the lock of the connection.
        threading.Thread(target=self._send, args=(document(terminal.SIZE, **_window()),), daemon=True).start()


class Keys:
    """Finds the escape of ssh in what is typed: `~.` at the beginning of a line; `~~` is one `~`."""

    def __init__(self) -> None:
        self._at_start, self._escaped = True, False

    def feed(self, data: bytes) -> tuple[bytes, bool]:
        """What is to be sent of it, and whether the person leaves."""
        sent = bytearray()
        for one in (data[place : place + 1] for place in range(len(data))):
            if self._escaped:
                self._escaped = False
                if one == LEAVE:
                    return bytes(sent), True
                sent += one if one == ESCAPE else ESCAPE + one
            elif one == ESCAPE and self._at_start:
                self._escaped = True
                continue
            else:
                sent += one
            self._at_start = one in b"\r\n"
        return bytes(sent), False


def _window() -> dict[str, int]:
    size = shutil.get_terminal_size()
    return {"rows": max(1, size.lines), "columns": max(1, size.columns)}


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _note(text: str) -> None:
    os.write(2, f"\r\n[{text}]\r\n".encode())


@contextmanager
def _raw_input() -> Iterator[None]:
    """What is typed comes as it is typed, Ctrl-C included."""
    if not sys.stdin.isatty():
        yield
        return
    import termios
    import tty

    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
