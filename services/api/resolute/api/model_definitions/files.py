"""The files of an archive as a tree: directories hold theirs, also those that the archive does not list."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from resolute.api.model_definitions.messages import FileNode
from resolute.config.context import ContextFile

DIRECTORY = 53
"""The type of an entry of a tar archive."""


@dataclass(slots=True)
class _Directory:
    path: str
    listed: ContextFile | None = None
    """Its own entry in the archive."""
    holds: list[_Directory | ContextFile] = field(default_factory=list)


def tree(files: Iterable[ContextFile]) -> tuple[FileNode, ...]:
    """What lies at the top, in the order of the paths; the rest is within."""
    top = _Directory("")
    directories = {"": top}

    def directory(path: str) -> _Directory:
        if path not in directories:
            directories[path] = _Directory(path)
            directory(_parent(path)).holds.append(directories[path])
        return directories[path]

    for file in sorted(files, key=lambda file: file.path):
        if file.type == DIRECTORY:
            directory(file.path).listed = file
        else:
            directory(_parent(file.path)).holds.append(file)
    return _nodes(top)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _nodes(directory: _Directory) -> tuple[FileNode, ...]:
    return tuple(_of_directory(one) if isinstance(one, _Directory) else _of_file(one) for one in directory.holds)


def _of_directory(directory: _Directory) -> FileNode:
    return FileNode(
        path=directory.path,
        name=directory.path.rpartition("/")[2],
        is_dir=True,
        modified_time=None if directory.listed is None else _modified(directory.listed),
        files=_nodes(directory),
    )


def _of_file(file: ContextFile) -> FileNode:
    return FileNode(
        path=file.path,
        name=file.path.rpartition("/")[2],
        modified_time=_modified(file),
        content_length=len(file.content),
        content_type=mimetypes.guess_type(file.path)[0] or "text/plain; charset=utf-8",
    )


def _modified(file: ContextFile) -> datetime:
    return datetime.fromtimestamp(file.mtime, UTC)
