"""The container of a task, computed from the order, the agent's settings and its slots, and nothing else.

A configuration may ask for paths, devices and capabilities of the host as far as the agent's settings allow them.
Anything else is refused: the error names the field, what was found, and the setting that would allow it.
"""

from __future__ import annotations

import errno
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from resolute.agent.docker_settings import DockerSettings
from resolute.agent.registry import needs_in
from resolute.agent.runtime import Launch
from resolute.agent.slots import device_kind
from resolute.proto.errors import ResoluteError
from resolute.proto.experiment import AgentUser
from resolute.proto.needs import DeviceNeed, MountNeed
from resolute.proto.pool import Slot, StartTask

LABEL = "ai.resolute."
RUN_DIR = "/run/determined"
WORK_DIR = f"{RUN_DIR}/workdir"
MASTER_CERT = f"{RUN_DIR}/master.crt"
FILES_DIR = "/opt/resolute"
HARNESS_DIR = f"{FILES_DIR}/harness"
SHARED_FS = "/determined_shared_fs"
SHM_BYTES = 4 * 2**30
HOST = "host"
_FOR_GOOD = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP)


class NotAllowed(ResoluteError):
    """The agent's settings do not allow what the configuration asks for."""

    code = "not_allowed"


@dataclass(frozen=True, slots=True)
class Mount:
    source: str
    """A path of the host, or the name of a volume."""
    target: str
    read_only: bool = False
    propagation: str = "rprivate"
    volume: bool = False


@dataclass(frozen=True, slots=True)
class Device:
    host_path: str
    container_path: str
    mode: str = "rwm"


@dataclass(frozen=True, slots=True)
class Container:
    """Everything about a container that does not depend on Docker's API."""

    image: str
    labels: Mapping[str, str]
    network: str
    """Its Docker name; `host`, or `container:NAME`."""
    own_network: bool = False
    """Whether that is the cluster's own network, which is created when a container first needs it."""
    pull: bool = False
    """Whether to pull the image even when this host has it."""
    login: Mapping[str, str] | None = field(default=None, repr=False)
    work_dir: str = WORK_DIR
    user: AgentUser | None = None
    """None for the image's own user, usually root."""
    ports: tuple[int, ...] = ()
    publish_at: str = ""
    """The address of the host at which the ports are open to other hosts; empty: they are not."""
    add_capabilities: tuple[str, ...] = ()
    drop_capabilities: tuple[str, ...] = ()
    new_privileges: bool = False
    devices: tuple[Device, ...] = ()
    gpus: tuple[str, ...] = ()
    """The UUIDs of NVIDIA GPUs. AMD GPUs are in `devices`."""
    mounts: tuple[Mount, ...] = ()
    shm_bytes: int = SHM_BYTES
    memory_bytes: int | None = None
    cpus: float | None = None
    processes: int | None = None
    trusted: str = ""
    """The text of the certificate with which the task verifies the gateway; empty when the task needs none."""


@dataclass(frozen=True, slots=True)
class ContainerLaunch(Launch):
    """A launch for the runtime of containers."""

    container: Container = field(kw_only=True)


