"""What `det deploy local …` does: an embedded cluster up and down, agents, and logs.

Every function answers an exit status, and raises a ResoluteError that says what stood in the way.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from resolute.agent import gpus, isolation
from resolute.config.pools import ResourcePool
from resolute.deploy import (
    checks,
    cluster,
    containers,
    environment_settings,
    log_tail,
    master,
    metrics,
    nats_server,
    plan,
    postgres,
    processes,
    running,
)
from resolute.deploy import next_steps as next_steps_
from resolute.deploy import status as status_
from resolute.deploy.args import AgentDown, AgentUp, ClusterDown, ClusterUp, Logs, Status
from resolute.deploy.cluster import AgentPart, Cluster
from resolute.deploy.command_lock import lock_cluster
from resolute.deploy.paths import ClusterPaths, make_private, write_private
from resolute.deploy.progress import Progress
from resolute.deploy.readiness import marks, wait_for_agents, wait_until_ready, wait_until_started
from resolute.proto.errors import NotFound, Refused
from resolute.service.addresses import is_loopback


def cluster_up(args: ClusterUp) -> int:
    paths = ClusterPaths.of(args.cluster_name, args.data_dir)
    with lock_cluster(paths, "cluster-up", may_be_first=True):
        return _cluster_up(args, paths, Progress())


def _cluster_up(args: ClusterUp, paths: ClusterPaths, progress: Progress) -> int:
    if (pid := processes.supervisor_pid(paths)) is not None:
        raise Refused(
            f"cannot start cluster {args.cluster_name!r}: it is running already (supervisor pid {pid}, "
            f"{paths.root}); `det deploy local cluster-down` stops it"
        )
    _check_supported(args)
    known = cluster.load(paths)
    # Before all other checks: processes that were left over hold the ports, and write to the database.
    if left := processes.stop_leftovers(paths):
        progress.say(f"stopped what an earlier supervisor left behind: {', '.join(left)}")
    wanted, password = _described(args, paths, known)
    checks.port_is_free(wanted.host, wanted.port)
    _check_database(wanted, known, args.delete_db)
    if args.runtime == "docker" and wanted.elastic_agents:
        raise Refused(
            "cannot use --runtime docker with a pool that starts its own agents: those run trials as processes; "
            "leave `provider` out of the master configuration's pools, or --runtime docker"
        )
    with _nothing_half_made(paths, first=known is None):
        return _up_from_nothing_running(args, paths, known, wanted, password, progress)


def _up_from_nothing_running(
    args: ClusterUp,
    paths: ClusterPaths,
    known: Cluster | None,
    wanted: Cluster,
    password: str | None,
    progress: Progress,
) -> int:
    checks.data_directory(paths)
    own = not wanted.database
    if own and known is None and not args.delete_db and (aside := postgres.set_aside(paths)) is not None:
        progress.say(f"the database of a cluster whose directory was deleted is kept in {aside}")
    has_history = not args.delete_db and postgres.version_of(postgres.data_dir(paths)) is not None
    # The users of an external database are not known here: the gateway refuses to start if one has a blank password.
    has_history = has_history or not own
    checks.passwords_are_set(wanted.host, password, has_history)
    checks.storage_directory(Path(wanted.storage), own=Path(wanted.storage) == paths.storage)
    if args.runtime == "docker":
        wanted = _reached_by_containers(wanted)
    if args.delete_db:
        if known is not None:
            _stop_tasks(paths, known)
        _forget(paths)
    before = marks(paths)
    try:
        supervisor = _start(paths, wanted, password, progress)
        if args.wait:
            wait_until_ready(paths, wanted, supervisor, before, progress)
        else:
            wait_until_started(paths, supervisor, before)
    except BaseException:
        _stop_all(paths, wanted)
        raise
    # The first users have their password now; it need not lie about.
    write_private(paths.plan, plan.dump(cluster.children(paths, wanted)))
    for sentence in sorted({note for agent in wanted.agents if (note := isolation_of(paths, agent.name))}):
        progress.say(sentence)
    progress.say(f"cluster {wanted.name!r} is up at {wanted.url}, its data in {paths.root}")
    return 0


def next_steps(args: ClusterUp) -> str:
    """What to do with the cluster that came up."""
    return next_steps_.next_steps(_running(args.cluster_name, ClusterPaths.of(args.cluster_name, args.data_dir)), args)


def isolation_of(paths: ClusterPaths, agent: str) -> str:
    """How far the tasks of an agent are isolated, as the agent wrote it; empty where it has not written it."""
    try:
        level, _, sentence = (paths.agent(agent) / isolation.NOTE).read_text().strip().partition(": ")
    except OSError:
        return ""
    return sentence if level == "users" else f"WARNING: {sentence}"


def cluster_down(args: ClusterDown) -> int:
    paths = ClusterPaths.of(args.cluster_name, args.data_dir)
    with lock_cluster(paths, "cluster-down"):
        return _cluster_down(args, paths, Progress())


def _cluster_down(args: ClusterDown, paths: ClusterPaths, progress: Progress) -> int:
    known = cluster.load(paths)
    if known is None:
        raise NotFound(f"no cluster in {paths.root}; --cluster-name or --data-dir name another")
    if args.delete_db and known.database:
        raise _another_runs_the_database()
    was_up = _stop_all(paths, known)
    progress.say(f"cluster {known.name!r} is down" if was_up else f"cluster {known.name!r} was not running")
    if args.delete_db:
        _forget(paths)
        left = _clear(paths)
        progress.say(f"{paths.root} is deleted" if not left else f"its data are deleted; {left} in {paths.root} stays")
    return 0


def agent_up(args: AgentUp) -> int:
    _check_supported(args)
    paths = ClusterPaths.of(args.cluster_name, args.data_dir)
    with lock_cluster(paths, "agent-up"):
        return _agent_up(args, paths, _running(args.cluster_name, paths))


def _agent_up(args: AgentUp, paths: ClusterPaths, known: Cluster) -> int:
    if not is_loopback(args.master_host) or args.master_port not in (None, known.port):
        raise Refused(
            f"cannot join {args.master_host}:{args.master_port or known.port}: an agent of an embedded cluster runs on "
            f"its host, and {known.name!r} is at {known.url}"
        )
    if any(agent.name == args.agent_name for agent in known.agents):
        raise Refused(
            f"cannot start agent {args.agent_name!r}: there is one of that name; give it another (--agent-name)"
        )
    pool = args.resource_pool or known.compute_pool
    if pool not in known.pool_names:
        raise NotFound(f"--agent-resource-pool: no pool {pool!r}; there are {', '.join(known.pool_names)}")
    if args.runtime == "docker" and not known.task_host:
        raise Refused(
            f"cannot start an agent with --runtime docker: the gateway of {known.name!r} listens where containers do "
            "not reach it; start the cluster with `cluster-up --runtime docker`, with --agents 0 if need be"
        )
    own = environment_settings.of_agents(environment_settings.settings(os.environ))
    agent = AgentPart(args.agent_name, args.slots, args.gpu is not False, args.runtime, pool, args.autorestart, own)
    if args.runtime == "docker":
        containers.network(known.id)
    changed = cluster.with_agent(known, agent)
    ports = {**known.metrics_ports, agent.name: metrics.another(known)}
    changed = replace(changed, metrics_ports=ports)
    make_private(paths.agent(agent.name))
    before = marks(paths)
    _tell_nats(paths, changed)
    _change_agents(paths, changed)
    try:
        wait_for_agents(paths, [agent.name], before)
    except BaseException:
        _change_agents(paths, known)
        raise
    print(f"agent {args.agent_name!r} started, for {known.url}")
    if note := isolation_of(paths, agent.name):
        print(note)
    return 0


def agent_down(args: AgentDown) -> int:
    paths = ClusterPaths.of(args.cluster_name, args.data_dir)
    with lock_cluster(paths, "agent-down"):
        return _agent_down(args, paths, _running(args.cluster_name, paths))


def _agent_down(args: AgentDown, paths: ClusterPaths, known: Cluster) -> int:
    names = frozenset(agent.name for agent in known.agents)
    doomed = names if args.all else names & {args.agent_name}
    if not doomed:
        raise NotFound(f"no agent {args.agent_name!r} here; there are: {', '.join(sorted(names)) or 'none'}")
    changed = cluster.without_agents(known, doomed)
    _change_agents(paths, changed)
    processes.note_planned_end(paths, doomed)
    if known.task_host:
        containers.remove(known.id, doomed)
    processes.stop_tasks(known.id, doomed)
    _tell_nats(paths, changed)
    for name in sorted(doomed):
        print(f"agent {name!r} stopped")
    return 0


def status(args: Status) -> int:
    """0 where all of the cluster runs and is ready, 1 otherwise."""
    paths = running.find(args.cluster_name, args.data_dir)
    known = cluster.load(paths)
    if known is None:
        raise NotFound(f"no cluster in {paths.root}; --cluster-name or --data-dir name another")
    found = status_.look(paths, known)
    for line in [status_.for_programs(found)] if args.as_json else status_.for_people(found):
        print(line)
    return 0 if found.ready else 1


def logs(args: Logs) -> int:
    paths = ClusterPaths.of(args.cluster_name, args.data_dir)
    if not paths.logs.is_dir():
        raise NotFound(f"no cluster in {paths.root}; --cluster-name or --data-dir name another")
    log_tail.show(paths.logs, follow=args.follow)
    return 0


def database_url(cluster_name: str, data_dir: Path | None) -> str | None:
    """The log's database of an embedded cluster; None where there is none."""
    paths = running.find(cluster_name, data_dir)
    known = cluster.load(paths)
    return cluster.database_url(paths, known) if known is not None else None


