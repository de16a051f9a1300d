"""The first start of a cluster in containers: makes its identity, secrets, keys and certificates.

`python -m resolute.deploy.first_start FOLDER DATA` makes what is missing and leaves what is there, so it may run at
each start. `FOLDER/authority` holds everything, and only this program reads it. Every other folder is an excerpt for
one kind of reader, written anew each time, and is mounted into that reader's containers alone.

| folder | holds | for |
|---|---|---|
| `authority` | the cluster's identity, all secrets, the certificate authority's key | this program |
| `services` | the database's address and password, the services' nkey, the cluster's secret | the services |
| `gateway` | the same, the gateway's certificate and key, the first users' password | the gateways |
| `postgres` | the database's password | Postgres |
| `nats` | nats-server's configuration: public keys only; its own certificate and key | NATS |
| `agents` | the agents' nkeys, the cluster's id, the metrics token | agents |
| `metrics` | the metrics token | Prometheus |
| `grafana` | the password of Grafana's `admin` | Grafana |
| `trust` | the authority's certificate | agents, and clients of the gateway |

Every client of NATS has the authority's certificate too. The folders in `DATA`, in which the other containers keep
their data, are given to the users of those containers.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import Field, SecretStr, TypeAdapter
from pydantic_settings import BaseSettings, SettingsConfigDict

from resolute.bus import roles
from resolute.deploy import certificates
from resolute.deploy.paths import write_private
from resolute.proto.errors import ResoluteError
from resolute.service import metrics_token

SERVICES_UID, POSTGRES_UID, NATS_UID = 10001, 999, 10002
PROMETHEUS_UID, GRAFANA_UID = 65534, 472
"""The user and group that the containers run as, which own the files where this runs as root."""
MOUNTED_AT = Path("/run/resolute")
"""The folder in which a container finds its excerpt, under the excerpt's name."""
CHECKPOINTS = "/checkpoints"
DATA = {
    "database": (POSTGRES_UID, 0o700),
    "bus": (NATS_UID, 0o700),
    "agents": (SERVICES_UID, 0o700),
    "sealing": (SERVICES_UID, 0o700),  # the gateways make the first key there, and rotate it
    "checkpoints": (0, 0o1777),  # trials write there as the user of their image or of their agent
}
MEASURED = ("relay", "directory", "searcher", "tasks", "scheduler", "checkpoint", "api", "agent")
"""The services of the compose file that serve metrics; each name has an address for each replica."""
PAYLOAD_BYTES_MAX = 8 * 1024 * 1024


class FirstStartSettings(BaseSettings):
    """From `RESOLUTE_COMPOSE_*`."""

    model_config = SettingsConfigDict(env_prefix="RESOLUTE_COMPOSE_", frozen=True)

    cluster_name: str = "resolute"
    hostnames: str = ""
    """Further names and addresses by which people call the gateway, with commas between."""
    agents: int = Field(default=4, ge=1, le=1000)
    """How many agents there may be: NATS lets in those it knows the keys of."""
    initial_user_password: SecretStr = SecretStr("")
    """Of `admin` and `determined`; made up where it is empty."""

    @property
    def names(self) -> list[str]:
        return [name.strip() for name in self.hostnames.split(",") if name.strip()]


@dataclass(frozen=True, slots=True)
class Identity:
    """The parts of a cluster that are generated once and never change."""

    cluster_id: str
    cluster_secret: str = field(repr=False)
    database_password: str = field(repr=False)
    user_password: str = field(repr=False)
    service_seed: str = field(repr=False)
    agent_seeds: Mapping[str, str] = field(default_factory=dict, repr=False)
    metrics_token: str = field(default_factory=metrics_token.new, repr=False)
    grafana_password: str = field(default_factory=lambda: secrets.token_urlsafe(12), repr=False)


def main(folder: Path, data: Path, settings: FirstStartSettings) -> None:
    authority = folder / "authority"
    _folder(authority, uid=0)
    identity = identity_of(authority / "identity.json", settings)
    names = ["localhost", "127.0.0.1", "::1", "gateway", "api", *settings.names]
    certificates.ensure_authority(authority, settings.cluster_name)
    certificates.ensure_certificate(authority, "gateway", names)
    # Browsers never see the certificate of NATS, and do not limit its lifetime: a NATS that is up for years needs no
    # new one.
    certificates.ensure_certificate(authority, "nats", ["nats"], days=certificates.AUTHORITY_DAYS)
    for name, (uid, files) in excerpts(identity, settings, authority).items():
        _folder(folder / name, uid)
        for file, text in files.items():
            _give(folder / name / file, text, uid)
    for name, (uid, mode) in DATA.items():
        _folder(data / name, uid, mode)


def identity_of(file: Path, settings: FirstStartSettings) -> Identity:
    """The one in `file`; made there the first time. More agents than there were get keys of their own."""
    known = TypeAdapter(Identity).validate_json(file.read_bytes()) if file.exists() else new_identity(settings)
    names = [f"agent-{number}" for number in range(1, settings.agents + 1)]
    seeds = {**known.agent_seeds, **{name: roles.new_key().seed for name in names if name not in known.agent_seeds}}
    identity = Identity(**{**asdict(known), "agent_seeds": seeds})
    write_private(file, json.dumps(asdict(identity), indent=1))
    return identity


