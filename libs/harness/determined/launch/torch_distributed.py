"""Starts one worker per slot with torch's own launcher.

    python3 -m determined.launch.torch_distributed [TORCH_OVERRIDES... --] (--trial module:Class | SCRIPT...)

With one slot there is nothing to coordinate, and the script runs alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence

from determined import constants
from determined._info import ClusterInfo, get_cluster_info

USAGE = "[[TORCH_OVERRIDES...] --] (--trial TRIAL)|(SCRIPT...)"


def main(words: Sequence[str] | None = None) -> int:
    overrides, trial, script = parse(list(sys.argv[1:] if words is None else words))
    info = get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        raise SystemExit("determined.launch.torch_distributed starts the workers of a trial on a cluster")
    if sum(info.container_slot_counts) <= 1 and not overrides:
        return _alone(trial, script)
    os.environ["USE_TORCH_DISTRIBUTED"] = "True"
    os.environ["DET_CHIEF_IP"] = info.container_addrs[0]
    return subprocess.call(torch_run(info, overrides) + worker(trial, script))


def parse(words: list[str]) -> tuple[list[str], str | None, list[str]]:
    """(overrides, trial class or None, script). What stands before the first -- belongs to torch."""
    overrides: list[str] = []
    if "--" in words:
        at = words.index("--")
        overrides, words = words[:at], words[at + 1 :]
    parser = argparse.ArgumentParser(prog="torch_distributed", usage=f"%(prog)s {USAGE}")
    parser.add_argument("--trial", help="module:Class of a trial to train")
    parser.add_argument("script", nargs=argparse.REMAINDER)
    arguments = parser.parse_args(words)
    if arguments.trial and arguments.script:
        _refuse(parser, "extra arguments to --trial")
    if not arguments.trial and not arguments.script:
        _refuse(parser, "empty script")
    return overrides, arguments.trial, arguments.script


def _refuse(parser: argparse.ArgumentParser, reason: str) -> None:
    parser.print_usage(sys.stderr)
    print(f"{parser.prog}: {reason}", file=sys.stderr)
    raise SystemExit(1)


def _alone(trial: str | None, script: list[str]) -> int:
    if trial is None:
        os.execvp(script[0], script)
    from determined.exec import harness

    sys.path.insert(0, os.getcwd())
    return harness.main(["--trial", trial])


def torch_run(info: ClusterInfo, overrides: Sequence[str]) -> list[str]:
    """torch's launcher for this machine's share of the workers."""
    machines = len(info.container_addrs)
    chief = "localhost" if machines == 1 else info.container_addrs[0]
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        f"--nnodes={machines}",
        f"--nproc_per_node={info.container_slot_counts[info.container_rank]}",
        f"--node_rank={info.container_rank}",
        "--max_restarts=0",
        f"--master_addr={chief}",
        f"--master_port={constants.C10D_PORT}",
        "--no_python",
        *overrides,
    ]


def worker(trial: str | None, script: Sequence[str]) -> list[str]:
    """One worker: the program, each line it prints marked with its rank."""
    wrapped = [sys.executable, "-m", "determined.launch.wrap_rank", "RANK"]
    if trial is not None:
        return [*wrapped, sys.executable, "-m", "determined.exec.harness", "--trial", trial]
    return [*wrapped, *script]


if __name__ == "__main__":
    sys.exit(main())