def address(cluster_name: str, data_dir: Path | None) -> str | None:
    """Where the gateway of an embedded cluster is that runs here; None where none does."""
    paths = running.find(cluster_name, data_dir)
    known = cluster.load(paths) if processes.supervisor_pid(paths) is not None else None
    return known.url if known is not None else None


def sealing_keys(cluster_name: str, data_dir: Path | None) -> tuple[Path, bytes]:
    """The file of an embedded cluster's wrapping keys, and the cluster's secret."""
    paths = running.find(cluster_name, data_dir)
    return paths.sealing_keys, cluster.cluster_secret(paths).encode() if paths.description.exists() else b""


def pool(cluster_name: str, data_dir: Path | None, name: str | None) -> ResourcePool | None:
    """How a pool of an embedded cluster is set, the default pool where none is named; None where there is no cluster.

    Raises NotFound for a pool it does not have.
    """
    known = cluster.load(running.find(cluster_name, data_dir))
    if known is None:
        return None
    name = name or known.compute_pool
    if name not in known.pool_names:
        raise NotFound(f"--pool: no pool {name!r}; there are {', '.join(known.pool_names)}")
    found = known.pools[known.pool_names.index(name)]
    return ResourcePool(pool_name=found) if isinstance(found, str) else ResourcePool.model_validate(found)


