"""Postgres of an embedded cluster: whom it lets in, whom it runs as, and where root takes its programs from."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from resolute.deploy import plan, postgres, postgres_files, processes, system_users
from resolute.deploy.paths import ClusterPaths
from resolute.deploy.postgres_files import Programs
from tests.servers import POSTGRES_USER, wait_for

pytestmark = pytest.mark.timeout(600)
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as another user")
TRUST = "local all all trust\n"


@pytest.fixture
def paths() -> Iterator[ClusterPaths]:
    """A cluster's directory that nobody but its owner may enter."""
    found = ClusterPaths(Path(tempfile.mkdtemp(prefix="resolute-private-")) / "data")
    for folder in (found.root, found.run, found.logs):
        folder.mkdir(mode=0o700)
    yield found
    processes.stop_supervisor(found)
    postgres.forget(found)
    shutil.rmtree(found.root.parent)


@pytest.fixture
def shared() -> Iterator[Path]:
    """In place of /var/lib/resolute, whose copies other clusters use."""
    folder = Path(tempfile.mkdtemp(prefix="resolute-shared-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    """An installation as root has it in its home, made under a umask of 077."""
    found, mine = postgres_files.installed(), Programs(tmp_path / "site")
    left_out = shutil.ignore_patterns("pginstall", "include", "*.a")
    shutil.copytree(found.folder / postgres_files.PACKAGE, mine.folder / postgres_files.PACKAGE, ignore=left_out)
    shutil.copytree(found.folder / postgres_files.LIBRARIES, mine.folder / postgres_files.LIBRARIES)
    subprocess.run(["chmod", "-R", "go-rwx", tmp_path], check=True)
    monkeypatch.setattr(postgres_files, "installed", lambda: mine)
    return mine


def start(paths: ClusterPaths) -> None:
    postgres.prepare(paths)
    processes.start_supervisor(paths, plan.dump([postgres.child(paths, {"PATH": os.defpath})]))
    wait_for(lambda: ask(paths, "SELECT 1").returncode == 0, what="Postgres")


def ask(paths: ClusterPaths, statement: str, as_user: str | None = None) -> subprocess.CompletedProcess[str]:
    program = postgres_files.usable_by(as_user).path("psql")
    return subprocess.run(
        [program, "-At", "-c", statement, postgres.url(paths)],
        capture_output=True, text=True, check=False, cwd="/", user=as_user, group=as_user,
        extra_groups=None if as_user is None else [],
    )  # fmt: skip


def test_the_server_lets_in_the_user_that_the_cluster_runs_as_and_knows_no_other_way_in(paths: ClusterPaths) -> None:
    start(paths)
    methods = ask(paths, "SELECT DISTINCT auth_method FROM pg_hba_file_rules").stdout.split()
    assert methods == ["peer"]


@as_root
def test_another_user_of_the_host_is_not_let_in(paths: ClusterPaths) -> None:
    system_users.ensure("pgserver")
    start(paths)
    for path in (paths.of_root, paths.socket_dir, paths.socket_dir / ".s.PGSQL.5432"):
        path.chmod(0o777)  # so that the server itself has to say no
    refused = ask(paths, "SELECT 1", as_user="pgserver")
    assert "Peer authentication failed" in refused.stderr


def test_a_database_that_trusted_everybody_no_longer_does_after_the_next_start(paths: ClusterPaths) -> None:
    start(paths)
    ask(paths, "CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)")
    processes.stop_supervisor(paths)
    data = postgres.data_dir(paths)
    (data / "pg_hba.conf").write_text(TRUST)
    if POSTGRES_USER is not None:  # an earlier release ran the servers of all clusters as this user
        system_users.ensure(POSTGRES_USER)
        subprocess.run(["chown", "-R", f"{POSTGRES_USER}:", data], check=True)
    start(paths)
    assert ask(paths, "SELECT DISTINCT auth_method FROM pg_hba_file_rules").stdout.split() == ["peer"]
    assert ask(paths, "SELECT n FROM kept").stdout.split() == ["7"]


@as_root
def test_each_cluster_of_root_has_a_system_user_of_its_own_that_goes_with_it(paths: ClusterPaths) -> None:
    start(paths)
    user = postgres.user_of(paths)
    assert user is not None
    assert postgres.data_dir(paths).stat().st_uid == pwd.getpwnam(user).pw_uid
    processes.stop_supervisor(paths)
    postgres.forget(paths)
    assert system_users.known(user) is None
    assert not paths.of_root.exists()


@as_root
def test_what_a_deleted_directory_leaves_outside_itself_is_removed_by_the_next_start(paths: ClusterPaths) -> None:
    gone = ClusterPaths(paths.root.parent / "gone")
    gone.run.mkdir(parents=True)
    gone.root.chmod(0o711)
    for folder in (paths.root, paths.root.parent):
        folder.chmod(0o711)
    postgres.prepare(gone)
    shutil.rmtree(gone.root)
    postgres.prepare(paths)
    assert not gone.of_root.exists()


@as_root
def test_from_a_private_installation_root_runs_a_whole_copy(private: Programs, shared: Path, tmp_path: Path) -> None:
    system_users.ensure("pgserver")
    assert postgres_files.why_unusable(private, "pgserver") != ""
    copy = postgres_files.usable_by("pgserver", shared)
    data = shared / "data"
    data.mkdir(mode=0o700)
    shutil.chown(data, "pgserver", "pgserver")
    made = subprocess.run(
        [copy.path("initdb"), "-D", data], capture_output=True, text=True, check=False, cwd="/", user="pgserver",
        group="pgserver", extra_groups=[],
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert postgres_files.usable_by("pgserver", shared) == copy


@as_root
def test_a_copy_that_another_start_is_about_to_use_is_not_removed(private: Programs, shared: Path) -> None:
    system_users.ensure("pgserver")
    copy = postgres_files.usable_by("pgserver", shared)
    remove = f"import pathlib; from resolute.deploy.postgres_files import remove_unused; remove_unused({shared!r})"
    subprocess.run([sys.executable, "-c", remove.replace("PosixPath", "pathlib.Path")], check=True)
    assert postgres_files.why_unusable(copy, "pgserver") == "", "this process has not started its server yet"
    postgres_files.remove_unused(shared)
    assert [found.name for found in shared.iterdir()] == [".postgres.lock"], "now it needs none"


@as_root
def test_a_broken_copy_is_replaced_and_another_wheel_has_another_copy(private: Programs, shared: Path) -> None:
    system_users.ensure("pgserver")
    copy = postgres_files.usable_by("pgserver", shared)
    shutil.rmtree(copy.folder / postgres_files.LIBRARIES)
    assert "libpq" in postgres_files.why_unusable(copy, "pgserver")
    assert postgres_files.usable_by("pgserver", shared) == copy
    assert postgres_files.why_unusable(copy, "pgserver") == ""
    (private.home / "share" / "postgresql" / "added").write_text("by another build of the same version")
    other = postgres_files.usable_by("pgserver", shared)
    assert other.folder != copy.folder
    postgres_files.remove_unused(shared, but=other)
    assert [folder for folder in (copy.folder, other.folder) if folder.exists()] == [other.folder]
