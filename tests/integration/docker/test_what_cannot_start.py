"""What a configuration asks for and cannot have: one clear line each, and whether trying again could help."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import socket
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from resolute.agent import container_spec
from resolute.agent.container_spec import Container, ContainerLaunch, Device, Mount
from resolute.agent.docker_engine import Engine
from resolute.agent.docker_runtime import DockerRuntime
from resolute.agent.runtime import CannotStart
from tests import needs
from tests.integration.cluster.local import LocalCluster, until
from tests.integration.docker.hosts import IMAGE, Host, docker
from tests.integration.docker.registry import Registry, registry
from tests.integration.docker.test_trials_in_containers import MODEL, experiment

pytestmark = [needs.docker, pytest.mark.timeout(600)]

OWNER = container_spec.owner("a1", f"refused-{uuid.uuid4()}")
PLAIN = Container(IMAGE, OWNER, network="none")


class Room:
    """A runtime of a test's own."""

    def __init__(self, folder: Path, logins: str | None = None) -> None:
        self.runtime = DockerRuntime(folder, Engine(logins), OWNER, grace_s=0.5)
        self.launch = ContainerLaunch(str(uuid.uuid4()), ("python3", "-c", "print('ran')"), {}, container=PLAIN)

    async def refuses(self, container: Container) -> CannotStart:
        with pytest.raises(CannotStart) as refusal:
            await self.runtime.start(replace(self.launch, container=container))
        assert not await self.runtime.attach(self.launch.resources_id), "nothing is left of it"
        assert docker("ps", "-aq", "--filter", f"label=ai.resolute.cluster={OWNER['ai.resolute.cluster']}") == ""
        return refusal.value

    async def notes(self) -> list[str]:
        return [line.text for line in (await self.runtime.logs(self.launch.resources_id, 0, 99)).lines]


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path / "tasks")


@pytest.fixture
def shop() -> Iterator[Registry]:
    with registry() as shop:
        yield shop
        docker("rmi", "-f", f"{shop.host}/small:1", check=False)


async def test_an_image_that_is_not_there(room: Room, shop: Registry) -> None:
    login = {"username": "ada", "password": "secret"}
    refusal = await room.refuses(replace(PLAIN, image=f"{shop.host}/nothing:1", login=login))
    assert refusal.message.startswith(f"environment.image: there is no image {shop.host}/nothing:1. The registry says:")
    assert refusal.hopeless


@pytest.mark.parametrize("image", ["Capital/Letters:1", "one:two:three", "https://registry/image", "a b"])
async def test_what_is_no_name_of_an_image(room: Room, image: str) -> None:
    refusal = await room.refuses(replace(PLAIN, image=image))
    assert refusal.message.startswith(f"environment.image: there is no image {image}. The registry says: ")
    assert refusal.hopeless


@pytest.mark.parametrize("login", [None, {"username": "ada", "password": "guess"}])
async def test_a_registry_that_refuses(room: Room, shop: Registry, login: dict[str, str] | None) -> None:
    refusal = await room.refuses(replace(PLAIN, image=f"{shop.host}/small:1", login=login))
    assert f"the registry refuses {shop.host}/small:1; environment.registry_auth may help" in refusal.message
    assert refusal.hopeless
    assert "guess" not in refusal.message


async def test_a_registry_that_is_away_may_come_back(room: Room) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        image = f"127.0.0.1:{closed.getsockname()[1]}/small:1"
        refusal = await room.refuses(replace(PLAIN, image=image))
    assert f"cannot pull {image}" in refusal.message
    assert not refusal.hopeless


async def test_an_image_is_pulled_with_its_login_and_needs_python(room: Room, shop: Registry) -> None:
    image = f"{shop.host}/small:1"
    login = {"username": "ada", "password": "secret"}
    refusal = await room.refuses(replace(PLAIN, image=image, login=login))
    assert refusal.message == f"environment.image: {image} has no python3 (3.10 or later)"
    assert refusal.hopeless
    notes = await room.notes()
    assert notes[0] == f"INFO: pulling {image}"
    assert any("Status: Downloaded newer image" in note for note in notes)
    assert not any("secret" in note for note in notes)
    asked = len(shop.asked)
    await Room(room.runtime._root).refuses(replace(PLAIN, image=image, login=login))
    assert len(shop.asked) == asked, "it is here now"
    await Room(room.runtime._root).refuses(replace(PLAIN, image=image, login=login, pull=True))
    assert len(shop.asked) > asked, "unless the registry is to be asked again"


async def test_the_agents_own_logins_are_used_where_the_configuration_has_none(tmp_path: Path, shop: Registry) -> None:
    auth = base64.b64encode(b"ada:secret").decode()
    logins = tmp_path / "config.json"
    logins.write_text(json.dumps({"auths": {shop.host: {"auth": auth}}}))
    refusal = await Room(tmp_path / "tasks", str(logins)).refuses(replace(PLAIN, image=f"{shop.host}/small:1"))
    assert "has no python3" in refusal.message


