"""The registry of runtimes: what a task needs is compared with what the agent's runtime gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from resolute import codec
from resolute.agent import runtimes
from resolute.agent.registry import needs_in
from resolute.agent.requests import Requests
from resolute.agent.unsealing import opened
from resolute.bus import subjects
from resolute.proto.errors import InvalidConfig
from resolute.proto.needs import DeviceNeed, Feature, MountNeed, TaskNeeds, needs_of
from resolute.proto.pool import AgentOrders, OpenSecrets, SecretsOpened, StartTask
from resolute.proto.tasks import TaskSpec
from resolute.service.sealing import DataKey, boxed, seal
from tests.unit.agent.test_agent import Scene, scene, start
from tests.unit.agent.test_environment import ORDER, SPEC

STATED = {
    "environment": {
        "image": {"cpu": "for-cpus", "cuda": "for-cuda", "rocm": None},
        "registry_auth": {"username": "ada", "password": "p"},
        "force_pull_image": True,
        "add_capabilities": ["SYS_NICE"],
        "drop_capabilities": ["NET_RAW"],
        "ports": {"tb": 6006},
        "proxy_ports": [{"proxy_port": 8888}, {"proxy_port": 6006}],
    },
    "bind_mounts": [{"host_path": "/data", "container_path": "data", "read_only": True, "propagation": "rslave"}],
    "checkpoint_storage": {"type": "shared_fs", "host_path": "/checkpoints"},
    "resources": {"shm_size": 2**20, "devices": [{"host_path": "/dev/fuse", "container_path": "/dev/fuse"}]},
    "work_dir": "/work",
}
NEEDS = TaskNeeds(
    images={"cuda": "for-cuda", "cpu": "for-cpus"},
    always_pull=True,
    login={"username": "ada", "password": "p"},
    work_dir="/work",
    add_capabilities=("SYS_NICE",),
    drop_capabilities=("NET_RAW",),
    mounts=(MountNeed("/data", "data", True, "rslave"),),
    shared_storage=MountNeed("/checkpoints", ""),
    devices=(DeviceNeed("/dev/fuse", "/dev/fuse"),),
    shm_bytes=2**20,
    ports=(6006, 8888),
)


def needing(*features: str, resources_id: str = "r1") -> StartTask:
    order = start(resources_id, 0)
    return replace(order, spec=replace(order.spec, needs=TaskNeeds(essential=features)))


def test_the_needs_of_a_configuration_are_typed_data() -> None:
    assert needs_of(STATED) == NEEDS
    assert codec.from_bytes(TaskNeeds, codec.to_bytes(NEEDS)) == NEEDS
    assert "'p'" not in repr(NEEDS)


@pytest.mark.parametrize("config", [None, {}, {"environment": None, "resources": None}, {"bind_mounts": None}])
def test_a_configuration_that_asks_for_nothing_needs_nothing(config: object) -> None:
    assert needs_of(config) == TaskNeeds()


def test_an_image_for_all_kinds_of_slots_is_the_image_of_each() -> None:
    assert needs_of({"environment": {"image": "one"}}).images == {"cuda": "one", "rocm": "one", "cpu": "one"}


def test_an_order_of_the_last_release_says_its_needs_in_the_configuration() -> None:
    of_today = codec.dump(replace(ORDER, spec=replace(SPEC, config=STATED, needs=NEEDS)))
    of_the_last = {**of_today, "spec": {k: v for k, v in of_today["spec"].items() if k != "needs"}}
    old = codec.load(StartTask, of_the_last)
    assert old.spec.needs is None
    assert needs_in(old) == needs_in(codec.load(StartTask, of_today)) == NEEDS


def test_what_the_owner_says_of_the_needs_wins_over_the_configuration() -> None:
    order = replace(ORDER, spec=replace(SPEC, config=STATED, needs=TaskNeeds(shm_bytes=7)))
    assert needs_in(order) == TaskNeeds(shm_bytes=7)


def test_a_specification_says_its_needs_beside_what_the_last_release_reads() -> None:
    """An agent of the last release ignores the needs, and reads the same configuration as before."""
    spec = codec.load(TaskSpec, {**codec.dump(replace(SPEC, needs=NEEDS)), "a field of the next release": 1})
    assert (spec.config, spec.needs) == (SPEC.config, NEEDS)


def test_every_runtime_declares_what_it_gives_and_each_feature_is_given_by_one() -> None:
    given = [runtimes.REGISTRY.named(name).gives for name in runtimes.REGISTRY.names]
    assert frozenset().union(*given) == frozenset(Feature)


def test_a_runtime_that_is_not_there_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_AGENT_RUNTIME", "pods")
    with pytest.raises(InvalidConfig, match=r"RESOLUTE_AGENT_RUNTIME.*no runtime 'pods'; there are process, docker"):
        runtimes.load()


def test_the_first_runtime_is_the_one_of_an_agent_that_names_none() -> None:
    assert runtimes.REGISTRY.named(runtimes.load().runtime).name == runtimes.REGISTRY.names[0]


async def test_a_task_that_needs_what_the_runtime_does_not_give_is_refused_for_good(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await s.order(AgentOrders(start=(needing(Feature.IMAGE),)))
        await s.until(lambda: s.reports == [("r1", "exited", 125)])
        assert s.hopeless == [True]
        assert s.reasons == [
            "the task cannot run without image, which the runtime 'pretence' of this agent does not give; "
            "an agent with RESOLUTE_AGENT_RUNTIME=able can"
        ]
        await s.order(AgentOrders(start=(needing(Feature.IMAGE, "a feature of a later release", resources_id="r2"),)))
        await s.until(lambda: len(s.reports) == 2)
        assert s.reasons[1].endswith("; no runtime can")
        assert s.runtime.tasks == {}


async def test_the_login_among_the_needs_is_opened_as_the_task_starts(tmp_path: Path) -> None:
    key = DataKey.fresh()
    sealed = seal(key, "environment.registry_auth.password", "hunter2")

    async def answer(question: OpenSecrets) -> SecretsOpened:
        return SecretsOpened(*boxed(question.public_key, {sealed: "hunter2"}, question.token))

    async def login(s: Scene, needs: TaskNeeds | None) -> object:
        config = {"environment": {"registry_auth": {"username": "ada", "password": sealed}}}
        order = replace(ORDER, spec=replace(SPEC, config=config, needs=needs))
        return needs_in(await opened(order, Requests(s.bus, "a1"), lambda: None)).login

    async with scene(tmp_path) as s:
        await s.bus.listen(subjects.agent("a1", "secrets"), OpenSecrets, answer)
        found = {"username": "ada", "password": "hunter2"}
        assert await login(s, None) == found
        assert await login(s, TaskNeeds(login={"username": "ada", "password": sealed})) == found