def _check_database(wanted: Cluster, known: Cluster | None, delete_db: bool) -> None:
    """Refuses to change the database of a cluster: its history is in the first one, embedded or external."""
    if known is not None and bool(known.database) != bool(wanted.database):
        raise Refused(
            f"cannot start cluster {wanted.name!r} with another database than it has: the section `db` of the master "
            f"configuration has to {'stay' if known.database else 'be left out'}, or --data-dir to name a new cluster"
        )
    if delete_db and wanted.database:
        raise _another_runs_the_database()
    if wanted.database:
        checks.database_answers(wanted.database)


def _another_runs_the_database() -> Refused:
    return Refused(
        "cannot delete the database (--delete-db): the section `db` of the master configuration names one that this "
        "cluster does not run; drop it there, and leave out --delete-db"
    )


def _check_supported(args: ClusterUp | AgentUp) -> None:
    if isinstance(args, ClusterUp) and args.auto_work_dir is not None:
        raise Refused("cannot use --auto-work-dir: bind_mounts and work_dir of an experiment's configuration say more")
    if args.gpu and not (gpus.nvidia() or gpus.rocm()):
        raise Refused(
            "cannot offer GPUs (--gpu): neither nvidia-smi nor rocm-smi finds one here; leave out --gpu, and agents "
            "offer the GPUs there are, or the processors where there are none"
        )
    if isinstance(args, AgentUp) and args.agent_config_path is not None:
        raise Refused("cannot use --agent-config-path here: RESOLUTE_AGENT_* variables and options say the same")


def _running(cluster_name: str, paths: ClusterPaths) -> Cluster:
    known = cluster.load(paths)
    if known is None or processes.supervisor_pid(paths) is None:
        raise NotFound(
            f"cluster {cluster_name!r} is not running in {paths.root}; `det deploy local cluster-up` starts it"
        )
    return known


def _described(args: ClusterUp, paths: ClusterPaths, known: Cluster | None) -> tuple[Cluster, str | None]:
    """The cluster that was asked for, with the identity of the one that is there, and the first password."""
    config = master.read(args.master_config_path)
    master.check_runtime(config, args.runtime)
    said = master.of_cluster(config) if args.master_config_path else {}
    pool = said.get("default_pool", "default")
    agents = tuple(
        AgentPart(f"agent-{number}", args.slots, args.gpu is not False, args.runtime, pool, args.autorestart)
        for number in range(1, args.agents + 1)
    )
    storage = args.storage_host_path or paths.storage
    wanted = Cluster(
        name=args.cluster_name,
        host=os.environ.get(environment_settings.HOST, "127.0.0.1"),
        port=config.listens_at if args.master_port is None else args.master_port,
        storage=str(storage.expanduser().absolute()),
        agents=agents,
        separate=bool(args.replicas) or os.environ.get(environment_settings.SEPARATE, "") not in ("", "0"),
        replicas=dict(args.replicas),
        restart=args.autorestart,
        nats_port=checks.free_port(known.nats_port if known else 0),
        given={**master.variables(config), **environment_settings.settings(os.environ)},
        **said,
    )
    remembered = known.metrics_ports if known else {}
    own = (wanted.port, wanted.nats_port)
    ports = metrics.ports(cluster.process_names(wanted), remembered, args.metrics_port, own)
    wanted = replace(wanted, metrics_ports=ports)
    initial = args.initial_user_password or os.environ.get(environment_settings.PASSWORD)
    password = initial or config.security.initial_user_password.get_secret_value() or None
    return (replace(wanted, id=known.id) if known else wanted), password


