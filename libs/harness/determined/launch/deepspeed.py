"""Starts one DeepSpeed worker per slot. The launcher of each container starts its own workers, without pdsh or ssh.

    python3 -m determined.launch.deepspeed [DEEPSPEED_OVERRIDES... --] (--trial module:Class | SCRIPT...)

Workers find what `deepspeed.init_distributed` reads: RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and beside
these LOCAL_SIZE, CROSS_RANK and CROSS_SIZE.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from determined.launch import _gang, _workers
from determined.launch._command_line import Job
from determined.launch._gang import Gang, Refused
from determined.launch._layout import Rank
from determined.launch._start import Facts, Framework, start
from determined.launch._workers import Worker


def main(words: Sequence[str] | None = None) -> int:
    return start(Framework("deepspeed", prepare, workers), words)


def prepare(gang: Gang, job: Job) -> Facts:
    options(job.overrides)
    if find_spec("deepspeed") is None:
        raise Refused(f"DeepSpeed is not installed for {sys.executable}: use an image that has it")
    return {"master_port": gang.hold_port(), **_gang.ports(gang)} if gang.is_chief else {}


def options(overrides: Sequence[str]) -> argparse.Namespace:
    """DeepSpeed's flags that concern each single worker. Raises Refused for others: the cluster starts the workers, and
    decides where."""
    parser = argparse.ArgumentParser(prog="deepspeed", add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("--module", action="store_true", help="the script is a Python module")
    parser.add_argument("--no_python", action="store_true", help="as it is anyway: the script is a program")
    parser.add_argument("--no_local_rank", action="store_true", help="as it is anyway: LOCAL_RANK tells it")
    try:
        found, others = parser.parse_known_args(list(overrides))
    except argparse.ArgumentError as problem:
        raise Refused(f"deepspeed: {problem}") from problem
    if others:
        raise Refused(
            f"deepspeed: {' '.join(others)}: the cluster starts one worker for each slot, so of DeepSpeed's flags only "
            "--module, --no_python and --no_local_rank mean something here"
        )
    return found


def workers(gang: Gang, job: Job, facts: Facts) -> Sequence[Worker]:
    module = options(job.overrides).module and job.trial is None
    program = (sys.executable, "-m", *job.script) if module else job.program
    common = {
        "USE_DEEPSPEED": "1",
        **_gang.variables(gang),
        **_gang.port_variables(facts),
        "MASTER_ADDR": gang.chief_address,
        "MASTER_PORT": str(facts["master_port"]),
    }
    return [
        Worker(f"rank {rank.rank}", _workers.wrapped(str(rank.rank), program), {**common, **variables(rank)})
        for rank in gang.ranks_here
    ]


def variables(rank: Rank) -> dict[str, str]:
    """The variables with the rank of a worker."""
    return {
        "RANK": str(rank.rank),
        "WORLD_SIZE": str(rank.size),
        "LOCAL_RANK": str(rank.local_rank),
        "LOCAL_SIZE": str(rank.local_size),
        "LOCAL_WORLD_SIZE": str(rank.local_size),
        "CROSS_RANK": str(rank.cross_rank),
        "CROSS_SIZE": str(rank.cross_size),
    }


if __name__ == "__main__":
    sys.exit(main())
