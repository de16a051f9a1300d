"""What the cluster is made of and what it is doing: agents, slots, tasks, the queue, the master."""

from __future__ import annotations

from argparse import SUPPRESS

from resolute.cli.levels import LEVELS
from resolute.cli.surface.common import CSV, CSV_OR_JSON, JSON, JSON_OR_YAML, OF_TASKS, YAML, log_options, paging
from resolute.cli.tree import Command, arg, flag, one_of
from resolute.proto.queue import PRIORITIES

_AGENT = one_of(
    arg("agent_id", nargs="?", help="agent ID"),
    flag("--all", help="every agent"),
)
_SLOT = (arg("agent_id", help="agent ID"), arg("slot_id", type=int, help="slot ID"))

AGENTS = Command(
    "agent",
    "manage agents",
    aliases=("a",),
    default="list",
    commands=(
        Command("list", "list agents", run="agent:list_", aliases=("ls",), args=(CSV_OR_JSON,)),
        Command("enable", "enable agent", run="agent:enable", args=(_AGENT,)),
        Command(
            "disable",
            "disable agent; what runs on it is ended now, unless it is to drain",
            run="agent:disable",
            args=(_AGENT, flag("--drain", help="let running tasks finish first"), CSV_OR_JSON),
        ),
    ),
)

SLOTS = Command(
    "slot",
    "manage slots",
    aliases=("s",),
    default="list",
    commands=(
        Command("list", "list slots in cluster", run="agent:list_slots", aliases=("ls",), args=(CSV_OR_JSON,)),
        Command("enable", "enable slot on agent", run="agent:enable_slot", args=_SLOT),
        Command("disable", "disable slot on agent; what holds it is ended now", run="agent:disable_slot", args=_SLOT),
    ),
)

TASKS = Command(
    "task",
    "manage tasks",
    default="list",
    commands=(
        Command("cleanup-logs", "remove logs that were kept for long enough", run="task:clean_up_logs"),
        Command("list", "list tasks in cluster", run="task:list_", aliases=("ls",), args=(CSV_OR_JSON,)),
        Command(
            "logs",
            "fetch task logs",
            run="task:logs_",
            args=(
                arg("task_id", help="task ID, or the beginning of one that is running"),
                JSON,
                *log_options(),
                *OF_TASKS,
            ),
        ),
    ),
)

_JOB = arg("job_id", help="job ID, or the number of an experiment")

JOBS = Command(
    "job",
    "manage jobs",
    aliases=("j",),
    default="list",
    commands=(
        Command(
            "list",
            "list jobs",
            run="job:list_",
            aliases=("ls",),
            args=(
                arg("-p", "--resource-pool", help="only this pool; the default pool otherwise"),
                *paging(100),
                flag("--reverse", help="last first"),
                one_of(JSON, YAML, flag("--table", help="print as a table"), CSV),
            ),
        ),
        Command(
            "update",
            "update job",
            run="queue:update",
            aliases=("u",),
            args=(
                _JOB,
                one_of(
                    arg("-p", "--priority", type=int, help=f"new priority, {PRIORITIES}"),
                    arg("-w", "--weight", type=float, help="new weight, above 0: twice as much for twice the share"),
                    arg("--resource-pool", help="pool to move the job to"),
                    arg("--ahead-of", metavar="job_id", help="job to come before; its ID or experiment"),
                    arg("--behind-of", metavar="job_id", help="job to come after; its ID or experiment"),
                ),
            ),
        ),
        Command(
            "update-batch",
            "update jobs",
            run="queue:update_batch",
            args=(
                arg(
                    "operation",
                    nargs="+",
                    help="<job ID>.<field>=<value>, or 7.priority=10 for the job of experiment 7; fields are "
                    "priority, weight, resource-pool; all or none are made",
                ),
            ),
        ),
        Command(
            "explain",
            "explain job",
            run="queue:explain",
            args=(_JOB, JSON),
        ),
    ),
)

_TIMES = (
    arg("timestamp_after", help="from this instant on, as in 2026-01-31T12:00:00Z"),
    arg("timestamp_before", help="until this instant"),
)

