"""Which embedded clusters run on this machine, and the data directory that a command means which names none.

A supervisor's command line names its plan, and the plan lies in the data directory: so a cluster is found wherever
its data are, and no list of clusters has to be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

from resolute.deploy import cluster, processes
from resolute.deploy.args import ClusterUp
from resolute.deploy.paths import ClusterPaths
from resolute.proto.errors import Refused, ResoluteError

SUPERVISOR = "resolute.deploy.supervisor"


def find(cluster_name: str, data_dir: Path | None) -> ClusterPaths:
    """The directory that is named; else that of the cluster of this name, wherever it runs; else, for the usual name,
    that of the only cluster that runs here; else the usual directory, whether there is a cluster in it or not.

    Raises Refused where several run that could be meant.
    """
    usual = ClusterPaths.of(cluster_name, data_dir)
    if data_dir is not None or processes.supervisor_pid(usual) is not None:
        return usual
    known = list(clusters())
    meant = [paths for name, paths in known if name == cluster_name]
    if not meant and cluster_name == ClusterUp().cluster_name:
        meant = [paths for _, paths in known]
    if len(meant) > 1:
        listed = ", ".join(sorted(str(paths.root) for paths in meant))
        raise Refused(f"several clusters run here; name the directory of one with --data-dir: {listed}")
    return meant[0] if meant else usual


def clusters() -> Iterator[tuple[str, ClusterPaths]]:
    """Names and places of the clusters that run here, as far as this user may read them."""
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if SUPERVISOR in words[1:3]:
            paths = ClusterPaths(Path(words[words.index(SUPERVISOR) + 1]).parent.parent)
            if (name := _name(paths, process.pid)) is not None:
                yield name, paths


def _name(paths: ClusterPaths, pid: int) -> str | None:
    """The name of the cluster that this supervisor keeps; None where its directory says otherwise, or nothing."""
    try:
        known = cluster.load(paths) if processes.supervisor_pid(paths) == pid else None
    except (OSError, ResoluteError):
        return None
    return known.name if known is not None else None
