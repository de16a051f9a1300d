"""Where checkpoints go: the fields of `checkpoint_storage` by type, and what each type requires."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from determined.common import storage as library

from .nodes import OMIT, Field, Int, Object, Status, Text
from .problems import Problems

TYPES = ("shared_fs", "directory", "s3", "gcs", "azure")

_SHARED_FS = frozenset({"shared_fs"})
_S3 = frozenset({"s3"})
_BUCKETS = frozenset({"s3", "gcs"})
_AZURE = frozenset({"azure"})


class _StorageObject(Object):
    """`checkpoint_path` was the name of `storage_path`; it is read as that."""

    def read(self, value: Any, path: str, problems: Problems) -> Any:
        read: dict[str, Any] = super().read(value, path, problems)
        former = read.pop("checkpoint_path", None)
        if former is not None:
            read.setdefault("storage_path", former)
        return read


STORAGE = _StorageObject(
    {
        "type": Field(Text(TYPES, remedies={"hdfs": "Use shared_fs over a mount, or s3, gcs, azure."})),
        "save_experiment_best": Field(Int(0), 0),
        "save_trial_best": Field(Int(0), 1),
        "save_trial_latest": Field(Int(0), 1),
        "host_path": Field(Text(), kinds=_SHARED_FS),
        "storage_path": Field(Text(), kinds=_SHARED_FS),
        "propagation": Field(Text(), "rprivate", kinds=_SHARED_FS),
        "container_path": Field(Text(), kinds=frozenset({"directory", "shared_fs"})),
        "checkpoint_path": Field(Text(), OMIT, Status.DEPRECATED, kinds=_SHARED_FS),
        "tensorboard_path": Field(Text(), status=Status.IGNORED, kinds=_SHARED_FS),
        "bucket": Field(Text(), kinds=_BUCKETS),
        "prefix": Field(Text(), kinds=_BUCKETS),
        "access_key": Field(Text(), kinds=_S3),
        "secret_key": Field(Text(), kinds=_S3),
        "endpoint_url": Field(Text(), kinds=_S3),
        "container": Field(Text(), kinds=_AZURE),
        "connection_string": Field(Text(), kinds=_AZURE),
        "account_url": Field(Text(), kinds=_AZURE),
        "credential": Field(Text(), kinds=_AZURE),
        "user": Field(Text(), status=Status.IGNORED),
    },
    kind_key="type",
)

_REQUIRED = {
    "shared_fs": "host_path",
    "directory": "container_path",
    "s3": "bucket",
    "gcs": "bucket",
    "azure": "container",
}


def clusters_storage(value: Any) -> dict[str, Any]:
    """A cluster's own `checkpoint_storage`, complete. Raises InvalidConfig for one that no experiment could use."""
    filled: dict[str, Any] = STORAGE.fill(read_storage(value, "checkpoint_storage"))
    return filled


def read_storage(value: Any, path: str) -> dict[str, Any]:
    """The storage of a cluster or a workspace, as it was said. Raises InvalidConfig for one that could not be used."""
    problems = Problems()
    storage: dict[str, Any] = STORAGE.read(value, path, problems)
    check_storage(storage, problems, path)
    kind = storage.get("type")
    if kind in TYPES and kind not in library.TYPES:
        problems.add(f"{path}.type", f"{kind} is not supported by this release. Use {' or '.join(library.TYPES)}.")
    problems.raise_if_any()
    return storage


def check_storage(storage: Mapping[str, Any], problems: Problems, path: str = "checkpoint_storage") -> None:
    """What the type requires, and that paths stay where they may."""
    kind = storage.get("type")
    if kind is None:
        problems.add(f"{path}.type", f"missing. Write one of {', '.join(TYPES)}, or let the cluster's storage apply.")
        return
    required = _REQUIRED.get(kind)
    if required and not storage.get(required):
        problems.add(f"{path}.{required}", f"missing. Storage of type {kind} needs it.")
    elif kind == "shared_fs":
        _check_shared_fs(storage, path, problems)
    elif kind == "directory" and not posixpath.isabs(storage["container_path"]):
        problems.expected(f"{path}.container_path", "an absolute path", storage["container_path"])
    if ".." in str(storage.get("prefix") or "").split("/"):
        problems.expected(f"{path}.prefix", "a prefix without '..'", storage["prefix"])
    if kind == "azure":
        _check_azure(storage, path, problems)


def _check_shared_fs(storage: Mapping[str, Any], path: str, problems: Problems) -> None:
    host_path, inner = storage["host_path"], storage.get("storage_path") or ""
    if not posixpath.isabs(host_path):
        problems.expected(f"{path}.host_path", "an absolute path", host_path)
    root = posixpath.normpath(host_path)
    whole = posixpath.normpath(posixpath.join(root, inner))
    if whole != root and not whole.startswith(root.rstrip("/") + "/"):
        problems.expected(f"{path}.storage_path", f"a path inside host_path ({host_path})", inner)


def _check_azure(storage: Mapping[str, Any], path: str, problems: Problems) -> None:
    text, account = storage.get("connection_string"), storage.get("account_url")
    if (text is None) == (account is None):
        found = "both" if text is not None else "neither"
        problems.add(path, f"expected exactly one of connection_string and account_url; found {found}.")
    if text is not None and storage.get("credential") is not None:
        problems.add(f"{path}.credential", "does not go with connection_string. Remove one.")
