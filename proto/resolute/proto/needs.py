"""What a task needs of the host that runs it, as data: no kind of runtime is named here.

The owner of a task writes its needs into its `TaskSpec`. Each runtime of an agent declares which features it gives,
and the agent's registry of runtimes compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from resolute.proto.message import Json

DEVICE_KINDS = ("cuda", "rocm", "cpu")
"""What images are chosen by: the kind of the slots that a task has."""


class Feature(StrEnum):
    """Something that a runtime may be able to give a task besides running its command."""

    IMAGE = "image"
    CAPABILITIES = "capabilities"
    BIND_MOUNTS = "bind_mounts"
    DEVICES = "devices"
    SHARED_MEMORY = "shared_memory"
    PORTS = "ports"
    HOST_ENVIRONMENT = "host_environment"
    """The programs, libraries and files of the host as they are."""


@dataclass(frozen=True, slots=True)
class MountNeed:
    """A directory of the host that the task wants to see."""

    host_path: str
    container_path: str
    """Where the task sees it; a relative path starts at the task's working directory."""
    read_only: bool = False
    propagation: str | None = None


@dataclass(frozen=True, slots=True)
class DeviceNeed:
    """A device of the host that the task wants to use, besides those of its slots."""

    host_path: str
    container_path: str
    mode: str = "rwm"


@dataclass(frozen=True, slots=True)
class TaskNeeds:
    """What a task asks of its host. What is left empty is not asked for.

    A runtime that cannot give something leaves it out, unless it is `essential`.
    """

    images: dict[str, str] = field(default_factory=dict)
    """By the kind of the task's slots: `DEVICE_KINDS`."""
    always_pull: bool = False
    """Whether the registry is asked for the image even where the host has it."""
    login: Json = field(default=None, repr=False)
    """The login to the image's registry. Its secrets are sealed until the agent has opened them."""
    work_dir: str | None = None
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    mounts: tuple[MountNeed, ...] = ()
    shared_storage: MountNeed | None = None
    """The directory where the tasks of all hosts keep checkpoints; each runtime knows where its tasks see it."""
    devices: tuple[DeviceNeed, ...] = ()
    shm_bytes: int | None = None
    ports: tuple[int, ...] = ()
    essential: tuple[str, ...] = ()
    """What the task cannot run without: each a `Feature`, or one that a later release knows. An agent whose runtime
    does not give all of these refuses the task."""


def needs_of(config: Json) -> TaskNeeds:
    """The needs that a configuration states. Also for a `TaskSpec` of an earlier release, which has no needs itself.

    Trials have no essential needs: where they run as processes, the submission has warned of what has no effect.
    """
    stated = config if isinstance(config, Mapping) else {}
    environment, resources = stated.get("environment") or {}, stated.get("resources") or {}
    return TaskNeeds(
        images=_images(environment.get("image")),
        always_pull=bool(environment.get("force_pull_image")),
        login=environment.get("registry_auth") or None,
        work_dir=stated.get("work_dir") or None,
        add_capabilities=tuple(environment.get("add_capabilities") or ()),
        drop_capabilities=tuple(environment.get("drop_capabilities") or ()),
        mounts=tuple(map(_mount, stated.get("bind_mounts") or ())),
        shared_storage=_shared_storage(stated.get("checkpoint_storage") or {}),
        devices=tuple(map(_device, resources.get("devices") or ())),
        shm_bytes=resources.get("shm_size") or None,
        ports=_ports(environment),
    )


def variables_of(config: Mapping[str, Any]) -> dict[str, str]:
    """The configuration's own variables, as set for CPU; an agent with other devices reads theirs in the config."""
    stated = (config.get("environment") or {}).get("environment_variables") or []
    lines = stated.get("cpu") or [] if isinstance(stated, dict) else stated
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _images(stated: Json) -> dict[str, str]:
    by_kind = stated if isinstance(stated, Mapping) else dict.fromkeys(DEVICE_KINDS, stated)
    return {kind: str(by_kind[kind]) for kind in DEVICE_KINDS if by_kind.get(kind)}


def _mount(stated: Mapping[str, Any]) -> MountNeed:
    return MountNeed(
        stated["host_path"], stated["container_path"], bool(stated.get("read_only")), stated.get("propagation")
    )


def _device(stated: Mapping[str, Any]) -> DeviceNeed:
    return DeviceNeed(stated["host_path"], stated["container_path"], stated.get("mode") or "rwm")


def _shared_storage(storage: Mapping[str, Any]) -> MountNeed | None:
    if storage.get("type") != "shared_fs":
        return None
    return MountNeed(storage["host_path"], "", propagation=storage.get("propagation"))


def _ports(environment: Mapping[str, Any]) -> tuple[int, ...]:
    proxied = (port["proxy_port"] for port in environment.get("proxy_ports") or ())
    return tuple(sorted({*(environment.get("ports") or {}).values(), *proxied}))
