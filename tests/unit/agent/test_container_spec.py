"""What a task's container is to be, and what a configuration may not have."""

from __future__ import annotations

import errno
import os
import posixpath
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from resolute.agent import runtimes
from resolute.agent.container_spec import Container, Device, Mount, NotAllowed, container, network_of
from resolute.proto.experiment import AgentUser
from resolute.proto.pool import Placement, Slot, StartTask
from tests.unit.agent.test_environment import CPUS, GPUS, ORDER, SPEC

IMAGES = {"cpu": "for-cpus", "cuda": "for-cuda", "rocm": "for-rocm"}


def order(**config: Any) -> StartTask:
    environment = {"image": IMAGES, **config.pop("environment", {})}
    return replace(ORDER, spec=replace(SPEC, config={"environment": environment, **config}))


def made(what: StartTask | None = None, slots: tuple[Slot, ...] = CPUS, **given: Any) -> Container:
    told = {f"docker_{name}": value for name, value in given.items()}
    return container(what or order(), "a1", "cluster-1", slots, runtimes.load(**told))


def test_a_task_says_whose_it_is() -> None:
    assert made().labels == {
        "ai.resolute.cluster": "cluster-1",
        "ai.resolute.agent": "a1",
        "ai.resolute.allocation": "7.f00d.1",
        "ai.resolute.task": "7.f00d",
        "ai.resolute.task_type": "TRIAL",
        "ai.resolute.resources": "res-1",
        "ai.resolute.rank": "0",
        "ai.resolute.slots": "1",
        "ai.resolute.experiment": "7",
        "ai.resolute.trial": "9",
    }


def test_the_image_is_that_for_the_kind_of_its_slots() -> None:
    rocm = tuple(Slot(n, "rocm", "MI210", f"GPU-{n}") for n in range(2))
    nothing = replace(order(), placement=Placement("res-1", "a1", ()))
    assert [made(slots=slots).image for slots in (CPUS, GPUS, rocm)] == ["for-cpus", "for-cuda", "for-rocm"]
    assert made(nothing, slots=GPUS).image == "for-cpus"
    with pytest.raises(NotAllowed, match=r"environment\.image: nothing is named for cpu"):
        made(order(environment={"image": {}}))


def test_gpus_are_given_by_name_and_amds_by_device() -> None:
    both = replace(order(), placement=Placement("res-1", "a1", (1, 3)))
    assert made(both, slots=GPUS).gpus == ("GPU-1", "GPU-3")
    rocm = tuple(Slot(n, "rocm", "MI210", f"GPU-{n}") for n in range(2))
    paths = ["/dev/kfd", "/dev/dri/card1", "/dev/dri/renderD129"]
    assert [device.host_path for device in made(slots=rocm).devices] == paths


@pytest.mark.parametrize(
    ("setting", "shares", "network", "own"),
    [
        ("", 1, "resolute-cluster-1", True),
        ("", 2, "host", False),
        ("resolute-cluster-1", 2, "resolute-cluster-1", True),
        ("theirs", 1, "theirs", False),
        ("host", 1, "host", False),
        ("container:pause", 2, "container:pause", False),
    ],
)
def test_one_agents_task_is_on_the_clusters_network_and_a_gang_on_the_hosts(
    setting: str, shares: int, network: str, own: bool
) -> None:
    found = made(replace(order(), shares=shares), network=setting)
    assert (found.network, found.own_network) == (network, own)


def test_a_network_is_named_as_docker_allows() -> None:
    assert network_of("my cluster/1") == "resolute-my-cluster-1"


def test_limits_are_for_each_slot_and_a_task_without_slots_has_those_of_one() -> None:
    both = replace(order(), placement=Placement("res-1", "a1", (0, 1)))
    none = replace(order(), placement=Placement("res-1", "a1", ()))
    given: dict[str, Any] = {"memory_per_slot": "2GiB", "cpus_per_slot": 1.5, "processes": 100}
    assert [made(one, **given).memory_bytes for one in (both, none)] == [4 * 2**30, 2 * 2**30]
    assert [made(one, **given).cpus for one in (both, none)] == [3.0, 1.5]
    assert made(**given).processes == 100
    assert (made().memory_bytes, made().cpus, made().processes) == (None, None, None)


