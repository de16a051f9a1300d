"""Unpacking a context directory so that nothing lands outside it."""

from __future__ import annotations

import io
import os
import pathlib
import shutil
import tarfile


class UnsafeArchive(ValueError):
    """A member would have been written, or would point, outside the folder."""


def unpack(archive: bytes, folder: pathlib.Path) -> int:
    """Unpack a gzipped tar into `folder`; returns the number of members. Permission bits are kept.

    Members with absolute names or names that climb out, links that point outside and devices are refused,
    before anything is written. Symbolic links are made last, so that nothing is written through one.
    """
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        members = tar.getmembers()
        for member in members:
            _check(member)
        folder.mkdir(parents=True, exist_ok=True)
        for member in sorted(members, key=_stage):
            _write(tar, member, folder)
    return len(members)


def _check(member: tarfile.TarInfo) -> None:
    if not _stays_inside(member.name):
        raise UnsafeArchive(f"{member.name!r} is outside the context directory")
    if member.issym() and not _stays_inside(os.path.join(os.path.dirname(member.name), member.linkname)):
        raise UnsafeArchive(f"{member.name!r} links to {member.linkname!r}, outside the context directory")
    if member.islnk() and not _stays_inside(member.linkname):
        raise UnsafeArchive(f"{member.name!r} links to {member.linkname!r}, outside the context directory")
    if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
        raise UnsafeArchive(f"{member.name!r} is neither a file, a folder nor a link")


def _stays_inside(name: str) -> bool:
    normal = os.path.normpath(name)
    return not os.path.isabs(name) and normal != ".." and not normal.startswith("../")


def _stage(member: tarfile.TarInfo) -> int:
    return 2 if member.issym() else 1 if member.islnk() else 0


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: pathlib.Path) -> None:
    path = folder / os.path.normpath(member.name)
    _refuse_way_through_link(path, folder)
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(member.mode & 0o777 | 0o700)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    if member.issym():
        path.symlink_to(member.linkname)
    elif member.islnk():
        os.link(folder / os.path.normpath(member.linkname), path, follow_symlinks=False)
    else:
        contents = tar.extractfile(member)
        assert contents is not None
        with path.open("wb") as file:
            shutil.copyfileobj(contents, file)
        path.chmod(member.mode & 0o777)
        os.utime(path, (member.mtime, member.mtime))


def _refuse_way_through_link(path: pathlib.Path, folder: pathlib.Path) -> None:
    for parent in path.relative_to(folder).parents:
        if (folder / parent).is_symlink() and parent != pathlib.Path("."):
            raise UnsafeArchive(f"{path.relative_to(folder)} would be written through the link {parent}")
