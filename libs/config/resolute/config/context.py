"""The context directory: the code a person submits, read with its ignore rules, sent as files, stored as one blob.

The client reads a directory into `ContextFile`s and sends them as `v1File`s; the gateway turns those into a
tar.gz that is the same, byte for byte, for the same files, so that it can be stored once under its SHA-256.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pathspec

from resolute.proto.errors import InvalidConfig

CONTEXT_LIMIT_BYTES = 99_614_720
"""95 MiB of file contents."""

CONTEXT_FILES_MAX = 50_000
"""Files, links and directories."""
PATH_CHARACTERS_MAX = 1_000

_MOST = 2**35
"""Seconds from the year 881 to 3058: every calendar and file system on the way can say them."""

_FILE, _LINK, _DIRECTORY = ord(tarfile.REGTYPE), ord(tarfile.SYMTYPE), ord(tarfile.DIRTYPE)

_IGNORED_UNLESS_ASKED_FOR = (
    "terraform",
    "terraform_data",
    "terraform.tfstate*",
    "terraform.tfvars*",
    ".terraform*",
    ".vscode/",
    ".idea/",
    ".mypy_cache/",
    "/shared_fs",
)
_ALWAYS_IGNORED = ("__pycache__/", "*.py[co]", "*$py.class", ".git/")


@dataclass(frozen=True, slots=True)
class ContextFile:
    """One entry: a file, a directory (no content) or a link (its content is the target)."""

    path: str
    """Relative to the context, with forward slashes."""
    type: int
    content: bytes
    mode: int
    mtime: int = 0
    uid: int = 0
    gid: int = 0

    def to_v1file(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "type": self.type,
            "content": base64.b64encode(self.content).decode(),
            "mode": self.mode,
            "mtime": str(self.mtime),
            "uid": self.uid,
            "gid": self.gid,
        }

    @classmethod
    def of_v1file(cls, raw: Mapping[str, Any]) -> ContextFile:
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
            kind = int(raw.get("type") or _FILE)
        except (binascii.Error, ValueError, TypeError) as error:
            raise InvalidConfig(f"modelDefinition: {path}: {error}") from error
        for name, number in numbers.items():
            if abs(number) >= _MOST:
                raise InvalidConfig(f"modelDefinition: {path}: expected {name} below {_MOST}; found {number}")
        if kind not in (_FILE, _LINK, _DIRECTORY):
            raise InvalidConfig(f"modelDefinition: {path}: expected a file, link or directory; found type {kind}")
        if kind == _LINK and not _link_stays_inside(path, content):
            raise InvalidConfig(f"modelDefinition: {path}: this link leads out of the context")
        return cls(posixpath.normpath(path), kind, content, **numbers)


def hides_the_harness(paths: Iterable[str]) -> str | None:
    """The entry at the root of a context that Python would import instead of the harness; None where there is none.

    A task starts in its context directory, where Python looks first.
    """
    roots = {path.split("/", 1)[0] for path in paths}
    return next((name for name in ("determined", "determined.py") if name in roots), None)


def read_context(root: Path) -> list[ContextFile]:
    """Everything under `root` that its ignore rules let through, in the order of paths.

    Modes are kept. Links to what is sent along stay links; links to other files bring the file's content, those
    to other directories become empty ones, and broken ones are left out. Raises InvalidConfig, before reading any
    content, when the whole is over the limit, and when `root` is no directory.
    """
    if not root.is_dir():
        raise InvalidConfig(f"context directory: expected a directory; found {str(root)!r}")
    paths = sorted(_walk(root, _ignore_rules(root)))
    _check_number(len(paths))
    _check_size({path: (root / path).stat().st_size for path in paths if (root / path).is_file()})
    sent = frozenset(paths)
    entries = (_read(root, path, sent) for path in paths)
    return [entry for entry in entries if entry is not None]


def size_bytes(files: Iterable[ContextFile]) -> int:
    return sum(len(file.content) for file in files)


def to_model_definition(files: Iterable[ContextFile]) -> list[dict[str, Any]]:
    """The `modelDefinition` of a create request."""
    return [file.to_v1file() for file in files]


def of_model_definition(raw: Sequence[Mapping[str, Any]]) -> list[ContextFile]:
    """Raises InvalidConfig for paths that leave the context, paths given twice, and more than the limit."""
    _check_number(len(raw))
    files = [ContextFile.of_v1file(item) for item in raw]
    most_common = Counter(file.path for file in files).most_common(1)
    if most_common and most_common[0][1] > 1:
        raise InvalidConfig(f"modelDefinition: {most_common[0][0]} appears twice")
    _check_nothing_below_a_link(files)
    _check_size({file.path: len(file.content) for file in files})
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
            archive.addfile(_tar_entry(file), io.BytesIO(file.content) if file.type == _FILE else None)
    return buffer.getvalue()


def of_tgz(blob: bytes) -> list[ContextFile]:
    """What `to_tgz` packed."""
    with tarfile.open(fileobj=io.BytesIO(blob), mode="r:gz") as archive:
        return [_of_tar_entry(archive, entry) for entry in archive]


def digest(blob: bytes) -> str:
    """The address of a stored context: SHA-256 in hex."""
    return hashlib.sha256(blob).hexdigest()


# ---------------------------------------------------------------- walking


def _ignore_rules(root: Path) -> pathspec.GitIgnoreSpec:
    """Ours that a person may overrule, then theirs, then those that always hold."""
    own = root / ".detignore"
    lines = own.read_text().splitlines() if own.is_file() else []
    return pathspec.GitIgnoreSpec.from_lines([*_IGNORED_UNLESS_ASKED_FOR, *lines, *_ALWAYS_IGNORED])


def _walk(root: Path, ignored: pathspec.GitIgnoreSpec) -> Iterator[str]:
    """Paths of files, links and directories. As in git, nothing under an ignored directory can be asked back."""
    for folder, directories, files in os.walk(root):
        base = Path(folder).relative_to(root).as_posix()
        base = "" if base == "." else f"{base}/"
        kept = [name for name in directories if not ignored.match_file(f"{base}{name}/")]
        directories[:] = [name for name in kept if not os.path.islink(os.path.join(folder, name))]
        yield from (base + name for name in kept)
        yield from (base + name for name in files if not ignored.match_file(base + name))


def _read(root: Path, path: str, sent: frozenset[str]) -> ContextFile | None:
    place = root / path
    if place.is_symlink():
        target = os.readlink(place)
        if posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) in sent:
            return _entry(place, path, _LINK, os.fsencode(target))
    if place.is_dir():
        return _entry(place, path, _DIRECTORY, b"")
    return _entry(place, path, _FILE, place.read_bytes()) if place.is_file() else None


def _entry(place: Path, path: str, kind: int, content: bytes) -> ContextFile:
    status = place.lstat() if kind == _LINK else place.stat()
    return ContextFile(path, kind, content, stat.S_IMODE(status.st_mode), int(status.st_mtime))


# ---------------------------------------------------------------- checking


def _check_size(sizes: Mapping[str, int]) -> None:
    total = sum(sizes.values())
    if total > CONTEXT_LIMIT_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise InvalidConfig(
            f"context directory: expected at most {CONTEXT_LIMIT_BYTES / 2**20:.0f} MB of files; found "
            f"{total / 2**20:.1f} MB, the largest {largest} ({sizes[largest] / 2**20:.1f} MB). "
            "List what training does not need in .detignore, and read data from elsewhere."
        )


def _short(path: Any) -> str:
    shown = repr(path)
    return shown if len(shown) <= 200 else f"{shown[:199]}…"


def _check_number(files: int) -> None:
    if files > CONTEXT_FILES_MAX:
        raise InvalidConfig(
            f"context directory: expected at most {CONTEXT_FILES_MAX:,} files; found {files:,}. "
            "List what training does not need in .detignore, and read data from elsewhere."
        )


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
    links = {file.path for file in files if file.type == _LINK}
    for file in files if links else ():
        parts = file.path.split("/")
        if any("/".join(parts[:i]) in links for i in range(1, len(parts))):
            raise InvalidConfig(f"modelDefinition: {file.path}: lies below a link")


# ---------------------------------------------------------------- tar


def _tar_entry(file: ContextFile) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(file.path)
    entry.type = bytes([file.type])
    entry.mode, entry.mtime = stat.S_IMODE(file.mode), file.mtime
    entry.size = len(file.content) if file.type == _FILE else 0
    entry.linkname = os.fsdecode(file.content) if file.type == _LINK else ""
    return entry


def _of_tar_entry(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> ContextFile:
    reader = archive.extractfile(entry) if entry.isfile() else None
    content = reader.read() if reader else os.fsencode(entry.linkname)
    kind = _LINK if entry.issym() else _DIRECTORY if entry.isdir() else _FILE
    return ContextFile(entry.name, kind, content, entry.mode, int(entry.mtime))
