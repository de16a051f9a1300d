"""Starts one Horovod worker per slot. The launcher of each container starts its own workers, without ssh and without
Horovod's own launcher.

    python3 -m determined.launch.horovod [HOROVOD_OVERRIDES... --] [--autohorovod] (--trial module:Class | SCRIPT...)

The chief's launcher serves Horovod's rendezvous at the address that all containers reach. `--autohorovod` runs a trial
with one slot without Horovod.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from determined.launch import _gang, _horovod_plan, _own_name, _workers
from determined.launch._command_line import Job
from determined.launch._gang import Gang, Refused
from determined.launch._start import Facts, Framework, start
from determined.launch._workers import Worker

AUTO = "--autohorovod"


def main(words: Sequence[str] | None = None) -> int:
    return start(Framework("horovod", prepare, workers, alone=lambda job: AUTO in job.flags, flags=(AUTO,)), words)


def prepare(gang: Gang, job: Job) -> Facts:
    if (why := _horovod_plan.why_not_here()) is not None:
        raise Refused(why)
    if gang.spans_hosts:
        _name_this_host(gang.here.address)
    config = gang.info.trial._config
    defaults = _horovod_plan.words_of(config.get("optimizations") or {})
    tuning = _tuning(defaults, job.overrides, sum(place.slots for place in gang.places))
    if not gang.is_chief:
        return {}
    return {"rendezvous_port": _serve(gang), "tuning": tuning, **_gang.ports(gang)}


def _name_this_host(address: str) -> None:
    try:
        warning = _own_name.resolve_own_name_to(address)
    except _own_name.Unreachable as problem:
        raise Refused(f"the ranks on other hosts could not reach those here: {problem}") from problem
    if warning:
        print(f"WARNING: {warning}", file=sys.stderr, flush=True)


def _tuning(defaults: Sequence[str], overrides: Sequence[str], size: int) -> dict[str, str]:
    """Horovod's flags as the variables that its workers read: `overrides` before the environment before `defaults`."""
    return _horovod_plan.merged(_variables(defaults, size), _variables(overrides, size), os.environ)


def _variables(words: Sequence[str], size: int) -> dict[str, str]:
    from horovod.runner.common.util import config_parser

    found: dict[str, str] = {}
    parsed = _parsed(words, size)
    config_parser.set_env_from_args(found, parsed)
    if parsed.nics:
        found |= {"HOROVOD_GLOO_IFACE": min(parsed.nics), "NCCL_SOCKET_IFNAME": ",".join(sorted(parsed.nics))}
    return found


def _parsed(words: Sequence[str], size: int) -> argparse.Namespace:
    """The flags as `horovodrun` parses them. Raises Refused with its error message, and for flags about hosts and
    numbers of workers, which the cluster decides."""
    from horovod.runner.launch import parse_args

    said = io.StringIO()
    before = sys.argv
    sys.argv = ["horovod", "-np", str(size), *words, "--", "true"]
    try:
        with contextlib.redirect_stderr(said):
            parsed = parse_args()
    except SystemExit as problem:
        complaints = said.getvalue().strip().splitlines()
        raise Refused(
            f"Horovod does not understand {' '.join(words)}: {complaints[-1] if complaints else problem}"
        ) from problem
    finally:
        sys.argv = before
    if surplus := _horovod_plan.decided_by_the_cluster(vars(parsed), size):
        raise Refused(f"{', '.join(surplus)}: which hosts and how many workers is for resources.slots_per_trial to say")
    assert isinstance(parsed, argparse.Namespace)
    return parsed


def _serve(gang: Gang) -> int:
    """Starts Horovod's rendezvous server, which runs as long as this process. Returns its port. It has no
    authentication, so it listens only at the address by which the gang is connected."""
    from horovod.runner.common.util.hosts import get_host_assignments, parse_hosts
    from horovod.runner.http.http_server import RendezvousHandler, RendezvousHTTPServer

    hosts = ",".join(f"{_horovod_plan.host(container)}:{place.slots}" for container, place in enumerate(gang.places))
    server: Any = RendezvousHTTPServer((gang.chief_address, 0), RendezvousHandler, 0)
    server.init(get_host_assignments(parse_hosts(hosts), sum(place.slots for place in gang.places)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port: int = server.server_address[1]
    return port


def workers(gang: Gang, job: Job, facts: Facts) -> Sequence[Worker]:
    common = {
        "USE_HOROVOD": "1",
        **_gang.variables(gang),
        **_gang.port_variables(facts),
        **_run_variables(gang, int(facts["rendezvous_port"])),
        **facts["tuning"],
    }
    return [
        Worker(
            f"rank {rank.rank}",
            _workers.wrapped(str(rank.rank), job.program),
            {**common, **_horovod_plan.variables(rank)},
        )
        for rank in gang.ranks_here
    ]


def _run_variables(gang: Gang, port: int) -> Mapping[str, str]:
    from horovod.runner.gloo_run import create_run_env_vars

    found: Mapping[str, str] = create_run_env_vars(gang.chief_address, [gang.here.interface], port)
    return {
        name: str(value) for name, value in found.items() if name != "NCCL_SOCKET_IFNAME"
    }  # `_gang.variables` sets it


if __name__ == "__main__":
    sys.exit(main())
