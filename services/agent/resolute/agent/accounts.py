"""The system users of tasks, when the agent is root: each owner gets a user id that no account of the host has.

The tasks of an owner whom an administrator has linked with a user of the host (`det user link-with-agent-user`) run as
that user.
"""

from __future__ import annotations

import glob
import hashlib
import os
import pwd
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from resolute.proto.experiment import AgentUser

FIRST_UID, UIDS = 1_900_000_000, 200_000_000
"""Above the ids that distributions, containers and subordinate ids use; below 2^31, as some programs use signed ids."""
ACCELERATORS = ("/dev/nvidia*", "/dev/kfd", "/dev/dri/*", "/dev/accel/*")
OF_ONE_USER = ("TMPDIR", "XDG_CACHE_HOME", "VIRTUAL_ENV_PROMPT")
"""Variables of the host that name directories of the agent's own user; tasks of other users do not inherit them."""


@dataclass(frozen=True, slots=True)
class Account:
    """A system user that a task runs as."""

    uid: int
    gid: int
    name: str
    home: str
    groups: tuple[int, ...] = ()

    def inherited(self, variables: Mapping[str, str]) -> dict[str, str]:
        """The variables that a task of this account inherits, of those that the agent passes on."""
        kept = {name: value for name, value in variables.items() if name not in OF_ONE_USER}
        return {**kept, "HOME": self.home, "USER": self.name, "LOGNAME": self.name}


def of(owner: str, linked: AgentUser | None, cluster_id: str, homes: Path) -> Account:
    """`homes`: where owners without a user of the host have their home directories.

    The id follows from the cluster and the owner alone: every agent of the cluster, on whichever host, finds the same
    one, so that files on shared storage have one owner.
    """
    if linked is not None:
        return _linked(linked, homes)
    digest = hashlib.sha256(f"{cluster_id}\0{owner}".encode()).digest()
    uid = FIRST_UID + int.from_bytes(digest[:8], "big") % UIDS
    return Account(uid, uid, owner, str(homes / str(uid)), groups_of_accelerators())


class AsUser(TypedDict, total=False):
    """Arguments of `subprocess.Popen`."""

    user: int
    group: int
    extra_groups: Sequence[int]


def as_user(account: Account | None) -> AsUser:
    """The arguments that start a process as this account; none for the agent's own user."""
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": account.groups}


def give(paths: Iterable[Path], account: Account | None) -> None:
    """Makes the account the owner of `paths`, which the agent owns."""
    if account is not None:
        for path in paths:
            os.chown(path, account.uid, account.gid, follow_symlinks=False)


def make_home(account: Account | None) -> None:
    """Makes the home directory of the account, if it belongs into the agent's folder of homes and is missing."""
    if account is not None and not os.path.isdir(account.home) and os.path.isdir(os.path.dirname(account.home)):
        os.mkdir(account.home, 0o700)
        os.chown(account.home, account.uid, account.gid)


def _linked(linked: AgentUser, homes: Path) -> Account:
    try:
        entry = pwd.getpwuid(linked.uid)
    except KeyError:
        home, name, groups = str(homes / str(linked.uid)), linked.user or str(linked.uid), []
    else:
        home, name, groups = entry.pw_dir, entry.pw_name, os.getgrouplist(entry.pw_name, linked.gid)
    return Account(linked.uid, linked.gid, name, home, tuple(sorted({*groups, *groups_of_accelerators()})))


def groups_of_accelerators() -> tuple[int, ...]:
    """The groups that may use this host's GPUs, when not every user may: usually `render` and `video`."""
    found = set()
    for path in (path for pattern in ACCELERATORS for path in glob.glob(pattern)):
        device = os.stat(path)
        by_group = device.st_mode & stat.S_IWGRP and not device.st_mode & stat.S_IWOTH
        if stat.S_ISCHR(device.st_mode) and by_group and device.st_gid != 0:
            found.add(device.st_gid)
    return tuple(sorted(found))