RESOURCES = Command(
    "resources",
    "query historical resource allocation",
    aliases=("res",),
    commands=(
        Command("raw", "get raw allocation information", run="resources:raw", args=(*_TIMES, JSON)),
        Command(
            "allocations",
            "get allocation information as CSV",
            run="resources:allocations",
            aliases=("alloc",),
            args=_TIMES,
        ),
        Command(
            "aggregated",
            "get aggregated allocation information",
            run="resources:aggregated",
            aliases=("agg",),
            args=(
                arg("start_date", help="first day, as in 2026-01-31"),
                arg("end_date", help="last day"),
                JSON,
                flag("--monthly", help="by month rather than by day"),
            ),
        ),
    ),
)

_POOL = arg("pool_name", help="name of the resource pool")
_BINDING = (_POOL, arg("workspace_names", nargs="+", help="names of workspaces"))

RESOURCE_POOLS = Command(
    "resource-pool",
    "manage resource pools",
    aliases=("rp",),
    default="list",
    commands=(
        Command("list", "list resource pools", run="job:list_pools", aliases=("ls",), args=(CSV_OR_JSON,)),
        Command(
            "bindings",
            "manage which workspaces alone may use a resource pool",
            commands=(
                Command("add", "bind a pool to workspaces", run="resource_pool:add", args=_BINDING),
                Command("remove", "unbind a pool from workspaces", run="resource_pool:remove", args=_BINDING),
                Command("replace", "bind a pool to these workspaces only", run="resource_pool:replace", args=_BINDING),
                Command(
                    "list-workspaces",
                    "list the workspaces that a pool is bound to",
                    run="resource_pool:list_workspaces",
                    args=(_POOL,),
                ),
            ),
        ),
    ),
)

_SHOWN_AS = one_of(
    flag("--json", help="print as JSON", default=SUPPRESS), flag("--yaml", help="print as YAML", default=SUPPRESS)
)

MASTER = Command(
    "master",
    "manage master",
    commands=(
        Command("info", "fetch master info", run="master:info", args=(JSON_OR_YAML,)),
        Command(
            "config",
            "manage master config",
            default="show",
            args=(JSON_OR_YAML,),
            commands=(
                Command("show", "fetch master config", run="master:config", args=(_SHOWN_AS,)),
                Command(
                    "set",
                    "change how the gateways write their own log",
                    run="master:set_config",
                    args=(
                        arg(
                            "--log.level",
                            dest="log_level",
                            choices=LEVELS[1:],
                            help="write lines of this level and above",
                        ),
                        arg(
                            "--log.color",
                            dest="log_color",
                            choices=("on", "off"),
                            help="colours, where the log is text; JSON lines have none",
                        ),
                    ),
                ),
            ),
        ),
        Command(
            "cluster-message",
            "show everybody a message",
            commands=(
                Command("get", "get cluster-wide message", run="cluster_message:get", args=(JSON_OR_YAML,)),
                Command(
                    "set",
                    "set the cluster-wide message, in the place of the one before",
                    run="cluster_message:set_",
                    args=(
                        arg("-m", "--message", required=True, help="1 to 250 characters"),
                        arg(
                            "-s",
                            "--start",
                            help="instant to show it from on, as in 2026-01-31T12:00:00Z; now otherwise",
                        ),
                        one_of(
                            arg("-e", "--end", help="instant to show it until; until it is cleared otherwise"),
                            arg("-d", "--duration", help="how long to show it, as in 24h or 1h30m"),
                        ),
                    ),
                ),
                Command(
                    "clear",
                    "clear cluster-wide message",
                    run="cluster_message:clear",
                    args=(flag("-c", "--clear", help="clear it, as without this"),),
                ),
            ),
        ),
        Command(
            "logs",
            "fetch master logs",
            run="master:logs_",
            args=(
                flag("-f", "--follow", help="go on printing"),
                arg("--tail", type=int, metavar="N", help="only the last N lines"),
            ),
        ),
    ),
)

VERSION = Command("version", "show version information", run="master:version")

OF_DET = (AGENTS, JOBS, MASTER, RESOURCE_POOLS, RESOURCES, SLOTS, TASKS, VERSION)
