"""Writes docs/reference/master-config.md: each key of Determined's master.yaml, and whether it works here.

`python docs/master_config.py`. The keys of release 0.38.1 are in `master_keys.txt`, a line each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from resolute.config.master import fields_of
from resolute.config.unsupported import RENAMED, Unsupported, entry_for

FOLDER = Path(__file__).parent
KEYS = tuple(FOLDER.joinpath("master_keys.txt").read_text().split())
PAGE = FOLDER / "reference" / "master-config.md"

PASSED_ON = ("checkpoint_storage",)
"""Sections that are read by the code that reads experiments' configurations."""
CONTAINERS = {
    f"task_container_defaults.{name}"
    for name in (
        *("image", "registry_auth", "force_pull_image", "add_capabilities", "drop_capabilities"),
        *("devices", "bind_mounts", "shm_size_bytes"),
    )
}
NOTES = {
    "port": "`--master-port` goes before it; 0 is 8080, or 8443 with a certificate",
    "cluster_name": "what people see; `--cluster-name` names the data directory",
    "launch_error": "`false`: what no agent of today can hold is accepted, with a launch warning",
    "log.level": "`debug`, `info`, `warn` or `error`",
    "db.host": "a PostgreSQL 18 that is there already; without `db` the cluster runs its own",
    "security.default_task.user": "without it each user's tasks run as a user made for them, or as their image says",
    "security.authz.type": "`rbac`: users may do what their roles permit (see the page on roles)",
    "security.authz.strict_job_queue_control": "with `type: rbac`: only cluster administrators change the queue",
    "security.authz.rbac_ui_enabled": "whether clients show roles; without it they do where `type` is `rbac`",
    "security.authz.workspace_creator_assign_role.role_id": "one of the roles that can be held on a workspace",
    "security.token.default_lifespan_days": "of access tokens whose creation names no lifespan",
    "security.token.max_lifespan_days": "-1: no limit",
    "security.tls.cert": "with `key`: the gateway speaks TLS, and nothing else",
    "task_container_defaults.startup_hook": "runs in every task before its own `startup-hook.sh`",
    "task_container_defaults.network_mode": "`bridge`: a network of the cluster's own; others need `--runtime docker`",
    "resource_manager.type": "`agent`",
    "resource_pools[].provider.type": "`local`, which Determined does not have",
    "resource_pools[].task_container_defaults": "the same keys as at the top",
    "checkpoint_storage": "`shared_fs` and `directory`, with all keys of an experiment's `checkpoint_storage`",
}


def known(path: str) -> bool:
    """Whether the cluster reads the key."""
    section, _, name = path.rpartition(".")
    return name in fields_of(section) or path in PASSED_ON


def refused(path: str) -> Unsupported | None:
    """The entry of the key, or that of the section which it is in."""
    while path:
        if (entry := entry_for(path.removesuffix("[]"))) is not None:
            return entry
        path = path.rpartition(".")[0]
    return None


def row(path: str) -> str:
    if (entry := refused(path)) is not None:
        harmless = ", ".join(f"`{_yaml(value)}`" for value in entry.harmless if value not in ([], {}, ""))
        why = entry.why[:1].upper() + entry.why[1:]
        return f"| `{path}` | refused{f', but for {harmless}' if harmless else ''} | {why} |"
    if path in RENAMED:
        return f"| `{path}` | works | former name of `{RENAMED[path]}` |"
    note = NOTES.get(path, "needs `--runtime docker`" if path in CONTAINERS else "")
    return f"| `{path}` | works | {note} |"


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def page() -> str:
    return "\n".join(
        [
            "# The master configuration, key by key",
            "",
            "Whether each key of Determined 0.38.1's `master.yaml` works in a file for",
            "`det deploy local cluster-up --master-config-path`. If the file has a key that is refused, the cluster",
            "does not start, and the message names the key and says what to do instead; values that ask for what the",
            "cluster does anyway are accepted. `null` counts as a missing key. Written by",
            "`python docs/master_config.py` from the tables that the program itself reads.",
            "",
            "Resolute has three keys of its own: `scheduler.type: fifo`, `scheduler.fair_share_groups`, and a pool's",
            "`provider` with `type: local` ([elastic pools](../guide/elastic-pools.md)).",
            "",
            "| key | here | |",
            "|---|---|---|",
            *map(row, KEYS),
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page())
