"""The first thing an agent's container does: be one of the cluster's agents, give up being root, and become the agent.

The keys of all possible agents are in one folder. The container becomes the first agent that no other container on this
host is. A lock on a file beside the key shows which are taken; the kernel releases it when the container ends.

Docker's socket belongs to a group whose number differs from host to host. So the container starts as root, looks which
group owns the socket, and continues as an unprivileged user in that group.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from resolute.proto.errors import Refused, ResoluteError

KEYS = Path("/run/resolute/agents")
TRUSTED = Path("/run/resolute/trust/ca.crt")
WORK = Path("/var/lib/resolute")
SOCKET = Path("/var/run/docker.sock")
UID = 10001


def main() -> None:
    become_nobody_in_particular()
    name = claim(KEYS, WORK)
    cluster_id = json.loads((KEYS / "cluster.json").read_text())["id"]
    command = [sys.executable, "-m", "resolute.agent"]
    os.execve(command[0], command, {**settings_of(name, cluster_id), **os.environ})


def settings_of(name: str, cluster_id: str) -> Mapping[str, str]:
    """The agent's environment, unless variables of the container override it."""
    return {
        "RESOLUTE_AGENT_ID": name,
        "RESOLUTE_AGENT_CLUSTER_ID": cluster_id,
        "RESOLUTE_AGENT_NATS_URL": "nats://nats:4222",
        "RESOLUTE_AGENT_NATS_SEED_FILE": str(KEYS / f"{name}.seed"),
        "RESOLUTE_AGENT_NATS_CA_FILE": str(TRUSTED),
        "RESOLUTE_AGENT_MASTER_URL": "https://gateway:8080",
        "RESOLUTE_AGENT_MASTER_CERT_FILE": str(TRUSTED),
        "RESOLUTE_AGENT_WORK_DIR": str(WORK / name),
        "RESOLUTE_AGENT_RUNTIME": "docker",
        "RESOLUTE_AGENT_LOG_FORMAT": "json",
        "RESOLUTE_AGENT_METRICS_TOKEN_FILE": str(KEYS / "metrics.token"),
    }


def claim(keys: Path, work: Path) -> str:
    """The first agent that no container is. Its lock is held for as long as this process and what it becomes live.

    Raises Refused when all are taken.
    """
    names = sorted((file.stem for file in keys.glob("*.seed")), key=_by_number)
    for name in names:
        lock = os.open(work / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        os.set_inheritable(lock, True)
        return name
    raise Refused(
        f"there are {len(names)} agents on this host already, and as many keys; RESOLUTE_COMPOSE_AGENTS makes more"
    )


def become_nobody_in_particular() -> None:
    """Has no effect where this process is not root."""
    if os.geteuid() != 0:
        return
    groups = [SOCKET.stat().st_gid] if SOCKET.exists() else []
    os.setgroups(groups)
    os.setgid(UID)
    os.setuid(UID)


def _by_number(name: str) -> tuple[int, str]:
    number = re.search(r"(\d+)$", name)
    return (int(number[1]) if number else 0, name)


if __name__ == "__main__":
    try:
        main()
    except ResoluteError as problem:
        sys.exit(f"agent: {problem.message}")
