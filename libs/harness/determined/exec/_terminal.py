"""The terminal of a shell: programs on pseudo-terminals, which go on when nobody looks, and which several may look at.

The protocol is in `determined.common.terminal`. A session is known by a name, and lives until its program ends. Whoever
comes later is shown the end of what it printed. A viewer that reads more slowly than the others is cut off when it is
too far behind, and may come again; while there is no faster one, the program waits for it, as for any terminal.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hmac
import os
import re
import signal
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from determined.common import terminal
from determined.common.terminal import Frames, Malformed, document, frame, read_document

SCROLLBACK_BYTES = 256 * 1024
"""How much of what a session printed is kept for viewers that come later."""
WAIT_BYTES = 256 * 1024
"""When every viewer has so much to read yet, the program waits."""
BEHIND_BYTES = 4 * 2**20
"""A viewer that has so much to read yet, while others have less, is cut off."""
READ_BYTES = 65_536
LAST_READS = 16
"""How often a program that has ended is read from: what it left running may go on printing."""
SESSIONS_MAX = 32
ENDED_KEPT = 8
"""Sessions that have ended, whose end is told to viewers that had lost their connection."""
VIEWERS_MAX = 16
"""Of one session."""
HELLO_S = 10.0
DRAIN_S = 10.0
"""How long a viewer may take for the last of what it is sent."""
NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
TERM = re.compile(r"[A-Za-z0-9._+-]{1,64}")
CELLS_MAX = 2_000
"""Rows or columns of a window."""


class Refused(Exception):
    """A viewer is not let in; the message says why."""


@dataclass(frozen=True)
class Window:
    rows: int = 24
    columns: int = 80

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Window:
        """Raises Malformed."""
        rows, columns = said.get("rows", 24), said.get("columns", 80)
        if not all(type(one) is int and 0 < one <= CELLS_MAX for one in (rows, columns)):
            raise Malformed(f"rows, columns: expected whole numbers from 1 to {CELLS_MAX}; found {rows!r}, {columns!r}")
        return cls(rows, columns)


class Viewer:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        writer.transport.set_write_buffer_limits(high=WAIT_BYTES)

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    @property
    def behind(self) -> int:
        """Bytes that it has not taken yet."""
        return self.writer.transport.get_write_buffer_size()

    def cut(self) -> None:
        self.writer.transport.abort()


class Session:
    """One program on a pseudo-terminal. Everything happens on the event loop's thread."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when its program has ended."""
        self.viewers: set[Viewer] = set()
        self.scrollback = bytearray()
        self.last_words = b""
        """What viewers are told at its end."""
        self._typing = asyncio.Lock()
        self._resuming: asyncio.Task[None] | None = None
        self._is_read = False

    def start(self, words: Sequence[str], environment: Mapping[str, str], directory: str, window: Window) -> None:
        """Raises OSError."""
        self._master, slave = os.openpty()
        try:
            os.set_blocking(self._master, False)
            self.resize(window)
            self.program = subprocess.Popen(
                words,
                stdin=slave,
                stdout=slave,
                stderr=slave,
                env=dict(environment),
                cwd=directory,
                start_new_session=True,
                preexec_fn=_take_terminal,
            )
        except BaseException:
            os.close(self._master)
            raise
        finally:
            os.close(slave)
        self._read_on()

    def attach(self, viewer: Viewer, window: Window) -> None:
        if self.scrollback:
            viewer.send(frame(terminal.OUTPUT, bytes(self.scrollback)))
        self.viewers.add(viewer)
        self.resize(window)
        with contextlib.suppress(OSError):  # programs that use the whole window draw it again
            os.killpg(os.tcgetpgrp(self._master), signal.SIGWINCH)

    def detach(self, viewer: Viewer) -> None:
        self.viewers.discard(viewer)
        if self._resuming is not None and not self.viewers:
            self._resuming.cancel()

    def resize(self, window: Window) -> None:
        with contextlib.suppress(OSError):  # it has just ended
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", window.rows, window.columns, 0, 0))

    async def type(self, data: bytes) -> None:
        """Waits for as long as the program does not read. Raises OSError when it has ended."""
        async with self._typing:
            rest = memoryview(data)
            while rest:
                try:
                    rest = rest[os.write(self._master, rest) :]
                except BlockingIOError:
                    await _writable(self._master)

    def hang_up(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.program.pid, signal.SIGHUP)

    def has_ended(self) -> bool:
        """Whether its program has ended: then the viewers are told, and what it left running is hung up."""
        status = self.program.poll()
        if status is None:
            return False
        for _ in range(LAST_READS):
            if not self._take():
                break
        if self._resuming is not None:
            self._resuming.cancel()
        self._pause()
        os.close(self._master)
        self.last_words = document(terminal.ENDED, status=status if status >= 0 else 128 - status)
        for viewer in self.viewers:
            viewer.send(self.last_words)
        self.over.set_result(None)
        return True

    # ------------------------------------------------------------ what the program prints

    def _read_on(self) -> None:
        if not self._is_read:
            self._is_read = True
            asyncio.get_running_loop().add_reader(self._master, self._take)

    def _pause(self) -> None:
        if self._is_read:
            self._is_read = False
            asyncio.get_running_loop().remove_reader(self._master)

    def _take(self) -> bool:
        """Passes on what the program printed, once. Whether there was any."""
        try:
            data = os.read(self._master, READ_BYTES)
        except BlockingIOError:
            return False
        except OSError:  # nothing has the other end open any more
            self._pause()
            return False
        if not data:
            return False
        self.scrollback += data
        del self.scrollback[: max(0, len(self.scrollback) - SCROLLBACK_BYTES)]
        shown = frame(terminal.OUTPUT, data)
        for viewer in self.viewers:
            viewer.send(shown)
        self._keep_pace()
        return True

    def _keep_pace(self) -> None:
        if not self.viewers:
            return
        if min(viewer.behind for viewer in self.viewers) > WAIT_BYTES:
            if self._is_read:
                self._pause()
                self._resuming = asyncio.create_task(self._resume())
            return
        for viewer in [one for one in self.viewers if one.behind > BEHIND_BYTES]:
            self.viewers.discard(viewer)
            viewer.cut()

    async def _resume(self) -> None:
        """Reads on as soon as one of the viewers has caught up, or all have left."""
        waits = [asyncio.ensure_future(viewer.writer.drain()) for viewer in self.viewers]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for one in waits:
                one.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
            self._resuming = None
            if self.program.poll() is None:
                self._read_on()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def came(awaited: asyncio.Future[None]) -> None:
    """For a callback of the event loop that may be called more than once."""
    if not awaited.done():
        awaited.set_result(None)


