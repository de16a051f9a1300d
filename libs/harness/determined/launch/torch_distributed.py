"""Starts one worker per slot with torch's own launcher, one of which runs in each container.

    python3 -m determined.launch.torch_distributed [TORCH_OVERRIDES... --] (--trial module:Class | SCRIPT...)

With one slot there is nothing to coordinate, and the script runs alone.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Sequence
from importlib.util import find_spec

from determined.launch import _gang, _workers
from determined.launch._command_line import Job
from determined.launch._gang import Gang, Refused
from determined.launch._start import Facts, Framework, start
from determined.launch._workers import Worker

LAUNCHER = "torch.distributed.run"


def main(words: Sequence[str] | None = None) -> int:
    return start(Framework("torch_distributed", prepare, workers, alone=lambda job: not job.overrides), words)


def prepare(gang: Gang, job: Job) -> Facts:
    if find_spec("torch") is None:
        raise Refused(f"torch is not installed for {sys.executable}: use an image that has it")
    if not gang.is_chief:
        return {}
    if (port := _chosen_number(job.overrides, "--master-port")) is not None:
        _must_be_free(gang.chief_address, port)
    return {"master_port": gang.hold_port(), **_gang.ports(gang)}


def _chosen_number(overrides: Sequence[str], flag: str) -> int | None:
    """The value that the user gives for `flag`, as `--flag value` or `--flag=value`, with dashes or underscores."""
    pairs = [word.replace("_", "-").partition("=")[::2] for word in overrides]
    for at, (name, value) in enumerate(pairs):
        if name == flag:
            text = value or (overrides[at + 1] if at + 1 < len(overrides) else "")
            return int(text) if text.isdigit() else None
    return None


def _must_be_free(address: str, port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError as problem:
            raise Refused(
                f"--master_port {port} cannot be used at {address}: {problem.strerror}; "
                "leave it out, and a free one is found"
            ) from problem


def workers(gang: Gang, job: Job, facts: Facts) -> Sequence[Worker]:
    variables = {"USE_TORCH_DISTRIBUTED": "True", **_gang.variables(gang), **_gang.port_variables(facts)}
    argv = (*torch_run(gang, int(facts["master_port"]), job.overrides), *_workers.wrapped("RANK", job.program))
    restarts = (_chosen_number(job.overrides, "--max-restarts") or 0) > 0
    return [Worker(LAUNCHER, argv, variables, starts_ranks=True, restarts_ranks=restarts)]


def torch_run(gang: Gang, port: int, overrides: Sequence[str]) -> tuple[str, ...]:
    """The command of torch's launcher for this container's workers. Flags of the user come last, and so take
    precedence."""
    return (
        *(sys.executable, "-m", LAUNCHER),
        f"--nnodes={len(gang.places)}",
        f"--nproc_per_node={gang.here.slots}",
        f"--node_rank={gang.me}",
        "--max_restarts=0",
        f"--master_addr={gang.chief_address if gang.spans_hosts else 'localhost'}",
        f"--master_port={port}",
        "--no_python",
        *overrides,
    )


if __name__ == "__main__":
    sys.exit(main())
