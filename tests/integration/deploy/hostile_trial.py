"""A trial that looks for whatever it could take or break, and writes down what it got."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import socket

WANTED = ("RESOLUTE_CLUSTER_SECRET", "RESOLUTE_API_SECRET", "RESOLUTE_DATABASE_URL")


def environments(own: str) -> list[str]:
    """Processes of the cluster, and of others' tasks, whose environment can be read."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        variables = dict(line.partition("=")[::2] for line in told if line)
        task = variables.get("DET_RESOURCES_ID")
        if (task and task != own) or any(name in variables for name in WANTED):
            found.append(folder.name)
    return found


def readable(folder: pathlib.Path) -> list[str]:
    found = []
    for root, _, files in os.walk(folder):
        for name in files:
            try:
                with open(os.path.join(root, name), "rb") as file:
                    file.read(1)
            except OSError:
                continue
            found.append(os.path.join(root, name))
    return found


def secrets(data: pathlib.Path) -> list[str]:
    """Of the cluster's own files, those that hold a secret and can be read."""
    files = [data / "cluster.json", data / "run" / "plan.json"]
    listed = [file for folder in ("secrets", "run", "postgres") for file in readable(data / folder)]
    return [*listed, *(str(file) for file in files if os.access(file, os.R_OK))]


def ended(pids: list[int]) -> list[int]:
    """The processes that this one may end, without ending them."""
    found = []
    for pid in pids:
        try:
            os.kill(pid, 0)
        except OSError:
            continue
        found.append(pid)
    return found


def others(own: str) -> list[int]:
    """Every process that is not of this task's own session or above it."""
    mine = {os.getpid(), os.getppid()}
    return [int(folder.name) for folder in pathlib.Path("/proc").glob("[0-9]*") if int(folder.name) not in mine | {1}]


def postgres(folder: str) -> str:
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(f"{folder}/.s.PGSQL.5432")
    except OSError:
        return ""
    return "connected"


def checkpoint(data: pathlib.Path) -> str:
    try:
        (data / "storage" / "mine").write_text("weights")
    except OSError as error:
        return str(error)
    return "written"


def main() -> None:
    data, found = pathlib.Path(os.environ["DATA"]), pathlib.Path(os.environ["FOUND"])
    pid, run_dir = (found / "victim").read_text().split()
    own = os.environ["DET_RESOURCES_ID"]
    report = {
        "uid": os.getuid(),
        "environments": environments(own),
        "secrets": secrets(data),
        "opened": readable(pathlib.Path(run_dir).parent),
        "ended": ended([int(pid)]),
        "endable": len(ended(others(own))),
        "postgres": postgres(os.environ["SOCKETS"]),
        "checkpoint": checkpoint(data),
        "warm": signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
    }
    (found / "attack.new").write_text(json.dumps(report))
    (found / "attack.new").rename(found / "attack.json")


if __name__ == "__main__":
    main()
