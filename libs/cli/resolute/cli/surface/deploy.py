"""`det deploy`: a cluster on this machine."""

from __future__ import annotations

from argparse import SUPPRESS
from pathlib import Path

from resolute.cli.surface.common import JSON
from resolute.cli.tree import Arg, Command, OneOf, arg, flag, one_of

_CLUSTER_NAME = arg("--cluster-name", default="determined", help="which cluster, if there are several")
_DATA_DIR = arg("--data-dir", type=Path, help="where the cluster keeps everything it remembers")
_PORT = arg("--master-port", type=int, help="port that the master listens on: 8080, or as its configuration says")
_RUNTIME = arg(
    "--runtime", choices=("process", "docker"), default="process", help="run trials as processes or in containers"
)
_SLOTS = arg("--slots", type=int, help="slots that each agent offers; counted from the host when left out")
_DELETE_DB = flag("--delete-db", help="forget everything the cluster remembers")
_GPU = (
    flag("--gpu", dest="gpu", default=None, help="offer the GPUs of this host, and refuse to start without one"),
    arg("--no-gpu", dest="gpu", action="store_false", default=None, help="offer CPUs only"),
)
_NO_AUTORESTART = flag("--no-autorestart", help="leave what stops by itself stopped")
_REPLICAS = arg(
    "--replicas",
    action="append",
    default=[],
    metavar="SERVICE=N",
    help="so many processes of a service: api, directory, searcher, scheduler, checkpoint, relay; may be repeated",
)
_METRICS_PORT = arg(
    "--metrics-port",
    type=int,
    metavar="PORT",
    help="first port of the processes' metrics, one for each; else free ones, which `status` shows",
)
_UNUSED = (
    # Accepted so that existing scripts go on working; there is one version, and the database has no port.
    arg("--det-version", help=SUPPRESS),
    arg("--db-password", default="postgres", help=SUPPRESS),
    flag("--enterprise-edition", help=SUPPRESS),
)

_MASTER: tuple[Arg | OneOf, ...] = (
    one_of(
        arg("--master-config-path", type=Path, help="master configuration (YAML)"),
        arg("--storage-host-path", type=Path, help="directory for checkpoints"),
    ),
    arg("--initial-user-password", help="password for the users admin and determined"),
    _PORT,
    _CLUSTER_NAME,
    _DATA_DIR,
    _DELETE_DB,
    _NO_AUTORESTART,
    _REPLICAS,
    _METRICS_PORT,
    arg("--auto-work-dir", type=Path, help="working directory of tasks that name none"),
    *_UNUSED,
)

_LOCAL = Command(
    "local",
    "manage a cluster on this machine",
    commands=(
        Command(
            "cluster-up",
            "start a cluster",
            run="deploy:cluster_up",
            args=(
                *_MASTER,
                arg("--agents", type=int, default=1, help="how many agents"),
                _SLOTS,
                _RUNTIME,
                *_GPU,
            ),
        ),
        Command(
            "cluster-down", "stop a cluster", run="deploy:cluster_down", args=(_CLUSTER_NAME, _DATA_DIR, _DELETE_DB)
        ),
        Command(
            "master-up",
            "start a master",
            run="deploy:master_up",
            args=(*_MASTER, arg("--master-name", help=SUPPRESS), arg("--image-repo-prefix", help=SUPPRESS)),
        ),
        Command(
            "master-down",
            "stop a master",
            run="deploy:cluster_down",
            args=(_CLUSTER_NAME, _DATA_DIR, _DELETE_DB, arg("--master-name", help=SUPPRESS)),
        ),
        Command(
            "agent-up",
            "start an agent",
            run="deploy:agent_up",
            args=(
                arg("master_host", help="host of the master"),
                _PORT,
                arg("--agent-config-path", type=Path, help="agent configuration (YAML)"),
                arg("--agent-name", default="det-agent-vm", help="name of the agent"),
                arg("--agent-resource-pool", help="pool to offer the slots to"),
                *_GPU,
                _NO_AUTORESTART,
                _CLUSTER_NAME,
                _DATA_DIR,
                _SLOTS,
                _RUNTIME,
                arg("--image-repo-prefix", help=SUPPRESS),
                *_UNUSED,
            ),
        ),
        Command(
            "agent-down",
            "stop an agent",
            run="deploy:agent_down",
            args=(
                arg("--agent-name", default="det-agent-vm", help="name of the agent"),
                flag("--all", help="every agent of the cluster on this host"),
                _CLUSTER_NAME,
                _DATA_DIR,
            ),
        ),
        Command(
            "status",
            "show the status of a cluster",
            run="deploy:status_",
            args=(_CLUSTER_NAME, _DATA_DIR, JSON),
        ),
        Command(
            "logs",
            "show the logs of a cluster",
            run="deploy:logs_",
            args=(_CLUSTER_NAME, _DATA_DIR, flag("--no-follow", help="print what there is, and stop")),
        ),
    ),
)

DEPLOY = Command(
    "deploy",
    "manage deployments",
    aliases=("d",),
    args=(
        flag("--no-preflight-checks", help=SUPPRESS),
        flag("--no-wait-for-master", help="return without waiting until the master answers"),
        arg("--image-repo-prefix", default="determinedai", help=SUPPRESS),
    ),
    commands=(_LOCAL,),
)

OF_DET = (DEPLOY,)
