"""Gangs over hosts of their own: at which network they meet, what is said where there is none, and when one is cut.

Each host is a network namespace with a table of hosts of its own. Its cable to the master is of no use to the other,
and each has an address that the other has too, as hosts with container engines do.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import needs
from tests.integration.cluster.local import until

_UNIT = Path(__file__).parents[2] / "unit" / "harness" / "conftest.py"
_spec = importlib.util.spec_from_file_location("harness_master", _UNIT)
assert _spec is not None
assert _spec.loader is not None
harness_master: Any = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(harness_master)

PROGRAM = """
import os, time
from determined import core
names = ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
numbers = {name: int(os.environ[f"HOROVOD_{name.upper()}"]) for name in names}
context = core.DistributedContext(**numbers, chief_ip=os.environ["DET_CHIEF_IP"])
print("everybody:", context.allgather(os.environ["HOROVOD_GLOO_IFACE"]), "at", os.environ["DET_CHIEF_IP"], flush=True)
time.sleep(600)
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _may_make_networks() -> bool:
    name = f"gang-{os.getpid()}"
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False).returncode == 0
    if made:
        ip("netns", "del", name)
    return made


pytestmark = [
    needs.horovod,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not _may_make_networks(), reason="making networks takes root and the program `ip` (iproute2)"),
]


MADE = itertools.count()
"""No name is used twice: the kernel takes its time to let go of what was deleted."""


class Host:
    """A network namespace with a cable to this one, where the master is."""

    def __init__(self, number: int) -> None:
        self.number, self.name = number, f"gang-{os.getpid()}-{next(MADE)}"
        self.master_at, self.address = f"10.78.{number}.1", f"10.78.{number}.2"
        ip("netns", "add", self.name)
        # What `ip netns exec` mounts as /etc/hosts.
        self.tables = Path("/etc/netns") / self.name
        self.tables.mkdir(parents=True)
        (self.tables / "hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {socket.gethostname()}\n")
        self.cable = self.name.removeprefix("gan")  # 15 characters at most
        ip("link", "add", self.cable, "type", "veth", "peer", "name", "eth0", "netns", self.name)
        ip("addr", "add", f"{self.master_at}/30", "dev", self.cable)
        ip("link", "set", self.cable, "up")
        self.has("lo", "172.31.7.1/24")
        self.has("eth0", f"{self.address}/30")

    def has(self, interface: str, address: str) -> None:
        ip("-n", self.name, "addr", "add", address, "dev", interface)
        ip("-n", self.name, "link", "set", interface, "up")

    def begin(self, env: dict[str, str]) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "determined.launch.horovod", sys.executable, "-c", PROGRAM]
        return subprocess.Popen(
            ["ip", "netns", "exec", self.name, *command],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


@pytest.fixture
def hosts() -> Iterator[tuple[Host, Host]]:
    made: list[Host] = []
    try:
        made += [Host(1)]
        made += [Host(2)]
        yield made[0], made[1]
    finally:
        for host in made:
            ip("link", "del", host.cable)
            ip("netns", "del", host.name)
            shutil.rmtree(host.tables)


@pytest.fixture
def master() -> Iterator[Any]:
    server = harness_master.Master("0.0.0.0")
    server.start()
    yield server
    server.stop()


@pytest.fixture
def gang(hosts: tuple[Host, Host], master: Any, tmp_path: Path) -> Iterator[Callable[[], list[subprocess.Popen[str]]]]:
    started: list[subprocess.Popen[str]] = []

    def start() -> list[subprocess.Popen[str]]:
        for rank, host in enumerate(hosts):
            run = tmp_path / str(rank)
            (run / "info").mkdir(parents=True)
            place = {
                "container_addrs": [one.address for one in hosts],
                "container_rank": rank,
                "container_slot_counts": [1, 1],
            }
            (run / "info" / "rendezvous.json").write_text(json.dumps(place))
            env = {
                **{"PATH": os.environ["PATH"], "HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
                **harness_master.trial_env(master, tmp_path),
                **{"DET_RUN_DIR": str(run), "DET_AGENT_ID": f"agent-{rank + 1}"},
                "DET_MASTER": f"http://{host.master_at}:{master.port}",
            }
            started.append(host.begin(env))
        return started

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_gang_meets_at_the_network_that_its_hosts_share_and_ends_when_it_is_cut(
    hosts: tuple[Host, Host], gang: Callable[[], list[subprocess.Popen[str]]], master: Any
) -> None:
    ip("link", "add", "eth1", "netns", hosts[0].name, "type", "veth", "peer", "name", "eth1", "netns", hosts[1].name)
    for host in hosts:
        host.has("eth1", f"10.78.3.{host.number}/30")
    processes = gang()
    for process in processes:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert re.search(r"everybody: \['eth1', 'eth1'\] at 10\.78\.3\.1", line), line + process.stdout.read()
    ip("-n", hosts[0].name, "link", "set", "eth1", "down")
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [1, 1], outputs
    gone = r"(is gone|has not been heard of for 15 s)"
    assert re.match(rf"\[rank=0\] ERROR: container 1 on agent-2 \(10\.78\.3\.2\) {gone}", outputs[0][-1])
    assert re.match(rf"\[rank=1\] ERROR: container 0 on agent-1 \(10\.78\.3\.1\) {gone}", outputs[1][-1])
    assert master.posted("/early_exit") == [], "another time the network may be there"


def test_hosts_that_cannot_talk_say_who_and_where_before_anything_starts(
    gang: Callable[[], list[subprocess.Popen[str]]], master: Any
) -> None:
    processes = gang()
    outputs = [process.communicate(timeout=90)[0] for process in processes]
    assert [process.returncode for process in processes] == [1, 1], outputs
    for output in outputs:
        (line,) = output.splitlines()
        assert line.startswith("ERROR: the containers of this gang cannot all talk to one another: ")
        assert re.search(
            r"agent-2 cannot reach agent-1 on port \d+ at 10\.78\.1\.2 \(eth0\), 172\.31\.7\.1 \(lo\)", line
        )
        assert re.search(
            r"agent-1 cannot reach agent-2 on port \d+ at 10\.78\.2\.2 \(eth0\), 172\.31\.7\.1 \(lo\)", line
        )
        assert "environment.dtrain_network_interface" in line
    until("the cluster hears that trying again is of no use", lambda: master.posted("/early_exit"), 5)
