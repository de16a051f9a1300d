"""The transport of the collectives: a star, with rank 0 in the centre and one connection to each other rank.

On one machine the ranks connect to a Unix socket in a folder that only this user may enter. Across machines they use
TCP, where each side proves that it knows the task's secret (see `determined._handshake`). Messages are pickled, and
unpickling runs code, so processes outside of the task must not get in.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import logging
import os
import pathlib
import pickle
import socket
import struct
import tempfile
import time
from typing import Any

from determined._handshake import HANDSHAKE_S, HandshakeFailed, introduce, read, shared_secret, welcome

logger = logging.getLogger("determined.core")

JOIN_S = 600.0
FOLDER_BYTES_MAX = 80
"""An address of a Unix socket has at most 107 bytes (Linux; 103 on macOS), its folder included: unix(7)."""
PURPOSE = b"star "
_FRAME = struct.Struct(">Q")


class Star:
    """Collectives over `links`: on rank 0 one link to each other rank, on other ranks one to rank 0. Methods raise
    RuntimeError when a rank has gone, or when the ranks make different calls. They wait for slow ranks without a limit.
    """

    def __init__(self, rank: int, links: dict[int, socket.socket]) -> None:
        self._rank = rank
        self._links = links
        self._calls = 0

    def gather(self, stuff: Any) -> list[Any] | None:
        call = self._call("gather")
        if self._rank != 0:
            self._send(0, call, stuff)
            return None
        others = {rank: self._receive(rank, call) for rank in sorted(self._links)}
        return [stuff if rank == 0 else others[rank] for rank in range(len(others) + 1)]

    def broadcast(self, stuff: Any) -> Any:
        call = self._call("broadcast")
        if self._rank != 0:
            return self._receive(0, call)
        message = _frame(call, stuff)
        for rank, link in self._links.items():
            self._deliver(rank, link, message)
        return stuff

    def allgather(self, stuff: Any) -> list[Any]:
        everything: list[Any] = self.broadcast(self.gather(stuff))
        return everything

    def close(self) -> None:
        for link in self._links.values():
            link.close()

    def _call(self, kind: str) -> tuple[str, int]:
        self._calls += 1
        return kind, self._calls

    def _send(self, rank: int, call: tuple[str, int], stuff: Any) -> None:
        self._deliver(rank, self._links[rank], _frame(call, stuff))

    def _deliver(self, rank: int, link: socket.socket, message: bytes) -> None:
        try:
            link.sendall(message)
        except OSError as problem:
            raise RuntimeError(f"rank {rank} has gone: {problem}") from problem

    def _receive(self, rank: int, call: tuple[str, int]) -> Any:
        try:
            sent, stuff = pickle.loads(_read_frame(self._links[rank]))
        except OSError as problem:
            raise RuntimeError(f"rank {rank} has gone: {problem}") from problem
        if sent != call:
            raise RuntimeError(
                f"the ranks are out of step: rank {self._rank} is at {call[0]} number {call[1]}, "
                f"rank {rank} at {sent[0]} number {sent[1]}; every rank must make the same calls in order"
            )
        return stuff


def _frame(call: tuple[str, int], stuff: Any) -> bytes:
    data = pickle.dumps((call, stuff), protocol=pickle.HIGHEST_PROTOCOL)
    return _FRAME.pack(len(data)) + data


def _read_frame(link: socket.socket) -> bytes:
    (length,) = _FRAME.unpack(read(link, _FRAME.size))
    return read(link, length)


def open_local_star(name: str, rank: int, size: int) -> Star:
    """A star between `size` workers of this user on this machine that agree on `name`."""
    # Two tasks on one host may use the same port numbers, so the name has the allocation as well.
    said = f"{os.environ.get('DET_ALLOCATION_ID', '')} {name}"
    path = str(_private_folder() / f"star-{hashlib.sha256(said.encode()).hexdigest()[:16]}")
    if rank != 0:
        return Star(rank, {0: _join(socket.AF_UNIX, path, rank, b"")})
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(path)
        listener.listen(size)
        links = _admit(listener, size, b"")
        os.unlink(path)
    finally:
        listener.close()
    return Star(rank, links)


def open_star(host: str, port: int, rank: int, size: int) -> Star:
    """A star between `size` workers on several machines; rank 0 listens at `host`:`port`."""
    secret = shared_secret()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if rank != 0:
        return Star(rank, {0: _join(family, (host, port), rank, secret)})
    with _listen(host, port, family, size) as listener:
        return Star(rank, _admit(listener, size, secret))


def _listen(host: str, port: int, family: int, size: int) -> socket.socket:
    """Listens at the address that the others call. When this machine does not have that address, because it is
    translated on the way (NAT), listens at all addresses of this machine."""
    try:
        return socket.create_server((host, port), family=family, backlog=size)
    except OSError as problem:
        if problem.errno != errno.EADDRNOTAVAIL:
            raise RuntimeError(f"rank 0 cannot listen for the others at {host}:{port}: {problem.strerror}") from problem
    return socket.create_server(("", port), family=family, backlog=size)


def _admit(listener: socket.socket, size: int, secret: bytes) -> dict[int, socket.socket]:
    deadline = time.monotonic() + JOIN_S
    links: dict[int, socket.socket] = {}
    while len(links) < size - 1:
        listener.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            link, _ = listener.accept()
        except TimeoutError:
            missing = sorted(set(range(1, size)) - set(links))
            raise RuntimeError(f"ranks {missing} did not join within {JOIN_S:.0f} s") from None
        try:
            rank = welcome(link, secret, PURPOSE, range(1, size))
        except (OSError, HandshakeFailed) as problem:
            logger.warning("turned away a connection that is no worker of this trial: %s", problem)
            link.close()
            continue
        if rank in links:
            links[rank].close()
        links[rank] = link
    return links


def _join(family: int, address: Any, rank: int, secret: bytes) -> socket.socket:
    """Connects to rank 0; tries again until it answers, for at most JOIN_S."""
    deadline = time.monotonic() + JOIN_S
    pause_s = 0.002
    while True:
        link = socket.socket(family, socket.SOCK_STREAM)
        try:
            link.settimeout(HANDSHAKE_S)
            link.connect(address)
            introduce(link, secret, PURPOSE, rank)
            return link
        except HandshakeFailed as problem:
            link.close()
            raise RuntimeError(f"another process answers at the chief's address {address}: {problem}") from problem
        except OSError as problem:
            link.close()
            if time.monotonic() > deadline:
                raise RuntimeError(f"rank 0 did not answer at {address} within {JOIN_S:.0f} s") from problem
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.25)


def _private_folder() -> pathlib.Path:
    """The folder of sockets, below TMPDIR, or below /tmp when the path of TMPDIR is too long for an address."""
    name = f"determined-{os.getuid()}"
    folder = pathlib.Path(tempfile.gettempdir()) / name
    if len(os.fsencode(folder)) > FOLDER_BYTES_MAX:
        folder = pathlib.Path("/tmp") / name
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or not folder.is_dir() or folder.is_symlink():
        raise RuntimeError(f"{folder} should be a folder that only this user may enter; remove it")
    return folder
