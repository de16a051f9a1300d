"""PostgreSQL from its wheel, with small settings, on a Unix socket of its own. Under root it runs as another user.

The server accepts only the user that the cluster runs as. The kernel says which user is at the other end of the socket
(peer authentication), so that there is no password to steal.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

from resolute.deploy import postgres_files, system_users
from resolute.deploy.paths import ClusterPaths, write_private
from resolute.deploy.plan import Child
from resolute.deploy.postgres_files import MAJOR, Programs, enterable
from resolute.proto.errors import Refused

__all__ = ["MAJOR", "child", "data_dir", "forget", "prepare", "set_aside", "url", "version_of"]

_SHARED_USER = "pgserver"
"""The system user that ran the Postgres of all of root's clusters in earlier releases."""
_MAP = "cluster"
_HBA = f"""\
# Written at each start of the cluster: only the user that the cluster runs as is let in (pg_ident.conf names it).
local all postgres peer map={_MAP}
"""

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
"""A cluster of one host: few connections, no replicas, most of the memory left to training."""


def data_dir(paths: ClusterPaths) -> Path:
    """The database's directory: in the cluster's own; under /var/lib if the cluster runs as root and its directory lies
    where the user that Postgres then runs as may not enter."""
    inside = paths.root / "postgres"
    if os.geteuid() != 0 or inside.exists() or enterable(paths.root):
        return inside
    return paths.of_root / "postgres"


def set_aside(paths: ClusterPaths) -> Path | None:
    """Where the database of a cluster whose directory was deleted is kept from now on; None when there is none.

    Data outside the cluster's directory outlive it; a new cluster in the same place must not take them for its own.
    """
    data = data_dir(paths)
    if data.is_relative_to(paths.root) or version_of(data) is None:
        return None
    aside = data.parent.with_name(f"{data.parent.name}-{time.strftime('%Y%m%dT%H%M%S')}")
    data.parent.rename(aside)
    return aside


def version_of(data: Path) -> str | None:
    file = data / "PG_VERSION"
    return file.read_text().strip() if file.exists() else None


def url(paths: ClusterPaths) -> str:
    return f"postgresql://postgres@/postgres?host={paths.socket_dir}"


def user_of(paths: ClusterPaths) -> str | None:
    """Whom Postgres runs as; None for the user of this process. Root's clusters have a user each, so that none of their
    servers can read the data of another: Postgres refuses to run as root."""
    return f"resolute-{paths.digest}" if os.geteuid() == 0 else None


def prepare(paths: ClusterPaths) -> None:
    """Make the directories and, the first time, the database. Raises Refused, having left nothing half made."""
    data, user = data_dir(paths), user_of(paths)
    if user is not None:
        system_users.ensure(user)
        _make_shared(paths)
        forget_the_gone(postgres_files.SHARED)
    programs = postgres_files.usable_by(user)
    for folder in (data, paths.socket_dir):
        _make_own(folder, user)
    if version_of(data) is None:
        _initialise(data, programs.path("initdb"), user)
    _admit_only(data, user)
    if user is not None:
        write_private(_programs_note(paths), f"{programs.folder}\n")
        postgres_files.remove_unused(but=programs)


def child(paths: ClusterPaths, env: dict[str, str]) -> Child:
    data, user = data_dir(paths), user_of(paths)
    options = [option for name, value in _SETTINGS.items() for option in ("-c", f"{name}={value}")]
    return Child(
        name="postgres",
        argv=(str(_programs(paths).path("postgres")), "-D", str(data), "-k", str(paths.socket_dir), *options),
        env=env,
        cwd="/",
        log=str(paths.logs / "postgres.log"),
        user=user,
        stop_signal=signal.SIGINT,  # "fast": sessions are ended, everything is written down
        stop_s=30.0,
        stale_pid_file=str(data / "postmaster.pid"),
    )


def _programs(paths: ClusterPaths) -> Programs:
    """Those that `prepare` found to work."""
    note = _programs_note(paths)
    return Programs(Path(note.read_text().strip())) if note.exists() else postgres_files.installed()


def _programs_note(paths: ClusterPaths) -> Path:
    return paths.of_root / "programs"


