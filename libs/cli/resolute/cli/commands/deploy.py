"""A cluster on this machine: the words become plain values, and `resolute.deploy` does the work."""

from __future__ import annotations

from argparse import Namespace

from resolute.cli.errors import CliError
from resolute.deploy import args as wanted
from resolute.deploy.args import SERVICES


def cluster_up(args: Namespace) -> int:
    return _up(args, agents=args.agents)


def master_up(args: Namespace) -> int:
    args.slots, args.gpu, args.runtime = None, None, "process"
    return _up(args, agents=0)


def cluster_down(args: Namespace) -> int:
    import resolute.deploy.commands as commands

    return commands.cluster_down(wanted.ClusterDown(args.cluster_name, args.data_dir, args.delete_db))


def agent_up(args: Namespace) -> int:
    import resolute.deploy.commands as commands

    return commands.agent_up(
        wanted.AgentUp(
            master_host=args.master_host,
            master_port=args.master_port,
            cluster_name=args.cluster_name,
            agent_name=args.agent_name,
            resource_pool=args.agent_resource_pool,
            agent_config_path=args.agent_config_path,
            slots=args.slots,
            gpu=args.gpu,
            runtime=args.runtime,
            data_dir=args.data_dir,
            autorestart=not args.no_autorestart,
        )
    )


def agent_down(args: Namespace) -> int:
    import resolute.deploy.commands as commands

    return commands.agent_down(wanted.AgentDown(args.cluster_name, args.agent_name, args.all, args.data_dir))


def status_(args: Namespace) -> int:
    import resolute.deploy.commands as commands

    return commands.status(wanted.Status(args.cluster_name, args.data_dir, args.json))


def logs_(args: Namespace) -> int:
    import resolute.deploy.commands as commands

    return commands.logs(wanted.Logs(args.cluster_name, not args.no_follow, args.data_dir))


def _up(args: Namespace, agents: int) -> int:
    import resolute.deploy.commands as commands

    if agents < 0 or (args.slots is not None and args.slots < 0):
        raise CliError("--agents and --slots count things; they cannot be negative")
    asked = wanted.ClusterUp(
        cluster_name=args.cluster_name,
        master_port=args.master_port,
        agents=agents,
        slots=args.slots,
        gpu=args.gpu,
        runtime=args.runtime,
        data_dir=args.data_dir,
        storage_host_path=args.storage_host_path,
        master_config_path=args.master_config_path,
        initial_user_password=args.initial_user_password,
        auto_work_dir=args.auto_work_dir,
        delete_db=args.delete_db,
        autorestart=not args.no_autorestart,
        replicas=replicas(args.replicas),
        wait=not args.no_wait_for_master,
        metrics_port=args.metrics_port,
    )
    status = commands.cluster_up(asked)
    print(f"\n{commands.next_steps(asked)}", flush=True)
    return status


def replicas(options: list[str]) -> dict[str, int]:
    """`["api=2"]` as `{"api": 2}`."""
    found: dict[str, int] = {}
    for text in options:
        service, _, count = text.partition("=")
        if service not in SERVICES or not count.isdecimal() or int(count) < 1:
            raise CliError(f"--replicas: expected SERVICE=N, with one of {', '.join(SERVICES)}; found {text!r}")
        found[service] = int(count)
    return found