def test_what_a_configuration_says_of_its_container() -> None:
    environment = {
        "force_pull_image": True,
        "registry_auth": {"username": "ada", "password": "secret"},
        "ports": {"tb": 6006},
        "proxy_ports": [{"proxy_port": 8888}, {"proxy_port": 6006}],
        "drop_capabilities": ["CAP_NET_RAW"],
        "add_capabilities": ["cap_sys_nice"],
    }
    found = made(order(environment=environment, resources={"shm_size": 2**20}), publish="10.0.0.1")
    assert (found.pull, found.ports, found.publish_at, found.shm_bytes) == (True, (6006, 8888), "10.0.0.1", 2**20)
    assert (found.add_capabilities, found.drop_capabilities) == (("SYS_NICE",), ("NET_RAW",))
    assert found.login == {"username": "ada", "password": "secret"}
    assert "secret" not in repr(found)


def test_a_task_runs_as_its_owners_agent_user_else_as_the_agent_says() -> None:
    ada = AgentUser("ada", 1001, "science", 2001)
    hers = replace(order(), spec=replace(order().spec, agent_user=ada))
    assert made(hers, user="65534:65534").user == ada
    assert made(user="65534:65533").user == AgentUser("", 65534, "", 65533)
    assert made().user is None


# ---------------------------------------------------------------- what of the host it may have


def bound(host_path: str, container_path: str = "/data", **more: Any) -> StartTask:
    return order(bind_mounts=[{"host_path": host_path, "container_path": container_path, **more}])


def test_nothing_of_the_host_is_mounted_unless_it_is_allowed() -> None:
    with pytest.raises(NotAllowed, match=r"bind_mounts: /etc is not below .* \(there are none\); .*DOCKER_BIND_MOUNTS"):
        made(bound("/etc"))
    assert made(bound("/data/sets", read_only=True), bind_mounts=["/data"]).mounts == (
        Mount("/data/sets", "/data", read_only=True),
    )


def test_a_relative_path_is_below_the_working_directory() -> None:
    (mount,) = made(bound("/data", "sets"), bind_mounts=["/data"]).mounts
    assert mount.target == "/run/determined/workdir/sets"


@given(st.lists(st.sampled_from(["..", ".", "a", "b", "allowed", ""]), max_size=6).map("/".join))
def test_no_path_leads_out_of_what_is_allowed(path: str) -> None:
    try:
        (mount,) = made(bound(f"/srv/allowed/{path}"), bind_mounts=["/srv/allowed/"]).mounts
    except NotAllowed:
        return
    resolved = posixpath.normpath(mount.source)
    assert resolved == mount.source
    assert resolved == "/srv/allowed" or resolved.startswith("/srv/allowed/")


REAL = partial(os.path.realpath, strict=True)