def forget(paths: ClusterPaths) -> None:
    """Delete the database, and all that was made outside the cluster's directory for it."""
    shutil.rmtree(data_dir(paths), ignore_errors=True)
    remove_socket(paths)
    if (user := user_of(paths)) is not None:
        shutil.rmtree(paths.of_root, ignore_errors=True)
        system_users.remove(user)
        postgres_files.remove_unused()


def remove_socket(paths: ClusterPaths) -> None:
    """Of a cluster that does not run: its socket's folder, where that is outside the cluster's directory."""
    if paths.socket_dir != paths.run:
        shutil.rmtree(paths.socket_dir, ignore_errors=True)


def forget_the_gone(shared: Path) -> None:
    """Remove what clusters of root left behind whose directory somebody deleted. A database among it is kept."""
    for note in shared.glob("*/cluster"):
        try:
            gone = ClusterPaths(Path(note.read_text().strip()))
        except OSError:
            continue
        if gone.of_root == note.parent and not gone.root.exists() and version_of(gone.of_root / "postgres") is None:
            forget(gone)


def _make_shared(paths: ClusterPaths) -> None:
    """Root's folder for this cluster, which says whose it is."""
    postgres_files.shared_folder()
    paths.of_root.mkdir(exist_ok=True)
    paths.of_root.chmod(0o711)
    write_private(paths.of_root / "cluster", f"{paths.root}\n")


def _make_own(folder: Path, user: str | None) -> None:
    """Makes a directory that belongs to Postgres' user, and that no other user may enter. In a folder where other users
    may write, it must not be a link or another user's directory."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    removed = user is not None and _is_anybodys(found.st_uid)
    if not stat.S_ISDIR(found.st_mode) or not (removed or found.st_uid in _owners(user)):
        raise Refused(f"cannot use {folder}: it belongs to someone else")
    if user is not None and found.st_uid != pwd.getpwnam(user).pw_uid:
        _give(folder, user)
    folder.chmod(0o700)


def _owners(user: str | None) -> set[int]:
    """Whose a directory may be that becomes Postgres' own."""
    if user is None:
        return {os.geteuid()}
    entries = (system_users.known(name) for name in (user, _SHARED_USER))
    return {0, *(entry.pw_uid for entry in entries if entry is not None)}


def _is_anybodys(uid: int) -> bool:
    """Whether it belongs to a user that was removed, as that of a cluster whose directory was away for a while."""
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return True
    return False


def _give(folder: Path, user: str) -> None:
    """With all that is in it: a database that an earlier release made belongs to the user of that release."""
    entry = pwd.getpwnam(user)
    for root, folders, files in os.walk(folder):
        for name in (root, *(os.path.join(root, inner) for inner in (*folders, *files))):
            os.lchown(name, entry.pw_uid, entry.pw_gid)


def _admit_only(data: Path, user: str | None) -> None:
    """Written at each start, so that a database of an earlier release, which let everybody in, is closed as well."""
    owner = pwd.getpwuid(os.geteuid()).pw_name
    lines = "".join(f'{_MAP} "{name}" postgres\n' for name in dict.fromkeys((owner, user or owner)))
    for name, text in (("pg_hba.conf", _HBA), ("pg_ident.conf", lines)):
        write_private(data / name, text)
        if user is not None:
            entry = pwd.getpwnam(user)
            os.lchown(data / name, entry.pw_uid, entry.pw_gid)


def _initialise(data: Path, initdb: Path, user: str | None) -> None:
    command = [str(initdb), "-D", str(data), "-U", "postgres", "--auth=peer", "--encoding=UTF8"]
    command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C", "--no-instructions"]
    command += [f"--set={name}={value}" for name, value in (("max_connections", "60"), ("shared_buffers", "48MB"))]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd="/", user=user, group=user,
        extra_groups=None if user is None else [],
    )  # fmt: skip
    if done.returncode != 0:
        shutil.rmtree(data, ignore_errors=True)
        why = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
        raise Refused(f"cannot make the database in {data}: {' '.join(why) or f'initdb ended with {done.returncode}'}")
