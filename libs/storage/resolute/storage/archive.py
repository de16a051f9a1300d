"""A checkpoint as one stream, tar or zip, for downloads: nothing is held but a chunk."""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from determined.common.storage import StorageManager
from resolute.storage.opening import files_of

CHUNK_BYTES = 1 << 20


def tar_chunks(storage: StorageManager, uuid: str, *, compressed: bool = False) -> Iterator[bytes]:
    """The checkpoint's files as a tar, gzipped where `compressed`."""
    return _gzipped(_tar(storage, uuid)) if compressed else _tar(storage, uuid)


def zip_chunks(storage: StorageManager, uuid: str) -> Iterator[bytes]:
    """The checkpoint's files as a zip, stored as they are: weights hardly shrink."""
    sink = _Sink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
        for path in files_of(storage, uuid):
            with archive.open(zipfile.ZipInfo(path), "w", force_zip64=True) as entry:
                for chunk in () if path.endswith("/") else _read(storage.open(uuid, path)):
                    entry.write(chunk)
                    yield sink.take()
            yield sink.take()
    yield sink.take()


def _tar(storage: StorageManager, uuid: str) -> Iterator[bytes]:
    for path, size in files_of(storage, uuid).items():
        entry = tarfile.TarInfo(path.rstrip("/"))
        entry.type = tarfile.DIRTYPE if path.endswith("/") else tarfile.REGTYPE
        entry.mode = 0o755 if path.endswith("/") else 0o644
        entry.size = size
        yield entry.tobuf(tarfile.PAX_FORMAT)
        if not path.endswith("/"):
            yield from _exactly(size, _read(storage.open(uuid, path)), path)
            yield b"\0" * (-size % tarfile.BLOCKSIZE)
    yield b"\0" * (2 * tarfile.BLOCKSIZE)


def _exactly(size: int, chunks: Iterable[bytes], path: str) -> Iterator[bytes]:
    """A tar says sizes first: a file that changes meanwhile must break the stream, not shift what follows."""
    for chunk in chunks:
        size -= len(chunk)
        if size < 0:
            break
        yield chunk
    if size != 0:
        raise OSError(f"{path} changed while it was read")


def _read(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _gzipped(chunks: Iterable[bytes]) -> Iterator[bytes]:
    squeeze = zlib.compressobj(level=1, wbits=31)  # 31: with gzip's header and trailer
    for chunk in chunks:
        if squeezed := squeeze.compress(chunk):
            yield squeezed
    yield squeeze.flush()


class _Sink(io.RawIOBase):
    """What a zip writes to: gives up its bytes as they come, and cannot go back."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        block = bytes(data)  # type: ignore[call-overload]
        self._held += block
        return len(block)

    def take(self) -> bytes:
        taken, self._held = bytes(self._held), bytearray()
        return taken
