"""What may name a place in a storage. Ids and paths come from clients and from tasks, and neither is trusted.

Every back end checks its ids and paths here before it uses them.
"""

from __future__ import annotations

UNFINISHED = ".partial"
"""Ends the name under which a back end keeps what is staged beside what is finished: no id may end in this."""


def check_id(storage_id: str) -> str:
    """`storage_id`, when it is one plain name. Raises ValueError otherwise."""
    plain = storage_id not in ("", ".", "..") and not {"/", "\0"} & set(storage_id)
    if not plain or storage_id.endswith(UNFINISHED):
        raise ValueError(f"checkpoint id: expected a uuid, found {storage_id!r}")
    return storage_id


def check_path(path: str) -> str:
    """`path`, when it is relative and stays below the place it is relative to. Raises ValueError otherwise."""
    parts = path.removesuffix("/").split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ValueError(f"path: expected a plain path inside the checkpoint; found {path!r}")
    return path


def event_files(cluster_id: str, experiment_id: int) -> str:
    """Where the TensorBoard files of an experiment lie, beside the checkpoints.

    Several clusters may keep theirs in one storage, and all of them number their experiments from 1.
    """
    return f"{cluster_id}/tensorboard/experiment/{experiment_id}"