def new_identity(settings: FirstStartSettings) -> Identity:
    return Identity(
        cluster_id=str(uuid4()),
        cluster_secret=secrets.token_urlsafe(32),
        database_password=secrets.token_urlsafe(24),
        user_password=settings.initial_user_password.get_secret_value() or secrets.token_urlsafe(12),
        service_seed=roles.new_key().seed,
    )


def excerpts(
    identity: Identity, settings: FirstStartSettings, authority: Path
) -> dict[str, tuple[int, dict[str, str]]]:
    """By folder: whose it is, and its files."""
    shared = services_config(identity, settings)
    gateway = MOUNTED_AT / "gateway"
    api = {
        "host": "0.0.0.0",  # of its container
        "port": 8080,
        "tls_cert": str(gateway / "tls.crt"),
        "tls_key": str(gateway / "tls.key"),
        "initial_user_password": identity.user_password,
        "sealing_keys": str(MOUNTED_AT / "sealing" / "keys"),
        "metrics_targets_file": str(gateway / "metrics.json"),
        "checkpoint_storage": {"type": "shared_fs", "host_path": CHECKPOINTS},
    }
    trusted = (authority / certificates.AUTHORITY).read_text()
    for_each = {
        "service.seed": identity.service_seed,
        "ca.crt": trusted,
        "metrics.token": identity.metrics_token,
    }
    return {
        "services": (SERVICES_UID, {"config.yaml": _json(shared | _files_in("services")), **for_each}),
        "gateway": (
            SERVICES_UID,
            {
                "config.yaml": _json({**shared, **_files_in("gateway"), "api": api}),
                "metrics.json": _json(metrics_targets()),
                "tls.crt": (authority / "gateway.crt").read_text(),
                "tls.key": (authority / "gateway.key").read_text(),
                "password": identity.user_password,
                **for_each,
            },
        ),
        "postgres": (POSTGRES_UID, {"password": identity.database_password}),
        "nats": (
            NATS_UID,
            {
                "nats.conf": nats_config(identity),
                "tls.crt": (authority / "nats.crt").read_text(),
                "tls.key": (authority / "nats.key").read_text(),
            },
        ),
        "agents": (SERVICES_UID, {**agent_files(identity), "cluster.json": _json({"id": identity.cluster_id})}),
        "metrics": (PROMETHEUS_UID, {"token": identity.metrics_token}),
        "grafana": (GRAFANA_UID, {"password": identity.grafana_password}),
        "trust": (SERVICES_UID, {"ca.crt": trusted}),
    }


def services_config(identity: Identity, settings: FirstStartSettings) -> dict[str, Any]:
    """What `RESOLUTE_CONFIG` names: YAML, of which JSON is a part."""
    return {
        "database_url": f"postgresql://resolute:{identity.database_password}@postgres:5432/resolute",
        "nats_url": "nats://nats:4222",
        "cluster_name": settings.cluster_name,
        "cluster_id": identity.cluster_id,
        "cluster_secret": identity.cluster_secret,
        "log_format": "json",
        "health_host": "0.0.0.0",
        "health_port": 9090,
    }


def _files_in(folder: str) -> dict[str, str]:
    at = MOUNTED_AT / folder
    return {
        "nats_seed_file": str(at / "service.seed"),
        "nats_ca_file": str(at / "ca.crt"),
        "metrics_token_file": str(at / "metrics.token"),
    }


def metrics_targets() -> list[dict[str, Any]]:
    """The file with the addresses of metrics that the gateway shows: see `resolute.api.metrics_targets`."""
    return [{"process": name, "address": f"{name}:9090", "each_address": True} for name in MEASURED]


def agent_files(identity: Identity) -> dict[str, str]:
    seeds = {f"{name}.seed": seed for name, seed in identity.agent_seeds.items()}
    return {**seeds, "metrics.token": identity.metrics_token}


def nats_config(identity: Identity) -> str:
    at = MOUNTED_AT / "nats"
    agents = {name: roles.key_of(seed).public for name, seed in identity.agent_seeds.items()}
    return (
        "listen: 0.0.0.0:4222\nhttp: 127.0.0.1:8222\nserver_name: resolute\n"
        f"max_payload: {PAYLOAD_BYTES_MAX}\n"
        f'tls {{ cert_file: "{at}/tls.crt", key_file: "{at}/tls.key", handshake_first: true }}\n'
        "jetstream { store_dir: /data, max_memory_store: 16MB, max_file_store: 1GB }\n"
        + roles.authorization(roles.key_of(identity.service_seed).public, agents)
    )


def _json(document: Any) -> str:
    return json.dumps(document, indent=1) + "\n"


def _folder(folder: Path, uid: int, mode: int = 0o700) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755 if folder.name == "trust" else mode)
    _hand_over(folder, uid)


def _give(file: Path, text: str, uid: int) -> None:
    if not file.exists() or file.read_text() != text:
        write_private(file, text)
    # Each time: an earlier start may have been cut off between writing the file and giving it away.
    file.chmod(0o444 if file.parent.name == "trust" else 0o400)
    _hand_over(file, uid)


def _hand_over(path: Path, uid: int) -> None:
    if os.geteuid() == 0:
        shutil.chown(path, uid, uid)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), FirstStartSettings())
    except ResoluteError as problem:
        sys.exit(f"first start: {problem.message}")
