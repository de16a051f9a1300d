"""How the shards of a checkpoint are merged: pure functions over the files and metadata of each rank.

A file that several ranks have with equal contents is stored once. Different contents under one name, or a file where
another rank has a folder, are a conflict. Metadata is merged key by key; unequal values are a conflict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# The files of a rank: relative path to size in bytes; folders end in a slash and have size 0.
Listing = Mapping[str, int]


def contested(listings: Sequence[Listing]) -> frozenset[str]:
    """Files that more than one rank has, whose contents have to be compared."""
    seen: set[str] = set()
    twice: set[str] = set()
    for listing in listings:
        files = {path for path in listing if not path.endswith("/")}
        twice |= seen & files
        seen |= files
    return frozenset(twice)


def owners(listings: Sequence[Listing]) -> dict[str, int]:
    """The rank that stores each path: the lowest that has it."""
    owner: dict[str, int] = {}
    for rank, listing in enumerate(listings):
        for path in listing:
            owner.setdefault(path, rank)
    return owner


def file_conflicts(listings: Sequence[Listing], digests: Sequence[Mapping[str, str]]) -> dict[str, list[int]]:
    """Paths that cannot be merged, with the ranks that have them.

    `digests` has, per rank, a digest of the contents of each contested file of that rank.
    """
    ranks_of: dict[str, list[int]] = {}
    for rank, listing in enumerate(listings):
        for path in listing:
            ranks_of.setdefault(path, []).append(rank)
    conflicts: dict[str, list[int]] = {}
    for path, ranks in ranks_of.items():
        if path.endswith("/"):
            continue
        contents = {digests[rank][path] for rank in ranks if path in digests[rank]}
        folder_ranks = ranks_of.get(path + "/", [])
        if len(contents) > 1 or folder_ranks:
            conflicts[path] = sorted({*ranks, *folder_ranks})
    return conflicts


def merge_metadata(parts: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], dict[str, list[int]]]:
    """The merged metadata of all ranks, and the paths (such as /d/b) with unequal values, with the ranks that have
    them."""
    merged: dict[str, Any] = {}
    said_by: dict[str, int] = {}
    conflicts: dict[str, list[int]] = {}
    for rank, part in enumerate(parts):
        _merge_into(merged, part, "", rank, said_by, conflicts)
    return merged, conflicts


def _merge_into(
    merged: dict[str, Any],
    part: Mapping[str, Any],
    above: str,
    rank: int,
    said_by: dict[str, int],
    conflicts: dict[str, list[int]],
) -> None:
    for key, value in part.items():
        path = f"{above}/{key}"
        if key not in merged:
            said_by[path] = rank
            merged[key] = {} if isinstance(value, Mapping) else value
        if isinstance(merged[key], dict) and isinstance(value, Mapping):
            _merge_into(merged[key], value, path, rank, said_by, conflicts)
        elif merged[key] != value:
            conflicts.setdefault(path, [said_by[path]]).append(rank)


def explain(kind: str, conflicts: Mapping[str, Sequence[int]]) -> str:
    """One message naming every conflict."""
    lines = [f"  {path}: ranks {', '.join(map(str, ranks))}" for path, ranks in sorted(conflicts.items())]
    return f"the ranks' {kind} of a sharded checkpoint conflict:\n" + "\n".join(lines)


def unseen(listings: Mapping[int, Listing]) -> dict[int, list[str]]:
    """By rank, the files of a shared folder that its machine does not see, or does not see with their full size.

    `listings` has the listing of one rank of each machine.
    """
    whole: dict[str, int] = {}
    for listing in listings.values():
        for path, size in listing.items():
            whole[path] = max(size, whole.get(path, 0))
    lacking = {
        rank: [path for path, size in whole.items() if listing.get(path) != size] for rank, listing in listings.items()
    }
    return {rank: paths for rank, paths in lacking.items() if paths}


def explain_unseen(unseen: Mapping[int, Sequence[str]]) -> str:
    """One message, with a few files for each rank."""
    lines = [
        f"  rank {rank} does not see {', '.join(sorted(paths)[:3])}{' …' if len(paths) > 3 else ''}"
        for rank, paths in sorted(unseen.items())
    ]
    return (
        "the machines of this trial do not share their checkpoint storage, so no checkpoint would be whole; "
        "checkpoint_storage.host_path has to be the same shared folder on all of them:\n" + "\n".join(lines)
    )


def with_parents(paths: set[str]) -> set[str]:
    """`paths` and every folder above them."""
    complete = set(paths)
    for path in paths:
        parts = path.rstrip("/").split("/")[:-1]
        complete |= {"/".join(parts[: depth + 1]) + "/" for depth in range(len(parts))}
    return complete
