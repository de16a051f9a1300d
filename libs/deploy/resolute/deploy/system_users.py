"""The system user that root runs one cluster's Postgres as: one for each cluster, made and removed with it."""

from __future__ import annotations

import pwd
import subprocess
import time

from resolute.proto.errors import Refused

ATTEMPTS, PAUSE_S = 10, 0.2
"""How often, and after which pause, a change of the system's users is tried: only one program at a time may make
one."""


def ensure(name: str) -> pwd.struct_passwd:
    """The user of that name, made where there is none. Raises Refused where it cannot be."""
    if (found := known(name)) is not None:
        return found
    words = ["--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    problem = _run("useradd", *words, "--shell", "/usr/sbin/nologin", name)
    if (made := known(name)) is None:
        raise Refused(
            f"cannot run Postgres as root, and cannot make the user {name!r} for it ({problem}); make that user, or "
            "run the cluster as an ordinary one"
        )
    return made


def remove(name: str) -> None:
    """Best effort: a user that stays behind owns nothing and cannot log in."""
    if known(name) is not None:
        _run("userdel", name)


def known(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _run(*command: str) -> str:
    """What stood in the way, empty for nothing."""
    problem = ""
    for _ in range(ATTEMPTS):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"{command[0]}: {error.strerror}"
        problem = "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"
        if not problem or "try again" not in problem:
            break
        time.sleep(PAUSE_S)
    return problem
