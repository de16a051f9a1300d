"""The cluster's wrapping keys: a file outside the database, one key a line, the current one first.

    <name> <32 bytes in base64>

Whoever has the database and not this file has no secret of any configuration. The file is looked at again for each use,
so that running gateways take up a key that `resolute secrets rotate` has put in. A gateway that is given no file
derives one key from the cluster's secret; that key opens what it wrapped also after a file was named.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from resolute.proto.errors import InvalidConfig, Unavailable
from resolute.service.sealing import KEY_BYTES, decoded, encoded

DERIVED = "cluster-secret"


@dataclass(frozen=True, slots=True)
class WrappingKey:
    id: str
    secret: bytes = field(repr=False)

    @classmethod
    def fresh(cls) -> WrappingKey:
        return cls(encoded(os.urandom(8)), os.urandom(KEY_BYTES))


class Keyring:
    def __init__(self, file: Path | None, cluster_secret: bytes) -> None:
        self.file = file
        self._derived = WrappingKey(DERIVED, hashlib.sha256(b"wrapping key\0" + cluster_secret).digest())
        self._seen: tuple[int, int, int] | None = None
        self._read: tuple[WrappingKey, ...] = ()

    def ensure(self) -> None:
        """Make the file, with a first key, where there is none. Of several gateways that start at once one makes it."""
        if self.file is None or self.file.exists():
            return
        beside = self.file.with_name(f".{self.file.name}.{os.getpid()}")
        _write(beside, [WrappingKey.fresh()])
        try:
            os.link(beside, self.file)  # unlike a rename, this fails where another gateway was faster
        except FileExistsError:
            return
        finally:
            beside.unlink()

    def current(self) -> WrappingKey:
        """What new data keys are wrapped by."""
        return self.keys()[0]

    def named(self, key_id: str) -> WrappingKey | None:
        return next((key for key in (*self.keys(), self._derived) if key.id == key_id), None)

    def keys(self) -> tuple[WrappingKey, ...]:
        """Those in the file, the current one first; or the one there is without a file."""
        if self.file is None:
            return (self._derived,)
        try:
            stat = self.file.stat()
            seen = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
            if seen != self._seen:
                self._read, self._seen = _parsed(self.file.read_text()), seen
        except OSError as error:
            raise Unavailable(f"the file of the wrapping keys, {self.file}, cannot be read: {error}") from error
        return self._read

    def put(self, keys: list[WrappingKey]) -> None:
        """Write the file anew, whole or not at all."""
        assert self.file is not None, "there is no file to write"
        former = self.file.stat()
        beside = self.file.with_name(f".{self.file.name}.{os.getpid()}")
        _write(beside, keys)
        if os.geteuid() == 0:  # the gateways may be another user, and shall still read it
            os.chown(beside, former.st_uid, former.st_gid)
        beside.replace(self.file)


def _write(file: Path, keys: list[WrappingKey]) -> None:
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as written:
        written.writelines(f"{key.id} {encoded(key.secret)}\n" for key in keys)
        written.flush()
        os.fsync(written.fileno())


def _parsed(text: str) -> tuple[WrappingKey, ...]:
    keys = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        name, _, secret = line.partition(" ")
        try:
            key = WrappingKey(name, decoded(secret.strip()))
        except ValueError:
            key = WrappingKey(name, b"")
        if len(key.secret) != KEY_BYTES:
            raise InvalidConfig(f"sealing_keys: line {number}: expected a name and {KEY_BYTES} bytes in base64")
        keys.append(key)
    if not keys:
        raise InvalidConfig("sealing_keys: the file holds no key")
    return tuple(keys)
