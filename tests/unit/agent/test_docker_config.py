"""A task's container in the words of Docker's API, and Docker's words in ours."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from typing import Any

import pytest

from resolute.agent import docker_config
from resolute.agent.container_spec import Container, Device, Mount
from resolute.agent.docker_engine import State
from resolute.agent.docker_messages import Progress, ending, in_units, pull_problem, shim_problem, start_problem
from resolute.agent.runtime import Exit, Launch
from resolute.agent.spool import End
from resolute.proto.experiment import AgentUser

ADA = AgentUser("ada", 1001, "science", 2001)
PLAIN = Container("image", {"a": "b"}, "resolute-1")
LAUNCH = Launch("res-1", ("python3", "-m", "determined.exec.prep"), {"PYTHONPATH": "/opt/resolute/harness", "A": "1"})


def config(container: Container = PLAIN, image: dict[str, Any] | None = None) -> dict[str, Any]:
    return docker_config.config(LAUNCH, container, image or {}, "harness-1", 15.0)


def host(container: Container = PLAIN) -> dict[str, Any]:
    found: dict[str, Any] = config(container)["HostConfig"]
    return found


def test_the_shim_runs_the_images_entrypoint_which_runs_the_task() -> None:
    found = config(image={"Entrypoint": ["/banner.sh"], "Cmd": ["bash"]})
    assert found["Entrypoint"] == ["python3", "-I", "-S", "/opt/resolute/resolute/agent/container_shim.py", "15.0"]
    assert found["Cmd"] == ["/banner.sh", "python3", "-m", "determined.exec.prep"]
    assert found["WorkingDir"] == "/run/determined/workdir"
    assert found["StopTimeout"] == 16


def test_an_images_own_modules_stay_importable_and_its_gpus_out_of_sight() -> None:
    found = config(image={"Env": ["PYTHONPATH=/theirs", "NVIDIA_VISIBLE_DEVICES=all"]})["Env"]
    assert set(found) == {"PYTHONPATH=/opt/resolute/harness:/theirs", "A=1", "NVIDIA_VISIBLE_DEVICES=void"}
    with_gpus = replace(PLAIN, gpus=("GPU-1", "GPU-2"))
    assert not [entry for entry in config(with_gpus)["Env"] if entry.startswith("NVIDIA")]
    request = {"Driver": "nvidia", "DeviceIDs": ["GPU-1", "GPU-2"], "Capabilities": [["gpu"]]}
    assert host(with_gpus)["DeviceRequests"] == [request]


def test_what_is_ours_is_mounted_read_only_beside_what_is_asked_for() -> None:
    ours, theirs, kept = host(replace(PLAIN, mounts=(Mount("/a", "/b"), Mount("v", "/c", volume=True))))["Mounts"]
    assert (ours["Type"], ours["Source"], ours["Target"], ours["ReadOnly"]) == (
        "volume", "harness-1", "/opt/resolute", True,
    )  # fmt: skip
    assert theirs == {
        "Type": "bind", "Source": "/a", "Target": "/b", "ReadOnly": False, "BindOptions": {"Propagation": "rprivate"},
    }  # fmt: skip
    assert (kept["Type"], kept["Source"]) == ("volume", "v")


def test_ports_are_open_to_others_only_where_the_agent_says_so() -> None:
    ports = replace(PLAIN, ports=(6006,))
    assert (config(ports)["ExposedPorts"], host(ports)["PortBindings"]) == ({"6006/tcp": {}}, {})
    bindings = {"6006/tcp": [{"HostIp": "10.0.0.1", "HostPort": "6006"}]}
    assert host(replace(ports, publish_at="10.0.0.1"))["PortBindings"] == bindings
    for network in ("host", "container:pause"):
        assert host(replace(ports, network=network, publish_at="10.0.0.1"))["PortBindings"] == {}


def test_limits_and_rights() -> None:
    found = host(
        replace(
            PLAIN,
            memory_bytes=2**30,
            cpus=1.5,
            processes=99,
            shm_bytes=2**20,
            add_capabilities=("SYS_NICE",),
            drop_capabilities=("NET_RAW",),
            devices=(Device("/dev/a", "/dev/b"),),
        )
    )
    assert (found["Memory"], found["MemorySwap"], found["NanoCpus"]) == (2**30, 2**30, 1_500_000_000)
    assert (found["PidsLimit"], found["ShmSize"]) == (99, 2**20)
    assert (found["CapAdd"], found["CapDrop"]) == (["SYS_NICE"], ["NET_RAW"])
    assert found["SecurityOpt"] == ["no-new-privileges"]
    assert found["Devices"] == [{"PathOnHost": "/dev/a", "PathInContainer": "/dev/b", "CgroupPermissions": "rwm"}]
    assert host(replace(PLAIN, new_privileges=True))["SecurityOpt"] == []


def test_an_agent_user_has_a_home_a_name_and_a_directory() -> None:
    found = config(replace(PLAIN, user=ADA))
    assert found["User"] == "1001:2001"
    assert {"HOME=/run/determined/workdir", "USER=ada", "LOGNAME=ada"} <= set(found["Env"])
    with tarfile.open(fileobj=io.BytesIO(docker_config.run_directory(ADA))) as tar:
        folder, passwd = tar.getmember("run/determined/workdir"), tar.extractfile("run/determined/etc/passwd")
        assert passwd is not None
        assert (folder.uid, folder.gid, folder.mode) == (1001, 2001, 0o700)
        assert passwd.read() == b"ada:x:1001:2001::/run/determined/workdir:/bin/bash\n"
    with tarfile.open(fileobj=io.BytesIO(docker_config.run_directory(None))) as tar:
        assert tar.getnames() == ["run/determined", "run/determined/workdir"]


@pytest.mark.parametrize(
    ("user", "image_user", "mode"),
    [
        (None, "", 0o700), (None, "root:staff", 0o700), (None, "0", 0o700),
        (None, "jovyan", 0o777), (None, "1000:100", 0o777), (ADA, "jovyan", 0o700),
    ],
)  # fmt: skip
def test_whoever_the_image_runs_as_has_its_directory(user: AgentUser | None, image_user: str, mode: int) -> None:
    with tarfile.open(fileobj=io.BytesIO(docker_config.run_directory(user, "", image_user))) as tar:
        assert {tar.getmember(f"run/determined{path}").mode for path in ("", "/workdir")} == {mode}


def test_names_of_any_alphabet_are_whole() -> None:
    amelie = AgentUser("amélie", 1001, "naïveté", 2001)
    with tarfile.open(fileobj=io.BytesIO(docker_config.run_directory(amelie, "é" * 600))) as tar:
        passwd, cert = tar.extractfile("run/determined/etc/passwd"), tar.extractfile("run/determined/master.crt")
        assert passwd is not None
        assert cert is not None
        assert passwd.read().decode() == "amélie:x:1001:2001::/run/determined/workdir:/bin/bash\n"
        assert cert.read().decode() == "é" * 600


# ---------------------------------------------------------------- how it ended

GONE = State("exited", 0, False, 2 * 2**30, {}, {})
HUNGRY = replace(GONE, out_of_memory=True)
FROM_OUTSIDE = "from outside: by a person, or with the Docker daemon or the host"


@pytest.mark.parametrize(
    ("end", "state", "asked", "found"),
    [
        (End(0, asked=False), GONE, False, Exit(0)),
        (End(3, asked=False), GONE, False, Exit(3)),
        (End(143, asked=True), GONE, True, Exit(143)),
        (End(143, asked=True), GONE, False, Exit(None, f"its container was stopped {FROM_OUTSIDE}")),
        (End(137, asked=False), HUNGRY, False, Exit(137, "out of memory: the container was allowed 2 GiB")),
        (End(0, asked=False), HUNGRY, False, Exit(0)),
        (End(1, asked=False), replace(HUNGRY, memory_bytes=0), False, Exit(1, "out of memory: the host has no more")),
        (None, HUNGRY, False, Exit(137, "out of memory: the container was allowed 2 GiB")),
        (None, GONE, False, Exit(None, f"its container was killed {FROM_OUTSIDE}")),
        (None, None, False, Exit(None, "its container was removed while it ran")),
        (End(0, asked=False), None, False, Exit(0)),
    ],
)
def test_how_a_container_ended(end: End | None, state: State | None, asked: bool, found: Exit) -> None:
    assert ending(end, state, asked) == found


def test_sizes_are_said_in_units_that_fit() -> None:
    sizes = [0, 512, 1536, 64 * 2**20, 5 * 2**30, 3 * 2**40]
    assert [in_units(size) for size in sizes] == ["0 bytes", "512 bytes", "1.5 KiB", "64 MiB", "5 GiB", "3 TiB"]


def test_a_pull_is_told_now_and_then() -> None:
    progress, lines = Progress("image:1"), []
    words: list[tuple[float, dict[str, Any]]] = [
        (0.0, {"status": "Pulling from image", "id": "1"}),
        (0.1, {"status": "Downloading", "id": "a", "progressDetail": {"current": 2**20, "total": 4 * 2**20}}),
        (0.2, {"status": "Downloading", "id": "b", "progressDetail": {"current": 0, "total": 2**20}}),
        (0.3, {"status": "Download complete", "id": "b"}),
        (6.0, {"status": "Downloading", "id": "a", "progressDetail": {"current": 3 * 2**20, "total": 4 * 2**20}}),
        (6.1, {"status": "Extracting", "id": "a", "progressDetail": {"current": 1, "total": 9}}),
        (6.2, {"status": "Status: Downloaded newer image for image:1"}),
    ]
    for now, word in words:
        lines += list(progress.lines(word, now))
    assert lines == [
        "INFO: pulling image:1: 1 MiB of 4 MiB of its layers",
        "INFO: pulling image:1: 4 MiB of 5 MiB of its layers",
        "INFO: Status: Downloaded newer image for image:1",
    ]


def test_words_that_are_not_known_are_passed_on_and_it_is_tried_again() -> None:
    assert not start_problem(PLAIN, "no space left on device").hopeless
    assert "no space left on device" in start_problem(PLAIN, "no space left on device").words
    assert not pull_problem("image", "net/http: TLS handshake timeout").hopeless


@pytest.mark.parametrize(
    "said",
    [
        "driver failed programming external connectivity: Bind for 0.0.0.0:8080 failed: port is already allocated",
        "Error starting userland proxy: listen tcp4 0.0.0.0:8080: bind: address already in use",
    ],
)
def test_a_port_in_use_is_named(said: str) -> None:
    assert start_problem(PLAIN, said).words == "environment.ports: 0.0.0.0:8080 is in use on this agent's host"


@pytest.mark.parametrize(
    ("network", "own", "said", "hopeless"),
    [
        ("theirs", False, "network theirs not found", True),
        ("container:pause", False, "No such container: pause", True),
        ("resolute-1", True, "network resolute-1 not found", False),
        ("theirs", False, "network another not found", False),
        ("theirs", False, "No such container: resolute-1-res-1", False),
    ],
)
def test_only_the_network_that_the_agent_was_told_of_is_hopeless(
    network: str, own: bool, said: str, hopeless: bool
) -> None:
    found = start_problem(replace(PLAIN, network=network, own_network=own), said)
    assert (found.hopeless, found.words.startswith("RESOLUTE_AGENT_DOCKER_NETWORK: ")) == (hopeless, hopeless)


@pytest.mark.parametrize(
    ("said", "hopeless"),
    [
        (["  File ...", "SyntaxError: invalid syntax"], True),
        (["ModuleNotFoundError: No module named 'ctypes'"], True),
        (["AttributeError: module 'os' has no attribute 'waitstatus_to_exitcode'"], True),
        (["ModuleNotFoundError: No module named 'resolute'"], False),
        (["python3: can't open file '/opt/resolute/resolute/agent/container_shim.py': [Errno 2]"], False),
        (["OSError: [Errno 24] Too many open files"], False),
        ([], False),
    ],
)
def test_a_shim_that_ends_at_once_is_hopeless_for_reasons_that_are_known(said: list[str], hopeless: bool) -> None:
    assert shim_problem(said).hopeless == hopeless
