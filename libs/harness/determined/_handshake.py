"""A handshake by which the two ends of a connection prove to each other that they belong to one task.

Each end answers the other's nonce with an HMAC under a secret of the task: its session token, or off the cluster a file
in the user's own data folder. The messages after it are neither encrypted nor authenticated: they are as safe as the
network between the hosts.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import pathlib
import secrets
import socket
import struct
import tempfile

HANDSHAKE_S = 10.0
_HELLO = struct.Struct(">I32s")


class HandshakeFailed(Exception):
    """The process at the other end does not know the secret, or is not the expected one."""


def welcome(link: socket.socket, secret: bytes, purpose: bytes, ranks: range) -> int:
    """The listening end. Returns the rank of the process that connected, one of `ranks`. Raises HandshakeFailed and
    OSError; the caller closes `link`."""
    link.settimeout(HANDSHAKE_S)
    nonce = secrets.token_bytes(32)
    link.sendall(nonce)
    rank, callers_nonce = _HELLO.unpack(read(link, _HELLO.size))
    if not hmac.compare_digest(read(link, 32), _proof(secret, purpose + b"caller", nonce + callers_nonce, rank)):
        raise HandshakeFailed("it does not know the secret")
    if rank not in ranks:
        raise HandshakeFailed(f"it says it is rank {rank}, which was not expected")
    link.sendall(_proof(secret, purpose + b"listener", callers_nonce + nonce, rank))
    _tune(link)
    return int(rank)


def introduce(link: socket.socket, secret: bytes, purpose: bytes, rank: int) -> None:
    """The calling end. Raises HandshakeFailed and OSError; the caller closes `link`."""
    link.settimeout(HANDSHAKE_S)
    nonce = read(link, 32)
    mine = secrets.token_bytes(32)
    link.sendall(_HELLO.pack(rank, mine) + _proof(secret, purpose + b"caller", nonce + mine, rank))
    if not hmac.compare_digest(read(link, 32), _proof(secret, purpose + b"listener", mine + nonce, rank)):
        raise HandshakeFailed("the process that answers there does not know this task's secret")
    _tune(link)


def read(link: socket.socket, length: int) -> bytes:
    """Reads exactly `length` bytes. Raises ConnectionError when the other end closes the connection before."""
    parts = bytearray()
    while len(parts) < length:
        part = link.recv(min(length - len(parts), 1 << 20))
        if not part:
            raise ConnectionError("the connection was closed")
        parts += part
    return bytes(parts)


def _proof(secret: bytes, role: bytes, nonces: bytes, rank: int) -> bytes:
    return hmac.digest(secret, role + nonces + rank.to_bytes(4, "big"), hashlib.sha256)


def _tune(link: socket.socket) -> None:
    link.settimeout(None)
    if link.family != socket.AF_UNIX:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def shared_secret() -> bytes:
    """A secret that only the processes of this task know, on all of its hosts."""
    token = os.environ.get("DET_SESSION_TOKEN")
    if token:
        return secret_of(token)
    home = pathlib.Path(os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local" / "share")
    path = home / "determined" / "workers-secret"
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError), tempfile.NamedTemporaryFile(dir=path.parent) as fresh:
        fresh.write(secrets.token_bytes(32))
        fresh.flush()
        os.link(fresh.name, path)
    return path.read_bytes()


def secret_of(token: str) -> bytes:
    """The secret of a gang, derived from the session token of its allocation. The token itself is not sent to peers."""
    return hmac.digest(token.encode(), b"workers of one allocation", hashlib.sha256)
