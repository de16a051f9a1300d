"""How two ends of a connection prove to each other that they belong to one task, before either believes the other.

Each answers the other's nonce with an HMAC under a secret that only the task has: its session token, or off the cluster
a file in the user's own data folder. What is said afterwards is not sealed: it is as safe as the network between hosts.
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


class Stranger(Exception):
    """The process at the other end does not know the secret, or is not the expected one."""


def welcome(link: socket.socket, secret: bytes, purpose: bytes, ranks: range) -> int:
    """The listening end: returns the rank of the process that connected, one of `ranks`. Raises Stranger, OSError."""
    link.settimeout(HANDSHAKE_S)
    nonce = secrets.token_bytes(32)
    link.sendall(nonce)
    rank, theirs = _HELLO.unpack(read(link, _HELLO.size))
    if not hmac.compare_digest(read(link, 32), _proof(secret, purpose + b"caller", nonce + theirs, rank)):
        raise Stranger("it does not know the secret")
    if rank not in ranks:
        raise Stranger(f"it says it is rank {rank}, which was not expected")
    link.sendall(_proof(secret, purpose + b"listener", theirs + nonce, rank))
    _tune(link)
    return int(rank)


def introduce(link: socket.socket, secret: bytes, purpose: bytes, rank: int) -> None:
    """The calling end. Raises Stranger, OSError."""
    link.settimeout(HANDSHAKE_S)
    nonce = read(link, 32)
    mine = secrets.token_bytes(32)
    link.sendall(_HELLO.pack(rank, mine) + _proof(secret, purpose + b"caller", nonce + mine, rank))
    if not hmac.compare_digest(read(link, 32), _proof(secret, purpose + b"listener", mine + nonce, rank)):
        raise Stranger("whoever answers there does not know this task's secret")
    _tune(link)


def read(link: socket.socket, length: int) -> bytes:
    """Exactly `length` bytes. Raises ConnectionError where the other end hangs up before."""
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
    """The secret of the gang whose allocation has this session token; the token itself is never sent to a peer."""
    return hmac.digest(token.encode(), b"workers of one allocation", hashlib.sha256)
