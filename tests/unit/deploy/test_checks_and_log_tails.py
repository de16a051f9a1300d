"""Refusals before anything starts, and the showing of logs."""

from __future__ import annotations

import io
import random
import shutil
import socket
from collections import namedtuple
from pathlib import Path

import pytest

from resolute.deploy import checks, cluster, drawn_ports, log_tail, processes
from resolute.deploy.paths import ClusterPaths
from resolute.proto.errors import Refused

Usage = namedtuple("Usage", "total used free")


def test_a_port_in_use_is_refused_with_who_uses_it() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(Refused, match=rf"cannot listen on 127.0.0.1:{port}: .*pid \d+.*--master-port"):
            checks.port_is_free("127.0.0.1", port)
        assert checks.free_port(port) != port
    checks.port_is_free("127.0.0.1", port)
    assert checks.free_port(port) == port


def test_a_port_that_is_chosen_is_none_that_an_outgoing_connection_could_take() -> None:
    first_outgoing = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert all(1024 < checks.free_port() < first_outgoing for _ in range(50))


def test_where_the_kernel_gives_every_port_to_outgoing_connections_one_of_those_is_chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    range_of_ports = tmp_path / "ip_local_port_range"
    range_of_ports.write_text("1024\t65535\n")
    monkeypatch.setattr(checks, "_OUTGOING_PORTS", range_of_ports)
    assert checks.free_port() > 1024


def test_of_two_clusters_that_start_at_once_each_draws_a_port_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither server listens yet, and both clusters try the same ports in the same order."""
    monkeypatch.setattr(drawn_ports, "FILE", tmp_path / "drawn")
    monkeypatch.setattr(random, "sample", lambda ports, count: list(ports)[:count])
    monkeypatch.setattr(checks, "_bound", lambda port: port)  # each is free to a probe
    first, second = checks.free_port(), checks.free_port()
    assert first != second
    assert checks.free_port(first) == first, "the port that a cluster had before it has again"
    monkeypatch.setattr(drawn_ports, "LATELY_S", 0.0)
    assert checks.free_port() == first, "a port that was drawn long ago and is still free may be drawn again"


def test_notes_of_drawn_ports_that_cannot_be_used_are_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("untouched")
    (tmp_path / "link").symlink_to(elsewhere)
    (tmp_path / "scribbled").write_text("7\nx y\n\u00b2 1\n" + "9" * 5000 + " 1\n")
    for file in ("link", "no/such/folder", "scribbled"):
        monkeypatch.setattr(drawn_ports, "FILE", tmp_path / file)
        assert checks.free_port() > 1024
    assert elsewhere.read_text() == "untouched"


@pytest.mark.parametrize("port", [-1, 0, 99999])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(Refused, match="a port is a number from 1 to 65535"):
        checks.port_is_free("127.0.0.1", port)


def test_a_full_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9, 5 * 2**20))
    with pytest.raises(Refused, match=r"cannot start on a full disk: .* has 5 MiB left"):
        checks.data_directory(ClusterPaths(tmp_path / "data"))


def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    beneath = ClusterPaths(tmp_path / "file" / "data")
    assert processes.supervisor_pid(beneath) is None
    assert cluster.load(beneath) is None
    with pytest.raises(Refused, match=r"cannot write to .*file/data: Not a directory; .*--data-dir"):
        checks.data_directory(ClusterPaths(tmp_path / "file" / "data"))


def test_a_database_of_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "postgres").mkdir()
    (tmp_path / "postgres" / "PG_VERSION").write_text("16\n")
    with pytest.raises(Refused, match="it was made by PostgreSQL 16, and this release runs 18"):
        checks.data_directory(ClusterPaths(tmp_path))


@pytest.mark.parametrize(("host", "is_loopback"), [("127.0.0.1", True), ("localhost", True), ("0.0.0.0", False)])
def test_strangers_meet_no_blank_passwords(host: str, is_loopback: bool) -> None:
    checks.passwords_are_set(host, "secret", database_exists=False)
    if is_loopback:
        checks.passwords_are_set(host, None, database_exists=False)
    else:
        with pytest.raises(Refused, match=r"blank passwords: .* give --initial-user-password"):
            checks.passwords_are_set(host, None, database_exists=False)


def test_logs_are_shown_with_the_name_of_who_wrote_them(tmp_path: Path) -> None:
    (tmp_path / "nats.log").write_text("one\ntwo\n")
    (tmp_path / "services.log").write_text("".join(f"line {n}\n" for n in range(200)))
    out = io.StringIO()
    log_tail.show(tmp_path, follow=False, out=out)
    lines = out.getvalue().splitlines()
    assert lines[:2] == ["nats         | one", "nats         | two"]
    assert lines[2] == "services     | line 150"
    assert lines[-1] == "services     | line 199"


def test_what_is_added_is_shown_in_whole_lines(tmp_path: Path) -> None:
    file, out = tmp_path / "nats.log", io.StringIO()
    file.write_text("old\nnew\nhal")
    offset = log_tail._print_new(file, 4, out)
    file.write_text("old\nnew\nhalf\n")
    offset = log_tail._print_new(file, offset, out)
    assert out.getvalue() == "nats         | new\nnats         | half\n"
    file.write_text("anew\n")
    log_tail._print_new(file, offset, out)
    assert out.getvalue().endswith("nats         | anew\n")
