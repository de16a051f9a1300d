"""A mount namespace in which some directories show only certain paths.

The namespace holds for this process and for everything that it starts. Each directory is covered by an empty file
system, and the needed paths in it are mounted again at their places. An agent that runs as root uses this where tasks
of other users have to reach paths in directories that are closed to them, such as root's home. An agent of another user
hides what its tasks must not see, in a user namespace, where every user may mount.
"""

from __future__ import annotations

import ctypes
import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_NOSUID, _MS_NODEV, _MS_BIND, _MS_REC, _MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
_SKELETON = b"mode=0755,size=1m"


def closed(paths: Iterable[str]) -> list[str]:
    """The outermost directories on the way to `paths` that some users may not pass through."""
    found = {_first_closed(place) for path in paths for place in (os.path.abspath(path), os.path.realpath(path))}
    return outermost(path for path in found if path)


def enter(covered: Sequence[str], needed: Iterable[str]) -> None:
    """Covers the directories `covered`: of the paths in them, only `needed` can be reached from now on.

    This process must have one thread. Raises OSError where the host does not allow it.
    """
    _unshare()
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    kept = _open_below(covered, needed)  # in the new namespace: only what is in it can be mounted there
    try:
        for directory in covered:
            _mount("tmpfs", directory, "tmpfs", _MS_NOSUID | _MS_NODEV, _SKELETON)
        for path, descriptor in sorted(kept.items()):  # a directory comes before what is in it
            _place(path, descriptor)
    finally:
        for descriptor in kept.values():
            os.close(descriptor)


def _open_below(covered: Sequence[str], needed: Iterable[str]) -> dict[str, int]:
    """Descriptors of the needed paths that are about to be covered, by path as given and by path without symbolic
    links."""
    kept: dict[str, int] = {}
    for path in needed:
        for place in {os.path.abspath(path), os.path.realpath(path)}:
            if place not in kept and _is_below(place, covered) and os.path.exists(place):
                kept[place] = os.open(place, os.O_PATH | os.O_CLOEXEC)
    inner = {place for place in kept if any(_is_below(place, [other]) and place != other for other in kept)}
    for place in inner:  # it comes with the directory that it is in
        os.close(kept.pop(place))
    return kept


def _place(path: str, descriptor: int) -> None:
    is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    _make_directories(path if is_directory else os.path.dirname(path))
    if not is_directory:
        Path(path).touch()
    _mount(f"/proc/self/fd/{descriptor}", path, None, _MS_BIND | _MS_REC)


def _make_directories(path: str) -> None:
    umask = os.umask(0o022)
    try:
        os.makedirs(path, exist_ok=True)
    finally:
        os.umask(umask)


def _unshare() -> None:
    uid, gid = os.geteuid(), os.getegid()
    if uid == 0:
        return _check(_libc.unshare(_CLONE_NEWNS), "unshare")
    _check(_libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: bytes | None = None) -> None:
    words = (None if word is None else os.fsencode(word) for word in (source, target, kind))
    _check(_libc.mount(*words, ctypes.c_ulong(flags), data), target)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _first_closed(path: str) -> str:
    """The directory nearest to the root that is on the way to `path` and closed to others; empty for none."""
    for folder in reversed(Path(path).parents):
        if folder.exists() and not folder.stat().st_mode & stat.S_IXOTH:
            return str(folder)
    return ""


def outermost(paths: Iterable[str]) -> list[str]:
    """The paths without those that are below another one."""
    known = sorted(set(paths))
    return [path for path in known if not any(_is_below(path, [other]) and path != other for other in known)]


def _is_below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


_libc = ctypes.CDLL(None, use_errno=True)
