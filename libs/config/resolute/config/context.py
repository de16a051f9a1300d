"""The context directory as a gateway receives and stores it: files that were sent, packed into one blob.

A client reads a directory into `ContextFile`s (`determined.common.context`) and sends them as `v1File`s; the gateway
turns those into a tar.gz that is the same, byte for byte, for the same files, so that it can be stored once under its
SHA-256.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import hashlib
import io
import os
import posixpath
import stat
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from determined.common.context import DIRECTORY, FILE, LINK, ContextProblem, check_number, check_size
from determined.common.context import ContextFile as ContextFile
from resolute.proto.errors import InvalidConfig

PATH_CHARACTERS_MAX = 1_000

_MOST = 2**35
"""Seconds from the year 881 to 3058: every calendar and file system on the way can say them."""


def of_model_definition(raw: Sequence[Mapping[str, Any]]) -> list[ContextFile]:
    """Raises InvalidConfig for paths that leave the context, paths given twice, and more than the limit."""
    _within_limits(lambda: check_number(len(raw)))
    files = [_of_v1file(item) for item in raw]
    most_common = Counter(file.path for file in files).most_common(1)
    if most_common and most_common[0][1] > 1:
        raise InvalidConfig(f"modelDefinition: {most_common[0][0]} appears twice")
    _check_nothing_below_a_link(files)
    _within_limits(lambda: check_size({file.path: len(file.content) for file in files}))
    return files


def to_tgz(files: Iterable[ContextFile]) -> bytes:
    """A tar.gz, the same bytes for the same files in any order.

    Owners are left out and so are the instants in gzip's own header; modes and modification times are kept.
    """
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0, compresslevel=6) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for file in sorted(files, key=lambda file: file.path):
            archive.addfile(_tar_entry(file), io.BytesIO(file.content) if file.type == FILE else None)
    return buffer.getvalue()


def of_tgz(blob: bytes) -> list[ContextFile]:
    """What `to_tgz` packed."""
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r:gz") as archive:
        return [_of_tar_entry(archive, entry) for entry in archive]


def digest(blob: bytes) -> str:
    """The address of a stored context: SHA-256 in hex."""
    return hashlib.sha256(blob).hexdigest()


# ---------------------------------------------------------------- checking


def _of_v1file(raw: Mapping[str, Any]) -> ContextFile:
    """Raises InvalidConfig when a part is missing, misshapen, or would leave the context."""
    path = raw.get("path")
    if not isinstance(path, str) or not _stays_inside(path):
        raise InvalidConfig(f"modelDefinition: expected a path inside the context; found {_short(path)}")
    if len(path) > PATH_CHARACTERS_MAX:
        most = f"{PATH_CHARACTERS_MAX:,}"
        raise InvalidConfig(f"modelDefinition: expected paths of at most {most} characters; found {len(path):,}")
    try:
        content = base64.b64decode(raw.get("content") or "", validate=True)
        numbers = {name: int(raw.get(name) or 0) for name in ("mode", "mtime", "uid", "gid")}
        kind = int(raw.get("type") or FILE)
    except (binascii.Error, ValueError, TypeError) as error:
        raise InvalidConfig(f"modelDefinition: {path}: {error}") from error
    for name, number in numbers.items():
        if abs(number) >= _MOST:
            raise InvalidConfig(f"modelDefinition: {path}: expected {name} below {_MOST}; found {number}")
    if kind not in (FILE, LINK, DIRECTORY):
        raise InvalidConfig(f"modelDefinition: {path}: expected a file, link or directory; found type {kind}")
    if kind == LINK and not _link_stays_inside(path, content):
        raise InvalidConfig(f"modelDefinition: {path}: this link leads out of the context")
    return ContextFile(posixpath.normpath(path), kind, content, **numbers)


def _within_limits(check: Callable[[], None]) -> None:
    try:
        check()
    except ContextProblem as problem:
        raise InvalidConfig(str(problem)) from None


def _short(path: Any) -> str:
    shown = repr(path)
    return shown if len(shown) <= 200 else f"{shown[:199]}…"


def _stays_inside(path: str) -> bool:
    plain = posixpath.normpath(path)
    return bool(path) and "\0" not in path and plain != "." and not _leaves(plain)


def _leaves(plain: str) -> bool:
    return posixpath.isabs(plain) or plain == ".." or plain.startswith("../")


def _link_stays_inside(path: str, target: bytes) -> bool:
    name = os.fsdecode(target)
    if not name or "\0" in name or posixpath.isabs(name):
        return False
    return not _leaves(posixpath.normpath(posixpath.join(posixpath.dirname(path), name)))


def _check_nothing_below_a_link(files: Sequence[ContextFile]) -> None:
    """A file written through a link would land where the link leads."""
    links = {file.path for file in files if file.type == LINK}
    for file in files if links else ():
        parts = file.path.split("/")
        if any("/".join(parts[:i]) in links for i in range(1, len(parts))):
            raise InvalidConfig(f"modelDefinition: {file.path}: lies below a link")


# ---------------------------------------------------------------- tar


def _tar_entry(file: ContextFile) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(file.path)
    entry.type = bytes([file.type])
    entry.mode, entry.mtime = stat.S_IMODE(file.mode), file.mtime
    entry.size = len(file.content) if file.type == FILE else 0
    entry.linkname = os.fsdecode(file.content) if file.type == LINK else ""
    return entry


def _of_tar_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> ContextFile:
    reader = archive.extractfile(entry) if entry.isfile() else None
    content = reader.read() if reader else os.fsencode(entry.linkname)
    kind = LINK if entry.issym() else DIRECTORY if entry.isdir() else FILE
    return ContextFile(entry.name, kind, content, entry.mode, int(entry.mtime))
