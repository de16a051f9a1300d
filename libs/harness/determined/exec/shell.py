"""The program of a shell: it waits for people at one port, and gives each a session.

Who speaks ssh gets to sshd of the image, where there is one; who speaks the protocol of `determined.common.terminal`
gets the terminal of this package. Both ask for what only the owner of the shell is told: its key, or its token.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from determined import _info, constants
from determined.common import terminal
from determined.common.api import Session, errors
from determined.common.api._session import segment
from determined.exec import _sshd, until_ready
from determined.exec._terminal import Terminals, came

PORT = "SHELL_PORT"
IN_CONTAINER = str(constants.DEFAULT_RUN_DIR)
"""Where the files of a task are in containers. Those of processes are in a folder of their agent."""
CONNECTIONS_MAX = 128
"""Connections at once: each of ssh has a process."""
FIRST_BYTES_S = 2.0
"""Some clients of ssh say nothing before the server does: one that is silent for so long is taken for such a client."""
_SSH = b"SSH-"


class CannotServe(Exception):
    """The shell cannot start; the message says why."""


@dataclass(frozen=True)
class Keys:
    """What opens this shell."""

    public: str
    """The key that sshd believes."""
    token: str = field(repr=False)
    """What the terminal asks for."""
    user: str
    """The name that ssh signs in with; empty for root."""


def keys_of(info: _info.ClusterInfo) -> Keys:
    """Raises CannotServe."""
    session = Session(
        info.master_url, info.session_token, cert_file=info.master_cert_file, cert_name=info.master_cert_name
    )
    try:
        shown: Mapping[str, Any] = session.get(f"/api/v1/shells/{segment(info.task_id)}")["shell"]
    except errors.BadRequestException as problem:
        raise CannotServe(f"the master refused or did not answer: {problem}") from problem
    finally:
        session.close()
    if not shown.get("addresses"):
        raise CannotServe("the master told no token for this shell")
    return Keys(shown["publicKey"], shown["addresses"][0]["token"], shown["agentUserGroup"]["user"])


def listener(environment: Mapping[str, str]) -> socket.socket:
    """Raises CannotServe."""
    port = environment.get(PORT, "")
    if not port.isdecimal():
        raise CannotServe(f"{PORT} is {port!r}: an agent of an earlier release gives no port to shells; upgrade it")
    try:
        return socket.create_server(
            ("0.0.0.0" if _in_container(environment) else "127.0.0.1", int(port)), backlog=CONNECTIONS_MAX
        )
    except OSError as error:
        raise CannotServe(f"cannot listen on port {port}: {error.strerror}") from error


def _in_container(environment: Mapping[str, str]) -> bool:
    return environment.get("DET_RUN_DIR", IN_CONTAINER) == IN_CONTAINER


def program(environment: Mapping[str, str]) -> list[str]:
    """The words of the program in a terminal."""
    usual = (environment.get("SHELL", ""), "/bin/bash", "/bin/sh")
    return [next((one for one in usual if os.access(one, os.X_OK)), "/bin/sh")]


class Door:
    """What comes in at the port."""

    def __init__(self, listening: socket.socket, terminals: Terminals, sshd: _sshd.Sshd | None) -> None:
        self._listening, self._terminals, self._sshd = listening, terminals, sshd
        self._of_ssh: set[subprocess.Popen[bytes]] = set()
        self._entering: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Until cancelled."""
        loop = asyncio.get_running_loop()
        self._listening.setblocking(False)
        loop.add_signal_handler(signal.SIGCHLD, self._reap)
        while True:
            connection, _ = await loop.sock_accept(self._listening)
            if len(self._of_ssh) + len(self._entering) >= CONNECTIONS_MAX:
                connection.close()
                continue
            entering = asyncio.create_task(self._enter(connection))
            self._entering.add(entering)
            entering.add_done_callback(self._entering.discard)

    async def _enter(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            first = await _first_bytes(connection)
        except OSError:
            connection.close()
            return
        if terminal.GREETING.startswith(first) and first:
            reader = asyncio.StreamReader()
            protocol = asyncio.StreamReaderProtocol(reader)
            loop = asyncio.get_running_loop()
            transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection)
            await self._terminals.serve(reader, asyncio.StreamWriter(transport, protocol, reader, loop))
            return
        with connection:
            if self._sshd is not None and (not first or first.startswith(_SSH)):
                connection.setblocking(True)
                try:
                    self._of_ssh.add(self._sshd.serve(connection))
                except OSError as error:
                    print(f"sshd cannot be started: {error.strerror}", flush=True)

    def _reap(self) -> None:
        self._terminals.reap()
        self._of_ssh = {one for one in self._of_ssh if one.poll() is None}

    def close(self) -> None:
        """Ends all sessions."""
        self._terminals.hang_up()
        for one in self._of_ssh:
            one.terminate()


async def _first_bytes(connection: socket.socket) -> bytes:
    """What comes first, which stays there to be read; empty for a client that is silent. Raises OSError."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(connection, came, readable)
    try:
        async with asyncio.timeout(FIRST_BYTES_S):
            await readable
    except TimeoutError:
        return b""
    finally:
        loop.remove_reader(connection)
    return connection.recv(len(_SSH), socket.MSG_PEEK) or _nothing()


def _nothing() -> bytes:
    raise ConnectionError("the client left")


async def serve(door: Door) -> None:
    """Until somebody ends the task."""
    opened = asyncio.create_task(door.open())
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, opened.cancel)
    try:
        await opened
    except asyncio.CancelledError:
        door.close()


def sshd_for(keys: Keys, environment: Mapping[str, str]) -> _sshd.Sshd | None:
    folder = Path(environment.get("DET_RUN_DIR", IN_CONTAINER)) / "ssh"
    try:
        return _sshd.prepare(folder, keys.public, keys.user, environment, in_container=_in_container(environment))
    except (_sshd.CannotServe, OSError) as reason:
        print(f"no ssh in this shell ({reason}): `det shell open` shows a terminal of its own", flush=True)
        return None


def main() -> int:
    info = _info.read_cluster_info(os.environ)
    if info is None:
        print("ERROR: this is the start of a shell of a cluster, and DET_MASTER is not set", file=sys.stderr)
        return 1
    try:
        keys = keys_of(info)
        listening = listener(os.environ)
    except CannotServe as reason:
        print(f"ERROR: {reason}", file=sys.stderr, flush=True)
        return 1
    sshd = sshd_for(keys, os.environ)
    named, user = ((), None) if sshd is None else (sshd.as_named, sshd.user)
    terminals = Terminals(keys.token, [*named, *program(os.environ)], os.environ, os.getcwd(), user)
    print(f"the shell listens on port {listening.getsockname()[1]}", flush=True)
    threading.Thread(target=until_ready.report, args=(info,), daemon=True).start()
    asyncio.run(serve(Door(listening, terminals, sshd)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