def container(
    order: StartTask,
    agent_id: str,
    cluster_id: str,
    slots: Sequence[Slot],
    settings: DockerSettings,
    real: Callable[[str], str] = posixpath.normpath,
) -> Container:
    """`slots`: those of the agent. `real`: returns a path of the host with its symbolic links resolved.

    Raises NotAllowed, and OSError from `real` for a path that may exist at a later try.
    """
    needs = needs_in(order)
    own = [slot for slot in slots if slot.id in order.placement.slot_ids]
    work_dir = needs.work_dir or WORK_DIR
    allowed = Allowed(settings.docker_bind_mounts, real)
    shares = max(1, len(own))
    return Container(
        image=_image(needs.images, device_kind(own)),
        labels=labels(order, agent_id, cluster_id),
        network=(network := _network(order, cluster_id, settings)),
        own_network=network == network_of(cluster_id),
        pull=needs.always_pull,
        login=needs.login,
        work_dir=work_dir,
        user=order.spec.agent_user or _user(settings.docker_user),
        ports=needs.ports,
        publish_at=settings.docker_publish,
        add_capabilities=_capabilities(needs.add_capabilities, settings.docker_capabilities),
        drop_capabilities=tuple(map(_bare, needs.drop_capabilities)),
        new_privileges=settings.docker_new_privileges,
        devices=(*_rocm_devices(own), *_devices(needs.devices, settings.docker_devices)),
        gpus=tuple(slot.uuid for slot in own if slot.kind == "cuda"),
        mounts=(
            *_bind_mounts(needs.mounts, work_dir, allowed),
            *_checkpoint_storage(needs.shared_storage, allowed),
        ),
        shm_bytes=needs.shm_bytes or SHM_BYTES,
        memory_bytes=settings.docker_memory_per_slot and settings.docker_memory_per_slot * shares,
        cpus=settings.docker_cpus_per_slot and settings.docker_cpus_per_slot * shares,
        processes=settings.docker_processes,
    )


def labels(order: StartTask, agent_id: str, cluster_id: str) -> dict[str, str]:
    spec, placement = order.spec, order.placement
    found = {
        **owner(agent_id, cluster_id),
        "allocation": spec.allocation_id,
        "task": spec.task_id,
        "task_type": spec.task_type,
        "resources": placement.resources_id,
        "rank": str(order.rank),
        "slots": ",".join(map(str, placement.slot_ids)),
    }
    trial = {} if spec.trial_id is None else {"experiment": str(spec.experiment_id), "trial": str(spec.trial_id)}
    return {LABEL + key.removeprefix(LABEL): value for key, value in {**found, **trial}.items()}


def owner(agent_id: str, cluster_id: str) -> dict[str, str]:
    """The labels by which an agent recognises its containers."""
    return {f"{LABEL}cluster": cluster_id, f"{LABEL}agent": agent_id}


def network_of(cluster_id: str) -> str:
    return "resolute-" + re.sub(r"[^A-Za-z0-9_.-]", "-", cluster_id)


def _network(order: StartTask, cluster_id: str, settings: DockerSettings) -> str:
    """A task that spans hosts uses the host's network: other hosts cannot be reached over a bridge."""
    if settings.docker_network:
        return settings.docker_network
    return HOST if order.shares > 1 else network_of(cluster_id)


def _user(setting: str) -> AgentUser | None:
    uid, _, gid = setting.partition(":")
    return AgentUser("", int(uid), "", int(gid)) if setting else None


def _image(images: Mapping[str, str], kind: str) -> str:
    if kind not in images:
        raise NotAllowed(f"environment.image: nothing is named for {kind}; name an image, as python:3.11")
    return images[kind]


def _capabilities(wanted: Iterable[str], allowed: Sequence[str]) -> tuple[str, ...]:
    found = tuple(map(_bare, wanted))
    for name in found:
        if name not in map(_bare, allowed):
            raise NotAllowed(
                f"environment.add_capabilities: {name} is not among those that tasks may add here, "
                f"{_listed(allowed)}; RESOLUTE_AGENT_DOCKER_CAPABILITIES of the agent would allow it"
            )
    return found


def _bare(capability: str) -> str:
    return capability.upper().removeprefix("CAP_")


def _devices(wanted: Iterable[DeviceNeed], allowed: Sequence[str]) -> tuple[Device, ...]:
    found = []
    for device in wanted:
        path = posixpath.normpath(device.host_path)
        if not any(_within(path, prefix) for prefix in allowed):
            raise NotAllowed(
                f"resources.devices: {path} is not among the devices that tasks may use here, "
                f"{_listed(allowed)}; RESOLUTE_AGENT_DOCKER_DEVICES of the agent would allow it"
            )
        found.append(Device(path, device.container_path, device.mode))
    return tuple(found)


