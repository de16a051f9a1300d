"""The context directory: the code that a person submits, read with its ignore rules and sent as files.

`det` and the SDK read the directory here. What a gateway does with the files is in `resolute.config.context`.
"""

from __future__ import annotations

import base64
import os
import posixpath
import stat
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from determined.common.client.problems import ClientError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

CONTEXT_LIMIT_BYTES = 99_614_720
"""95 MiB of file contents."""

CONTEXT_FILES_MAX = 50_000
"""Files, links and directories."""

FILE, LINK, DIRECTORY = ord(tarfile.REGTYPE), ord(tarfile.SYMTYPE), ord(tarfile.DIRTYPE)

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


class ContextProblem(ClientError, ValueError):
    """The files cannot be sent; the message says which and why."""


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


def gather(model_def: Path | None, include: Sequence[Path]) -> list[ContextFile]:
    """Everything to send; an included file or directory goes to the root of the context under its own name."""
    found = read_context(model_def) if model_def is not None else []
    for path in include:
        found += _included(path)
    for name, times in Counter(each.path for each in found).items():
        if times > 1:
            raise ContextProblem(f"{name} is sent {times} times; leave it out of the directory or of --include")
    if hiding := hides_the_harness(each.path for each in found):
        raise ContextProblem(
            f"{hiding} would hide the package `determined` from the trial, whose start needs it: rename it, or leave "
            "it out with a line in .detignore"
        )
    return found


def _included(path: Path) -> list[ContextFile]:
    if path.is_dir():
        root = path.resolve().name
        return [replace(each, path=f"{root}/{each.path}") for each in read_context(path)]
    if not path.is_file():
        raise ContextProblem(f"--include {path}: no such file or directory")
    status = path.stat()
    mode = stat.S_IMODE(status.st_mode)
    return [ContextFile(path.name, ord(tarfile.REGTYPE), path.read_bytes(), mode, int(status.st_mtime))]


def hides_the_harness(paths: Iterable[str]) -> str | None:
    """The entry at the root of a context that Python would import instead of the harness; None where there is none.

    A task starts in its context directory, where Python looks first.
    """
    roots = {path.split("/", 1)[0] for path in paths}
    return next((name for name in ("determined", "determined.py") if name in roots), None)


def read_context(root: Path) -> list[ContextFile]:
    """Everything under `root` that its ignore rules let through, in the order of paths.

    Modes are kept. Links to what is sent along stay links; links to other files bring the file's content, those
    to other directories become empty ones, and broken ones are left out. Raises ContextProblem, before reading any
    content, when the whole is over the limit, and when `root` is no directory.
    """
    if not root.is_dir():
        raise ContextProblem(f"context directory: expected a directory; found {str(root)!r}")
    paths = sorted(_walk(root, _ignore_rules(root)))
    check_number(len(paths))
    check_size({path: (root / path).stat().st_size for path in paths if (root / path).is_file()})
    sent = frozenset(paths)
    entries = (_read(root, path, sent) for path in paths)
    return [entry for entry in entries if entry is not None]


def size_bytes(files: Iterable[ContextFile]) -> int:
    return sum(len(file.content) for file in files)


def to_model_definition(files: Iterable[ContextFile]) -> list[dict[str, Any]]:
    """The `modelDefinition` of a create request."""
    return [file.to_v1file() for file in files]


def _ignore_rules(root: Path) -> GitIgnoreSpec:
    """The patterns of ignored files: defaults, which a .detignore may overrule, then that file, then fixed ones."""
    from pathspec import GitIgnoreSpec

    own = root / ".detignore"
    lines = own.read_text().splitlines() if own.is_file() else []
    return GitIgnoreSpec.from_lines([*_IGNORED_UNLESS_ASKED_FOR, *lines, *_ALWAYS_IGNORED])


def _walk(root: Path, ignored: GitIgnoreSpec) -> Iterator[str]:
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
            return _entry(place, path, LINK, os.fsencode(target))
    if place.is_dir():
        return _entry(place, path, DIRECTORY, b"")
    return _entry(place, path, FILE, place.read_bytes()) if place.is_file() else None


def _entry(place: Path, path: str, kind: int, content: bytes) -> ContextFile:
    status = place.lstat() if kind == LINK else place.stat()
    return ContextFile(path, kind, content, stat.S_IMODE(status.st_mode), int(status.st_mtime))


def check_size(sizes: Mapping[str, int]) -> None:
    total = sum(sizes.values())
    if total > CONTEXT_LIMIT_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise ContextProblem(
            f"context directory: expected at most {CONTEXT_LIMIT_BYTES / 2**20:.0f} MB of files; found "
            f"{total / 2**20:.1f} MB, the largest {largest} ({sizes[largest] / 2**20:.1f} MB). "
            "List what training does not need in .detignore, and read data from elsewhere."
        )


def check_number(files: int) -> None:
    if files > CONTEXT_FILES_MAX:
        raise ContextProblem(
            f"context directory: expected at most {CONTEXT_FILES_MAX:,} files; found {files:,}. "
            "List what training does not need in .detignore, and read data from elsewhere."
        )