def _reached_by_containers(wanted: Cluster) -> Cluster:
    """The same with a network for its tasks, and the address at which they reach the gateway from there."""
    try:
        reached = replace(wanted, task_host=containers.network(wanted.id))
        checks.port_is_free(reached.task_host, reached.port)
    except Refused:
        containers.remove_network(wanted.id)
        raise
    return reached


def _start(paths: ClusterPaths, wanted: Cluster, password: str | None, progress: Progress) -> subprocess.Popen[bytes]:
    make_private(paths.run)
    if not wanted.database:
        first = postgres.version_of(postgres.data_dir(paths)) is None
        postgres.prepare(paths)
        if first:
            progress.say("database made")
    for agent in wanted.agents:
        make_private(paths.agent(agent.name))
    write_private(nats_server.config_file(paths), cluster.nats_config(paths, wanted))
    cluster.save(paths, wanted)
    metrics.ensure_token(paths)
    metrics.tell_the_gateway(paths, wanted)
    supervisor = processes.start_supervisor(paths, plan.dump(cluster.children(paths, wanted, password)))
    progress.say("processes started")
    return supervisor


def _stop_all(paths: ClusterPaths, known: Cluster) -> bool:
    """Whether anything ran."""
    stopped = processes.stop_supervisor(paths)
    left = processes.stop_leftovers(paths)
    tasks = _stop_tasks(paths, known)
    postgres.remove_socket(paths)
    if known.task_host:
        containers.remove_network(known.id)
    return bool(stopped or left or tasks)


def _stop_tasks(paths: ClusterPaths, known: Cluster) -> int:
    """End all trials, wherever they run; how many processes and containers there were."""
    processes.note_planned_end(paths)
    contained = containers.remove(known.id) if known.task_host else 0
    return contained + processes.stop_tasks(known.id)


def _change_agents(paths: ClusterPaths, changed: Cluster) -> None:
    """Gives the supervisor a new plan, and waits until it runs that plan."""
    cluster.save(paths, changed)
    metrics.tell_the_gateway(paths, changed)
    children = cluster.children(paths, changed)
    write_private(paths.plan, plan.dump(children))
    if (pid := processes.supervisor_pid(paths)) is not None:
        os.kill(pid, signal.SIGHUP)
    wanted = {child.name for child in children}
    deadline = time.monotonic() + 15
    while {status.name for status in processes.statuses(paths)} != wanted and time.monotonic() < deadline:
        time.sleep(0.05)


def _tell_nats(paths: ClusterPaths, changed: Cluster) -> None:
    """Gives nats-server the keys of the agents that there are now."""
    write_private(nats_server.config_file(paths), cluster.nats_config(paths, changed))
    for status in processes.statuses(paths):
        if status.name == "nats" and status.pid is not None:
            os.kill(status.pid, signal.SIGHUP)


def _forget(paths: ClusterPaths) -> None:
    postgres.forget(paths)
    for folder in (paths.nats, paths.root / "agents", paths.instances):
        shutil.rmtree(folder, ignore_errors=True)
    make_private(paths.nats)


@contextmanager
def _nothing_half_made(paths: ClusterPaths, first: bool) -> Iterator[None]:
    """A first start that is refused before there is a cluster leaves the directory as it found it."""
    before = set(paths.root.iterdir())
    try:
        yield
    except BaseException:
        if first and not paths.description.exists():
            for entry in set(paths.root.iterdir()) - before:
                shutil.rmtree(entry, ignore_errors=True)
        raise


def _clear(paths: ClusterPaths) -> str:
    """Deletes the cluster's files in its directory; returns the names of other files there, which are kept."""
    folders = (paths.run, paths.secrets, paths.logs, paths.nats, paths.instances, paths.storage)
    for folder in (*folders, paths.root / "agents"):
        shutil.rmtree(folder, ignore_errors=True)
    paths.description.unlink(missing_ok=True)
    try:
        left = sorted(entry.name for entry in paths.root.iterdir() if entry != paths.command_lock)
        if not left:
            paths.command_lock.unlink(missing_ok=True)
            paths.root.rmdir()
    except OSError as error:
        return f"something that cannot be removed ({error.strerror})"
    return ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