def _rocm_devices(slots: Sequence[Slot]) -> list[Device]:
    """The device of the driver, and the devices of each GPU, which are named by its number."""
    numbers = [slot.id for slot in slots if slot.kind == "rocm"]
    paths = [path for n in numbers for path in (f"/dev/dri/card{n}", f"/dev/dri/renderD{128 + n}")]
    return [Device(path, path) for path in (["/dev/kfd", *paths] if paths else [])]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The paths of the host that tasks may mount."""

    entries: Sequence[str]
    real: Callable[[str], str]
    """Resolves symbolic links. Raises OSError for a path that does not exist: by the time it is mounted, there could be
    a link to anywhere."""

    def mount(self, field_: str, source: str, target: str, read_only: bool, propagation: str | None) -> Mount:
        """A mount of the resolved path of `source`: the path that was checked, even when a link is changed afterwards.

        Raises NotAllowed, and OSError for a problem that may be gone at a later try.
        """
        paths = [entry for entry in self.entries if "=" not in entry]
        for path, _, volume in (entry.partition("=") for entry in self.entries):
            if volume and posixpath.normpath(source) == posixpath.normpath(path):
                return Mount(volume, target, read_only, volume=True)
        try:
            found = self.real(source)
        except OSError as error:
            found = posixpath.normpath(source)
            if error.errno not in _FOR_GOOD:
                raise
            if any(
                _within(found, path) for path in paths
            ):  # for other paths the message must not tell whether they exist
                raise NotAllowed(f"{field_}: the agent cannot find {source} on its host: {error.strerror}") from error
        else:
            if any(_within(found, real) for real in self._real(paths)):
                return Mount(found, target, read_only, propagation or "rprivate")
        raise NotAllowed(
            f"{field_}: {found} is not below any path of the host that tasks may mount here, "
            f"{_listed(self.entries)}; RESOLUTE_AGENT_DOCKER_BIND_MOUNTS of the agent would allow it"
        )

    def _real(self, paths: Iterable[str]) -> Iterator[str]:
        for path in paths:
            try:
                yield self.real(path)
            except OSError:
                continue  # nothing can be below it


def _bind_mounts(wanted: Iterable[MountNeed], work_dir: str, allowed: Allowed) -> list[Mount]:
    return [
        allowed.mount(
            "bind_mounts",
            mount.host_path,
            _target(posixpath.join(work_dir, mount.container_path)),
            mount.read_only,
            mount.propagation,
        )
        for mount in wanted
    ]


def _target(path: str) -> str:
    """The path in the container. Raises NotAllowed for a path where a mount would cover the agent's own files, or where
    these would be written to a path of the host."""
    path = "/" + posixpath.normpath(path).lstrip("/")
    named = path.removeprefix("/var") if _within(path, "/var/run") else path  # images have a link there
    within = _within(named, FILES_DIR) or (_within(named, RUN_DIR) and not named.startswith(f"{WORK_DIR}/"))
    if within or _within(RUN_DIR, named):
        raise NotAllowed(f"bind_mounts: {path} in the container is not for mounts; mount elsewhere, as at /data")
    return path


def _checkpoint_storage(storage: MountNeed | None, allowed: Allowed) -> list[Mount]:
    """The mount of a shared file system, always at SHARED_FS in the container."""
    if storage is None:
        return []
    return [allowed.mount("checkpoint_storage.host_path", storage.host_path, SHARED_FS, False, storage.propagation)]


def _within(path: str, prefix: str) -> bool:
    prefix = posixpath.normpath(prefix)
    return path == prefix or path.startswith(prefix.rstrip("/") + "/")


def _listed(allowed: Sequence[str]) -> str:
    return f"({', '.join(allowed) or 'there are none'})"