async def _writable(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    may = loop.create_future()
    loop.add_writer(descriptor, came, may)
    try:
        await may
    finally:
        loop.remove_writer(descriptor)


class Terminals:
    """The sessions of one shell, and those who look at them."""

    def __init__(
        self, token: str, words: Sequence[str], environment: Mapping[str, str], directory: str, ssh_user: str | None
    ) -> None:
        """`token`: what viewers must show. `words`: the program of a session. `ssh_user`: the name that sshd at the
        same port knows; None where there is no sshd."""
        self._token, self._words, self._environment, self._directory = token, words, environment, directory
        self._ssh_user = ssh_user
        self.sessions: dict[str, Session] = {}
        self._ended: dict[str, Session] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one viewer until it leaves, or its session ends."""
        frames = Frames()
        try:
            async with asyncio.timeout(HELLO_S):
                await reader.readexactly(len(terminal.GREETING))
                said, early = await self._hello(reader, frames)
            await self._welcome(said, early, frames, reader, writer)
        except (Refused, Malformed) as error:
            writer.write(document(terminal.REFUSED, message=str(error)))
        except (TimeoutError, OSError, EOFError):
            pass  # gone, or silent: nobody is there to be told
        finally:
            await _close(writer)

    async def _hello(
        self, reader: asyncio.StreamReader, frames: Frames
    ) -> tuple[Mapping[str, Any], list[tuple[bytes, bytes]]]:
        """What the viewer says first, and frames that came with it."""
        while True:
            data = await reader.read(READ_BYTES)
            if not data:
                raise EOFError
            if found := list(frames.feed(data)):
                (kind, content), *rest = found
                said = read_document(content) if kind == terminal.HELLO else {}
                if not hmac.compare_digest(str(said.get("token")).encode(), self._token.encode()):
                    raise Refused("the token is not that of this shell")
                return said, rest

    async def _welcome(
        self,
        said: Mapping[str, Any],
        early: Sequence[tuple[bytes, bytes]],
        frames: Frames,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        facts: dict[str, Any] = {"ssh": self._ssh_user is not None, "user": self._ssh_user or ""}
        if said.get("ask"):
            writer.write(document(terminal.WELCOME, **facts, sessions=sorted(self.sessions)))
            return
        if said.get("again") and (name := str(said.get("session"))) not in self.sessions:
            _tell_end(self._ended.get(name), name, writer)
            return
        session, window, viewer = self._session(said), Window.of(said), Viewer(writer)
        writer.write(document(terminal.WELCOME, **facts, session=session.name, viewers=len(session.viewers) + 1))
        session.attach(viewer, window)
        reading = asyncio.ensure_future(_pass_on(early, frames, reader, session))
        try:
            await asyncio.wait((reading, session.over), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                reading.result()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            session.detach(viewer)

    def _session(self, said: Mapping[str, Any]) -> Session:
        """The one that the viewer names, which is started where there is none. Raises Refused and Malformed."""
        name, kind = str(said.get("session", "main")), str(said.get("term") or "xterm-256color")
        if not NAME.fullmatch(name) or not TERM.fullmatch(kind):
            raise Malformed("session, term: expected at most 64 letters, digits, '.', '_' and '-'")
        if (found := self.sessions.get(name)) is not None:
            if len(found.viewers) >= VIEWERS_MAX:
                raise Refused(f"session {name} has {VIEWERS_MAX} viewers already")
            return found
        if len(self.sessions) >= SESSIONS_MAX:
            raise Refused(f"this shell has {SESSIONS_MAX} sessions already: end one, or look at one of them")
        session = Session(name)
        try:
            environment = {**self._environment, "TERM": kind}
            session.start(self._words, environment, self._directory, Window.of(said))
        except OSError as error:
            raise Refused(f"{self._words[0]} cannot be started: {error.strerror}") from error
        self.sessions[name] = session
        return session

    def reap(self) -> None:
        """Ends the sessions whose programs have ended."""
        for session in list(self.sessions.values()):
            if session.has_ended():
                del self.sessions[session.name]
                self._ended.pop(session.name, None)
                self._ended[session.name] = session
                while len(self._ended) > ENDED_KEPT:
                    del self._ended[next(iter(self._ended))]

    def hang_up(self) -> None:
        for session in self.sessions.values():
            session.hang_up()


def _tell_end(session: Session | None, name: str, writer: asyncio.StreamWriter) -> None:
    """To a viewer that lost its connection before the end. Raises Refused for an end that is not known any more."""
    if session is None:
        raise Refused(f"session {name} has ended meanwhile")
    writer.write(frame(terminal.OUTPUT, bytes(session.scrollback)) + session.last_words)


async def _pass_on(
    early: Sequence[tuple[bytes, bytes]], frames: Frames, reader: asyncio.StreamReader, session: Session
) -> None:
    """Until the viewer leaves."""
    for one in early:
        await _take(session, *one)
    while data := await reader.read(READ_BYTES):
        for kind, content in frames.feed(data):
            await _take(session, kind, content)


async def _take(session: Session, kind: bytes, content: bytes) -> None:
    if kind == terminal.INPUT:
        await session.type(content)
    elif kind == terminal.SIZE:
        session.resize(Window.of(read_document(content)))
    else:
        raise Malformed(f"a frame of kind {kind!r} is not for a terminal")


async def _close(writer: asyncio.StreamWriter) -> None:
    """Lets the viewer take the rest."""
    with contextlib.suppress(TimeoutError, OSError):
        async with asyncio.timeout(DRAIN_S):
            writer.close()
            await writer.wait_closed()
    writer.transport.abort()
