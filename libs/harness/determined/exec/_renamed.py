"""Runs a program that finds other names of users: `python -m determined.exec._renamed FOLDER NAME WORDS…`.

`passwd`, `shadow` and `group` of the folder are mounted over the host's in a mount namespace of the program's own, for
which a user namespace gives the right (user_namespaces(7)). The user of the program and its rights stay what they are;
NAME is the name of its user in these files.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import sys
from collections.abc import Sequence
from pathlib import Path

_NEWNS, _NEWUSER = 0x00020000, 0x10000000
_BIND, _REC, _PRIVATE = 4096, 16384, 1 << 18
EXIT = 71
"""`EX_OSERR` of sysexits.h: the system does not allow it."""


def enter(folder: str) -> None:
    """Raises OSError where the host does not allow it."""
    libc = ctypes.CDLL(None, use_errno=True)

    def check(result: int, what: str) -> None:
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), what)

    uid, gid = os.geteuid(), os.getegid()
    check(libc.unshare(_NEWUSER | _NEWNS), "a user namespace")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1")
    check(libc.mount(None, b"/", None, ctypes.c_ulong(_REC | _PRIVATE), None), "/")
    for name in ("passwd", "shadow", "group"):
        source, target = os.fsencode(f"{folder}/{name}"), f"/etc/{name}"
        check(libc.mount(source, target.encode(), None, ctypes.c_ulong(_BIND), None), target)


def main(arguments: Sequence[str]) -> int:
    folder, name, *words = arguments
    try:
        enter(folder)
        if pwd.getpwnam(name).pw_uid != os.geteuid():
            raise OSError(f"{name} is another user")
        os.execv(words[0], words)
    except (OSError, KeyError) as error:
        print(f"this user cannot be given the name {name} here: {error}", file=sys.stderr)
        return EXIT


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
