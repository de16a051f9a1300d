"""The environment a trial runs in: image, variables, ports, logins; and the mounts and devices around it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from resolute.proto.queue import MAX_SLOTS_MOST, PRIORITY_FIRST, PRIORITY_LAST, WEIGHT_MOST

from . import bounds
from .nodes import (
    MOST_EXACT,
    OMIT,
    Bool,
    Field,
    FreeObject,
    Int,
    Leaf,
    ListOf,
    MapOf,
    Node,
    Number,
    Object,
    Status,
    Text,
)
from .problems import Problems, join
from .slots import SlotsNode

DEVICES = ("cpu", "cuda", "rocm")
DEFAULT_IMAGES = {
    "cpu": "determinedai/pytorch-ngc-dev:0736b6d",
    "cuda": "determinedai/pytorch-ngc-dev:0736b6d",
    "rocm": "determinedai/environments:rocm-5.6-pytorch-1.3-tf-2.10-rocm-mpich-0736b6d",
}


class _ByDevice(Leaf):
    """One value for every kind of device, or an object by kind; `gpu` is the former name of `cuda`."""

    def __init__(self, item: Node, defaults: Mapping[str, Any]) -> None:
        self.item, self.defaults = item, defaults

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if not isinstance(value, Mapping):
            read = self.item.read(value, path, problems)
            return dict.fromkeys(DEVICES, read)
        known = Object({kind: Field(self.item) for kind in (*DEVICES, "gpu")})
        read = known.read(value, path, problems)
        if "gpu" in read:
            problems.warn(join(path, "gpu"), "is the former name of cuda")
            read.setdefault("cuda", read.pop("gpu"))
            read.pop("gpu", None)
        return read

    def fill(self, value: Any) -> Any:
        return {kind: value.get(kind, self.defaults[kind]) for kind in DEVICES}


class _Variables(Leaf):
    """A list of NAME=VALUE; NAME alone sets an empty value."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        items = ListOf(Text()).read(value, path, problems)
        if (size_bytes := sum(len(item.encode()) for item in items)) > bounds.ENVIRONMENT_BYTES_MAX:
            wanted = f"expected at most {bounds.ENVIRONMENT_BYTES_MAX:,} bytes of variables"
            problems.add(path, f"{wanted}; found {size_bytes:,}. Put large values into files of the context directory.")
        for i, item in enumerate(items):
            if item and not item.split("=", 1)[0]:
                problems.expected(f"{path}[{i}]", "NAME=VALUE", item)
        return items


class _Device(Leaf):
    """host:container[:mode], or the same as an object."""

    fields = Object(
        {"host_path": Field(Text()), "container_path": Field(Text()), "mode": Field(Text(), "mrw")},
    )

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if isinstance(value, str):
            parts = value.split(":")
            if len(parts) not in (2, 3) or not all(parts):
                problems.expected(path, "host:container or host:container:mode", value)
                return {}
            value = dict(zip(("host_path", "container_path", "mode"), parts, strict=False))
        read = self.fields.read(value, path, problems)
        require(read, ("host_path", "container_path"), path, problems)
        return self.fields.fill(read)


class _Mount(Leaf):
    fields = Object(
        {
            "host_path": Field(Text()),
            "container_path": Field(Text()),
            "read_only": Field(Bool(), False),
            "propagation": Field(Text(), "rprivate"),
        }
    )

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        read = self.fields.read(value, path, problems)
        if isinstance(value, Mapping) and require(read, ("host_path", "container_path"), path, problems):
            if not posixpath.isabs(read["host_path"]):
                problems.expected(join(path, "host_path"), "an absolute path", read["host_path"])
            if posixpath.normpath(read["container_path"]) == ".":
                problems.expected(join(path, "container_path"), "a path other than '.'", read["container_path"])
        return self.fields.fill(read)


_SIZE = re.compile(r"(\d{1,20}(?:\.\d{1,20})?)\s{0,9}([bkmgtp]?)(?:i?b)?", re.ASCII)


class _Size(Leaf):
    """Bytes, or a number with a unit (`2G`, `512 MiB`); every unit counts in powers of 1024."""

    _UNITS = "bkmgtp"

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        if isinstance(value, str):
            match = _SIZE.fullmatch(value.strip().lower())
            if match:
                return int(float(match[1]) * 1024 ** self._UNITS.index(match[2] or "b"))
            problems.expected(path, "bytes, or a number with a unit, as '4G'", value)
            return 0
        return Int(0, MOST_EXACT).read(value, path, problems)


def require(read: Mapping[str, Any], names: tuple[str, ...], path: str, problems: Problems) -> bool:
    """Report each of `names` that is missing; whether none is."""
    missing = [name for name in names if read.get(name) in (None, "")]
    for name in missing:
        problems.add(join(path, name), "missing.")
    return not missing


_PORT = Object(
    {
        "proxy_port": Field(Int(1, 65535)),
        "proxy_tcp": Field(Bool(), False),
        "unauthenticated": Field(Bool(), False),
        "default_service_id": Field(Bool(), False),
    }
)

_LOGIN = Object(
    {
        name: Field(Text(), OMIT)
        for name in (
            "username",
            "password",
            "serveraddress",
            "email",
            "auth",
            "identitytoken",
            "registrytoken",
        )
    }
)

ENVIRONMENT = Object(
    {
        "image": Field(_ByDevice(Text(), DEFAULT_IMAGES), {}),
        "environment_variables": Field(_ByDevice(_Variables(), {kind: [] for kind in DEVICES}), {}),
        "force_pull_image": Field(Bool(), False),
        "registry_auth": Field(_LOGIN),
        "pod_spec": Field(FreeObject()),
        "proxy_ports": Field(ListOf(_PORT), []),
        "ports": Field(MapOf(Int(1, 65535)), {}),
        "add_capabilities": Field(ListOf(Text()), []),
        "drop_capabilities": Field(ListOf(Text()), []),
        # Not of Determined: for an experiment what task_container_defaults has for a cluster or pool.
        "dtrain_network_interface": Field(Text()),
        "startup_hook": Field(Text(), OMIT),
    },
    remedies={"runtime": "Name an image with environment.image."},
)

BIND_MOUNTS = ListOf(_Mount())
DEVICES_OF_HOST = ListOf(_Device())
SHM_SIZE = _Size()

RESOURCES = Object(
    {
        "slots_per_trial": Field(SlotsNode(), 1),
        "max_slots": Field(Int(0, MAX_SLOTS_MOST)),
        "weight": Field(Number(above=0, most=WEIGHT_MOST), 1),
        "priority": Field(Int(PRIORITY_FIRST, PRIORITY_LAST)),
        "resource_pool": Field(Text(), ""),
        "shm_size": Field(SHM_SIZE),
        "is_single_node": Field(Bool()),
        "devices": Field(DEVICES_OF_HOST, []),
        "slots": Field(Int(0), status=Status.IGNORED),
        "native_parallel": Field(Bool(), status=Status.IGNORED),
        "agent_label": Field(Text(), status=Status.IGNORED),
    }
)