async def test_a_task_that_is_stopped_while_its_image_is_pulled_does_not_wait_for_it(
    room: Room, shop: Registry
) -> None:
    shop.open.clear()
    image = f"{shop.host}/small:1"
    starting = asyncio.create_task(
        room.refuses(replace(PLAIN, image=image, login={"username": "ada", "password": "secret"}))
    )
    try:
        async with asyncio.timeout(30):
            while not any("/blobs/" in path for path in shop.asked):  # noqa: ASYNC110  (another process asks)
                await asyncio.sleep(0.02)
            await room.runtime.signal(room.launch.resources_id, signal.SIGTERM)
            refusal = await starting
    finally:
        shop.open.set()
    assert refusal.message == "it was stopped before it could start"
    assert not refusal.hopeless
    await asyncio.to_thread(until, "the daemon has it for the next", lambda: docker("image", "ls", "-q", image))


def missing_mount(_: int) -> Container:
    return replace(PLAIN, mounts=(Mount("/no/such/place", "/data"),))


def published(port: int) -> Container:
    return replace(PLAIN, network="bridge", ports=(port,), publish_at="127.0.0.1")


def on_the_hosts_network(port: int) -> Container:
    return replace(PLAIN, network="host", ports=(port,))


def missing_device(_: int) -> Container:
    return replace(PLAIN, devices=(Device("/dev/nothing", "/dev/nothing"),))


def unknown_capability(_: int) -> Container:
    return replace(PLAIN, drop_capabilities=("FLYING",))


def gpus(_: int) -> Container:
    return replace(PLAIN, gpus=("GPU-1",))


def unknown_network(_: int) -> Container:
    return replace(PLAIN, network="no-such-network")


def another_containers_network(_: int) -> Container:
    return replace(PLAIN, network="container:no-such-container")


NO_NETWORK = "RESOLUTE_AGENT_DOCKER_NETWORK: this agent's Docker has no"

CASES: list[tuple[Callable[[int], Container], str]] = [
    (missing_mount, "bind_mounts: /no/such/place does not exist on this agent's host"),
    (published, "environment.ports: 127.0.0.1:{port} is in use on this agent's host"),
    (on_the_hosts_network, "environment.ports: {port} is in use on this agent's host"),
    (missing_device, "resources.devices: /dev/nothing cannot be used on this agent's host"),
    (unknown_capability, "environment.add_capabilities, drop_capabilities: "),
    (gpus, "this agent's Docker lacks the NVIDIA Container Toolkit, and has no GPUs"),
    (unknown_network, f"{NO_NETWORK} network no-such-network"),
    (
        another_containers_network,
        f"{NO_NETWORK} container no-such-container",
    ),
]


@pytest.mark.parametrize(("asked_for", "words"), CASES, ids=[case.__name__ for case, _ in CASES])
async def test_what_the_host_does_not_have(room: Room, asked_for: Callable[[int], Container], words: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refusal = await room.refuses(asked_for(port))
    assert refusal.message.startswith(words.format(port=port))
    assert refusal.hopeless


# ---------------------------------------------------------------- and what a person sees of it


def refused(site: tuple[LocalCluster, Host], config: dict[str, Any]) -> str:
    """Why the task could not be started, by the trial's log and as the experiment's reason; it was tried once."""
    cluster, _ = site
    experiment_id = cluster.create({**config, "max_restarts": 3}, MODEL)
    assert cluster.ended(experiment_id) == "STATE_ERROR"
    (trial,) = cluster.trials(experiment_id)
    lines = [line for line in cluster.logs(trial["id"]).splitlines() if "the task could not be started" in line]
    assert len(lines) == 1, lines
    words = lines[0].partition("could not be started: ")[2]
    assert words in cluster.experiment(experiment_id)["stateReason"]
    return words


def test_a_mount_that_is_not_allowed_is_not_tried_again(site: tuple[LocalCluster, Host]) -> None:
    words = refused(site, experiment(bind_mounts=[{"host_path": "/etc", "container_path": "/data"}]))
    assert words.startswith("bind_mounts: /etc is not below any path of the host that tasks may mount here")
    assert "RESOLUTE_AGENT_DOCKER_BIND_MOUNTS" in words


def test_an_image_that_is_not_there_is_not_tried_again(site: tuple[LocalCluster, Host], shop: Registry) -> None:
    login = {"username": "ada", "password": "secret"}
    image = f"{shop.host}/nothing:1"
    words = refused(site, experiment(environment={"image": image, "registry_auth": login}))
    assert words.startswith(f"environment.image: there is no image {image}")
