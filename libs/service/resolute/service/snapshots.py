"""Snapshots: a folded state kept beside the log, so that a long stream need not be folded from its beginning.

A snapshot is a cache. One that is missing, made by other code, or without this cluster's seal is ignored, and the fold
begins at the first event. States are pickled, and unpickling runs code. So each snapshot is sealed with the cluster's
secret (HMAC-SHA256, RFC 2104), and a snapshot that was written into the database without that secret is never
unpickled.
"""

from __future__ import annotations

import hashlib
import hmac
import pickle
import sys
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Generic, TypeVar

import structlog

from resolute.eventlog import EventLog, Snapshot
from resolute.proto.errors import Unavailable

S = TypeVar("S")
log_ = structlog.get_logger()

EVERY = 5_000
"""Events between two snapshots of a stream: some 0.1 s of folding."""

SHARED = ("resolute.proto", "resolute.codec", "resolute.config")
"""The packages that every fold may use besides its own: messages, upcasts, and the parsed configurations that states
hold."""

_SEAL_BYTES = hashlib.sha256().digest_size


class Snapshots(Generic[S]):
    """The snapshots of one kind of aggregate, whose code is `package`."""

    def __init__(self, log: EventLog, secret: bytes, package: str, *, every: int = EVERY) -> None:
        """With an empty `secret` nothing can be sealed, and no snapshots are kept."""
        self._log, self._secret, self._every = log, secret, every
        self._schema = schema_of(package)

    async def load(self, stream: str) -> tuple[S, int] | None:
        """The state and the version it was folded up to."""
        found = await self._log.load_snapshot(stream, self._schema) if self._secret else None
        if found is None:
            return None
        seal, state = found.state[:_SEAL_BYTES], found.state[_SEAL_BYTES:]
        if not hmac.compare_digest(seal, self._seal(stream, found.version, state)):
            log_.warning("a snapshot without this cluster's seal is ignored", stream=stream)
            return None
        opened: S = pickle.loads(state)  # sealed by this cluster, above
        return opened, found.version

    async def keep(self, stream: str, state: S, before: int, version: int) -> None:
        """Keep `state`, of version `version`, when a multiple of `every` lies between `before` and `version`."""
        if self._secret and version // self._every > before // self._every:
            pickled = pickle.dumps(state, pickle.HIGHEST_PROTOCOL)
            sealed = self._seal(stream, version, pickled) + pickled
            try:
                await self._log.save_snapshot(Snapshot(stream, version, self._schema, sealed))
            except Unavailable as error:
                # A snapshot is only a cache: a decision that is already in the log must not fail because of it.
                log_.info("no snapshot kept", stream=stream, why=error.message)

    def _seal(self, stream: str, version: int, state: bytes) -> bytes:
        message = f"{stream}\n{version}\n{self._schema}\n".encode() + state
        return hmac.digest(self._secret, message, "sha256")


@cache
def schema_of(package: str) -> str:
    """A name for the code that folds. Other code, or another Python, may make another state of the same events."""
    digest = hashlib.sha256(sys.version.encode())
    for portion in (package, *SHARED):
        for name, text in sorted(_sources(resources.files(portion))):
            digest.update(f"{name}\n".encode() + text)
    return f"{package}:{digest.hexdigest()[:32]}"


def _sources(folder: Traversable, prefix: str = "") -> list[tuple[str, bytes]]:
    found = []
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            found += _sources(entry, f"{prefix}{entry.name}/")
        elif entry.name.endswith(".py"):
            found.append((prefix + entry.name, entry.read_bytes()))
    return found