def mounted(path: Path, real: Callable[[str], str] = REAL, allowed: str = "allowed") -> str:
    setting = runtimes.load(docker_bind_mounts=[str(path.parents[1] / "no-such-place"), str(path.parents[1] / allowed)])
    return container(bound(str(path)), "a1", "cluster-1", CPUS, setting, real).mounts[0].source


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory whose link `known-as` is allowed: it leads to `allowed`."""
    (tmp_path / "allowed" / "sets").mkdir(parents=True)
    (tmp_path / "allowed" / "out").symlink_to("/etc")
    (tmp_path / "allowed" / "round").symlink_to("round")
    (tmp_path / "allowed" / "later").symlink_to(tmp_path / "not-yet")
    (tmp_path / "known-as").symlink_to(tmp_path / "allowed")
    return tmp_path


def test_a_link_leads_no_further_than_what_is_allowed(place: Path) -> None:
    assert mounted(place / "known-as" / "sets", allowed="known-as") == str(place / "allowed" / "sets")
    with pytest.raises(NotAllowed, match="bind_mounts: /etc is not below"):
        mounted(place / "known-as" / "out", allowed="known-as")


@pytest.mark.parametrize("path", ["nothing", "round", "later", "nothing/../../../etc"])
def test_what_is_not_there_may_lead_anywhere_by_the_time_it_is_mounted(place: Path, path: str) -> None:
    with pytest.raises(NotAllowed, match=r"bind_mounts: (the agent cannot find /|/.* is not below any path)"):
        mounted(place / "allowed" / path)


def test_nobody_learns_what_there_is_beside_what_is_allowed(place: Path) -> None:
    (place / "other").mkdir()
    (place / "other" / "there").touch()
    for name in ("there", "nothing"):
        with pytest.raises(NotAllowed, match=f"bind_mounts: {place}/other/{name} is not below any path"):
            mounted(place / "other" / name)


def test_a_path_is_followed_once_and_what_was_found_is_what_is_mounted(place: Path) -> None:
    def moved(path: str) -> str:
        found = REAL(path)
        if path.endswith("moving"):
            (place / "allowed" / "moving").unlink()
            (place / "allowed" / "moving").symlink_to("/etc")
        return found

    (place / "allowed" / "moving").symlink_to(place / "allowed" / "sets")
    assert mounted(place / "allowed" / "moving", moved) == str(place / "allowed" / "sets")


def test_a_file_system_that_is_in_trouble_may_be_well_again(place: Path) -> None:
    def stale(path: str) -> str:
        raise OSError(errno.ESTALE, "Stale file handle", path)

    with pytest.raises(OSError, match="Stale file handle"):
        mounted(place / "allowed" / "sets", stale)


@pytest.mark.parametrize(
    "path",
    [
        "/", "/run", "//run", "/run/determined", "/run/determined/", "/run/determined/workdir", ".", "..", "../etc",
        "sets/..", "/run/determined/etc", "/run/determined/etc/passwd", "/run/determined/info", "/data/../run",
        "/run/determined/master.crt", "/var/run/determined", "/var/run", "/opt/resolute", "/opt/resolute/harness",
    ],
)  # fmt: skip
def test_nothing_is_mounted_over_what_is_the_tasks_own(path: str) -> None:
    with pytest.raises(NotAllowed, match=r"bind_mounts: /.* in the container is not for mounts"):
        made(bound("/data", path), bind_mounts=["/"])


@pytest.mark.parametrize("path", ["/run/determined-data", "/run/user", "/opt", "/opt/resolute-data", "/var", "a/b"])
def test_elsewhere_is_open_to_mounts(path: str) -> None:
    assert made(bound("/data", path), bind_mounts=["/"]).mounts[0].target.endswith(path)


def test_a_shared_file_system_is_mounted_where_the_harness_looks_for_it() -> None:
    storage = {"type": "shared_fs", "host_path": "/checkpoints", "propagation": "rslave"}
    assert made(order(checkpoint_storage=storage), bind_mounts=["/checkpoints"]).mounts == (
        Mount("/checkpoints", "/determined_shared_fs", propagation="rslave"),
    )
    assert made(order(checkpoint_storage=storage), bind_mounts=["/checkpoints=kept"]).mounts == (
        Mount("kept", "/determined_shared_fs", volume=True),
    )
    with pytest.raises(NotAllowed, match=r"checkpoint_storage\.host_path: /checkpoints is not below"):
        made(order(checkpoint_storage=storage))
    assert made(order(checkpoint_storage={"type": "s3", "bucket": "b"})).mounts == ()


def test_devices_and_capabilities_are_refused_unless_they_are_allowed() -> None:
    devices = order(resources={"devices": [{"host_path": "/dev/infiniband/u0", "container_path": "/dev/u0"}]})
    with pytest.raises(NotAllowed, match=r"resources\.devices: /dev/infiniband/u0 .*RESOLUTE_AGENT_DOCKER_DEVICES"):
        made(devices)
    assert made(devices, devices=["/dev/infiniband"]).devices == (Device("/dev/infiniband/u0", "/dev/u0"),)
    admin = order(environment={"add_capabilities": ["SYS_ADMIN"]})
    with pytest.raises(NotAllowed, match=r"add_capabilities: SYS_ADMIN .*\(IPC_LOCK, SYS_NICE, SYS_PTRACE\)"):
        made(admin)
    assert made(admin, capabilities=["CAP_SYS_ADMIN"]).add_capabilities == ("SYS_ADMIN",)
