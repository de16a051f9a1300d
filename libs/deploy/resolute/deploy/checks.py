"""Checks before anything is started; each that fails is reported in one sentence."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import psutil

from resolute.deploy import postgres
from resolute.deploy.drawn_ports import drawn_lately
from resolute.deploy.paths import ClusterPaths, make_private
from resolute.proto.errors import Refused
from resolute.service.addresses import is_loopback

FREE_BYTES_MIN = 256 * 1024 * 1024
DATABASE_S = 10.0
"""How long a database may take to accept a connection."""
_SERVER_PORTS = range(20_000, 32_768)
_PORT_TRIES = 100
_OUTGOING_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The file with the range of ports that Linux uses for outgoing connections: 32768 to 60999 by default."""


def data_directory(paths: ClusterPaths) -> None:
    """It can be written to, has room, and holds a database of the version we run."""
    try:
        for folder in (paths.root, paths.run, paths.secrets, paths.logs, paths.nats, paths.storage):
            make_private(folder)
        if os.geteuid() == 0:
            paths.root.chmod(0o711)  # Postgres, who is then someone else, passes through; what is inside stays private
        (paths.root / ".probe").write_bytes(b"x" * 4096)
        (paths.root / ".probe").unlink()
    except OSError as error:
        raise Refused(
            f"cannot write to {paths.root}: {error.strerror or error}; free it, or choose another with --data-dir"
        ) from error
    free = shutil.disk_usage(paths.root).free
    if free < FREE_BYTES_MIN:
        raise Refused(
            f"cannot start on a full disk: {paths.root} has {free // 2**20} MiB left, and a cluster needs at least "
            f"{FREE_BYTES_MIN // 2**20}; make room, or choose another with --data-dir"
        )
    data = postgres.data_dir(paths)
    found = postgres.version_of(data)
    if found is not None and found != postgres.MAJOR:
        raise Refused(
            f"cannot use the database in {data}: it was made by PostgreSQL {found}, and this release runs "
            f"{postgres.MAJOR}; use the release that made it, or another directory (--data-dir)"
        )


def database_answers(url: str) -> None:
    """A PostgreSQL that others run lets the cluster in, and is no older than the one that clusters bring."""
    try:
        version = asyncio.run(_version_of(url))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError, ValueError) as error:
        where = urlsplit(url)
        at = f" at {where.hostname}:{where.port}" if where.hostname else ""
        raise Refused(
            f"cannot use the database{at}: {str(error) or type(error).__name__}; the section `db` of the master "
            "configuration says where it is and who signs in"
        ) from error
    if version < int(postgres.MAJOR):
        raise Refused(f"cannot use the database: it is PostgreSQL {version}, and this release needs {postgres.MAJOR}")


async def _version_of(url: str) -> int:
    connection = await asyncpg.connect(url, timeout=DATABASE_S)
    try:
        return int(connection.get_server_version().major)
    finally:
        await connection.close(timeout=DATABASE_S)


def port_is_free(host: str, port: int, option: str = "--master-port") -> None:
    """Raises Refused, naming the `option` that chooses another."""
    if not 0 < port < 2**16:
        raise Refused(f"cannot listen on {host}:{port}: a port is a number from 1 to 65535 ({option})")
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise Refused(
                f"cannot listen on {host}:{port}: {error.strerror}{_holder(port)}; choose another port with "
                f"{option}, or stop what uses this one"
            ) from error


def free_port(wanted: int = 0) -> int:
    """`wanted` if nothing listens there, another otherwise, which no cluster of this user has drawn lately.

    The server listens some time after this probe, and again whenever it is restarted. A port that the kernel gives to
    outgoing connections could be taken by one of them meanwhile, so the others are tried first.
    """
    never_outgoing = range(_SERVER_PORTS.start, min(_SERVER_PORTS.stop, _first_outgoing_port()))
    tries = random.sample(never_outgoing, min(_PORT_TRIES, len(never_outgoing)))
    with drawn_lately() as drawn:
        found = _first_free([*([wanted] if wanted else []), *(port for port in tries if port not in drawn)])
        drawn.add(found)
    return found


def _first_free(ports: Sequence[int]) -> int:
    """Of these; any other where none of them is."""
    for port in ports:
        with suppress(OSError):
            return _bound(port)
    return _bound(0)


def _bound(port: int) -> int:
    """The port that a probe was bound to, which has let go of it. Raises OSError where it is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        return int(probe.getsockname()[1])


def _first_outgoing_port() -> int:
    try:
        return int(_OUTGOING_PORTS.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return _SERVER_PORTS.stop  # not Linux, whose range begins there


def passwords_are_set(host: str, password: str | None, database_exists: bool) -> None:
    """Refuses to make a cluster reachable from elsewhere with blank passwords. For a cluster with a history, the
    gateway checks this against its users."""
    if not is_loopback(host) and not password and not database_exists:
        raise Refused(
            f"cannot listen on {host} while admin and determined have blank passwords: anyone who reaches it could be "
            "them; give --initial-user-password, or listen on 127.0.0.1"
        )


def storage_directory(path: Path, own: bool = False) -> None:
    """`own`: whether the storage is in the cluster's directory, and used by this cluster only."""
    made = not path.exists()
    try:
        path.mkdir(parents=True, exist_ok=True)
        if os.geteuid() == 0 and (made or own):
            path.chmod(0o1777)  # trials run as users of their own: each may add, and delete what is its own
    except OSError as error:
        raise Refused(f"cannot make the storage directory {path}: {error.strerror}") from error
    if not os.access(path, os.W_OK):
        raise Refused(f"cannot write to the storage directory {path}: choose another with --storage-host-path")


def _holder(port: int) -> str:
    """The process that uses `port`, where this user may see it."""
    try:
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port:
                name = psutil.Process(connection.pid).name() if connection.pid else "another process"
                return f" (by {name}{f', pid {connection.pid}' if connection.pid else ''})"
    except (psutil.Error, OSError):
        return ""
    return ""
