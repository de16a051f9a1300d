"""A task's container as the API of the Docker engine takes it."""

from __future__ import annotations

import io
import math
import tarfile
from collections.abc import Mapping, Sequence
from typing import Any

from resolute.agent.container_files import SHIM
from resolute.agent.container_spec import FILES_DIR, MASTER_CERT, RUN_DIR, WORK_DIR, Container, Device, Mount
from resolute.agent.runtime import Launch
from resolute.proto.experiment import AgentUser

UNLIMITED = "1p"
"""How much of a task's output the engine keeps. The agent may have to read it again from the beginning, so nothing of
it may be dropped."""


def config(
    launch: Launch, container: Container, image: Mapping[str, Any], files_volume: str, grace_s: float
) -> dict[str, Any]:
    """For `POST /containers/create`. `image`: the configuration of its image; `files_volume`: the volume with the
    harness and the shim.

    The image's own entrypoint runs as it would with `docker run`, with the task as its command; the shim runs both.
    """
    bridged = container.network not in ("host", "none") and not container.network.startswith("container:")
    return {
        "Image": container.image,
        "Entrypoint": ["python3", "-I", "-S", f"{FILES_DIR}/{SHIM}", str(grace_s)],
        "Cmd": [*(image.get("Entrypoint") or ()), *launch.command],
        "Env": _environment(launch.environment, container, image),
        "Labels": dict(container.labels),
        "WorkingDir": container.work_dir,
        "User": f"{container.user.uid}:{container.user.gid}" if container.user else "",
        "ExposedPorts": {f"{port}/tcp": {} for port in container.ports} if bridged else {},
        "StopTimeout": math.ceil(grace_s) + 1,
        "HostConfig": _host(container, files_volume, bridged),
    }


def _environment(own: Mapping[str, str], container: Container, image: Mapping[str, Any]) -> list[str]:
    of_image = dict(entry.partition("=")[::2] for entry in image.get("Env") or ())
    found = dict(own)
    if of_image.get("PYTHONPATH"):
        found["PYTHONPATH"] = ":".join(filter(None, [own.get("PYTHONPATH", ""), of_image["PYTHONPATH"]]))
    if not container.gpus:
        # When NVIDIA's runtime is the default, a container whose image does not set this variable sees all GPUs.
        found["NVIDIA_VISIBLE_DEVICES"] = "void"
    if container.user is not None:
        # The image has neither a name nor a home directory for that user id.
        name = name_of(container.user)
        found = {"HOME": WORK_DIR, "USER": name, "LOGNAME": name, **found}
    return [f"{name}={value}" for name, value in found.items()]


def _host(container: Container, files_volume: str, bridged: bool) -> dict[str, Any]:
    ports = container.ports if bridged and container.publish_at else ()
    own = Mount(files_volume, FILES_DIR, read_only=True, volume=True)
    return {
        "NetworkMode": container.network,
        "PortBindings": {f"{n}/tcp": [{"HostIp": container.publish_at, "HostPort": str(n)}] for n in ports},
        "Mounts": [mount(one) for one in (own, *container.mounts)],
        "Devices": [_device(device) for device in container.devices],
        "DeviceRequests": _gpus(container.gpus),
        "CapAdd": list(container.add_capabilities),
        "CapDrop": list(container.drop_capabilities),
        "SecurityOpt": [] if container.new_privileges else ["no-new-privileges"],
        "ShmSize": container.shm_bytes,
        "Memory": container.memory_bytes or 0,
        "MemorySwap": container.memory_bytes or 0,
        "NanoCpus": int((container.cpus or 0) * 1e9),
        "PidsLimit": container.processes,
        "LogConfig": {"Type": "json-file", "Config": {"max-size": UNLIMITED}},
    }


def mount(what: Mount) -> dict[str, Any]:
    if what.volume:
        kind: dict[str, Any] = {"Type": "volume", "VolumeOptions": {"NoCopy": True}}
    else:
        kind = {"Type": "bind", "BindOptions": {"Propagation": what.propagation}}
    return {**kind, "Source": what.source, "Target": what.target, "ReadOnly": what.read_only}


def _device(device: Device) -> dict[str, str]:
    return {
        "PathOnHost": device.host_path,
        "PathInContainer": device.container_path,
        "CgroupPermissions": device.mode,
    }


def _gpus(uuids: Sequence[str]) -> list[dict[str, Any]]:
    return [{"Driver": "nvidia", "DeviceIDs": list(uuids), "Capabilities": [["gpu"]]}] if uuids else []


def run_directory(
    user: AgentUser | None, trusted: str = "", image_user: str = "", files: Mapping[str, str] | None = None
) -> bytes:
    """The run directory of the task, as an archive that is unpacked at the container's root before its start.

    With `user` it has the names of that user and group as well, where images of Determined look for them
    (libnss_determined). `trusted`: the certificate with which the task verifies the gateway. `image_user`: the user of
    the image, as which the task runs without `user`. Its id is known only inside of the image, so the directory is open
    to all users; there are no others in the container. `files`: further files of the directory, by name.
    """
    packed = io.BytesIO()
    uid, gid = (user.uid, user.gid) if user else (0, 0)
    mode = 0o700 if user or image_user.partition(":")[0] in ("", "0", "root") else 0o777
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in (RUN_DIR, WORK_DIR):
            member = tarfile.TarInfo(path.lstrip("/"))
            member.type, member.mode, member.uid, member.gid = tarfile.DIRTYPE, mode, uid, gid
            tar.addfile(member)
        certificate = {MASTER_CERT: trusted} if trusted else {}
        accounts = {f"{RUN_DIR}/etc/{name}": text for name, text in (_accounts(user) if user else {}).items()}
        given = {f"{RUN_DIR}/{name}": text for name, text in (files or {}).items()}
        for path, text in {**certificate, **accounts, **given}.items():
            data, member = text.encode(), tarfile.TarInfo(path.lstrip("/"))
            member.size, member.mode = len(data), 0o644
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _accounts(user: AgentUser) -> dict[str, str]:
    name, group = name_of(user), user.group or str(user.gid)
    return {
        "passwd": f"{name}:x:{user.uid}:{user.gid}::{WORK_DIR}:/bin/bash\n",
        "shadow": f"{name}:!!:::::::\n",
        "group": f"{group}:x:{user.gid}:\n",
    }


def name_of(user: AgentUser) -> str:
    return user.user or str(user.uid)
