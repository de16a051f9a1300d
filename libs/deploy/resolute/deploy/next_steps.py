"""What a person does first with a cluster that has just come up: a page to open, or three commands and what `det` must
know for them."""

from __future__ import annotations

import shlex

from resolute.deploy import certificates
from resolute.deploy.args import ClusterUp
from resolute.deploy.cluster import Cluster

USUAL_ADDRESSES = ("http://127.0.0.1:8080", "http://localhost:8080")
"""Where `det` looks for a master when no other address is given."""

PAGE = "/det/"
"""Where the gateway has its web UI."""


def next_steps(cluster: Cluster, asked: ClusterUp) -> str:
    which = _which(asked)
    commands = (
        ("det user login determined", "sign in"),
        ("det experiment create CONFIG.yaml DIRECTORY -f", "train a model of yours, and follow its log"),
        (f"det deploy local status{which}", "see what runs, and where its metrics are"),
    )
    width = max(len(command) for command, _ in commands)
    lines = [f"  {command:<{width}}  # {what}" for command, what in commands]
    first = f"What to do next: sign in as determined at {cluster.url}{PAGE} in a browser, or type"
    return "\n".join([first, *(f"  export {one}" for one in _exports(cluster)), *lines])


def _which(asked: ClusterUp) -> str:
    """The option by which later commands find this cluster; none for the usual one."""
    if asked.data_dir is not None:
        return f" --data-dir {shlex.quote(str(asked.data_dir))}"
    usual = asked.cluster_name == ClusterUp().cluster_name
    return "" if usual else f" --cluster-name {shlex.quote(asked.cluster_name)}"


def _exports(cluster: Cluster) -> list[str]:
    """Variables without which `det` would not find the gateway, or not trust it."""
    found = [] if cluster.url in USUAL_ADDRESSES else [f"DET_MASTER={cluster.url}"]
    cert = cluster.tls_cert
    if cert is not None and cert.is_file() and certificates.is_self_signed(cert):
        found.append(f"DET_MASTER_CERT_FILE={shlex.quote(str(cert))}")
    return found
