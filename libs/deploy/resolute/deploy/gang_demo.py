"""`make gang-demo`: two agents with two slots each, containers, and one trial over both: four ranks of Horovod.

From nothing to a trained model: looks for Docker, builds the image that trials run in where it is missing, starts a
cluster, streams the log, and ends with a table and, as its last line, the result.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from resolute.deploy import commands, containers, demo
from resolute.deploy.args import ClusterDown, ClusterUp
from resolute.deploy.demo import Trained
from resolute.deploy.progress import Progress
from resolute.proto.errors import Refused, ResoluteError

NAME = "gang-demo"
IMAGE = "resolute/trial:cpu"
DOCKERFILE = Path("compose/trial/Dockerfile")
AGENTS, SLOTS = 2, 2
STEP = re.compile(r"^(Step \d+/\d+ : .*|#\d+ \[.*)")
"""What the two kinds of `docker build` say of how far they are."""
LINES, WIDTH = 20, 110


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make gang-demo", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=Path(".resolute/gang-demo"), help="where the cluster lives")
    parser.add_argument("--example", type=Path, default=Path("examples/mnist_pytorch"), help="what to train")
    parser.add_argument("--config", default="distributed.yaml", help="its configuration")
    parser.add_argument("--down", action="store_true", help="take the cluster down again")
    args = parser.parse_args(argv)
    began_at, trained = time.monotonic(), None
    try:
        have_image()
        url = demo.bring_up(
            ClusterUp(NAME, agents=AGENTS, slots=SLOTS, gpu=False, runtime="docker", data_dir=args.data_dir)
        )
        try:
            words = [str(args.example / args.config), str(args.example), "--config", f"environment.image={IMAGE}"]
            trained = demo.train(url, words)
            if trained is not None:
                demo.show(trained)
                hosts = hosts_of(trained)
                Console().print(table(hosts))
                result = summary(trained, hosts, time.monotonic() - began_at)
                if not args.down:
                    demo.where_next(trained, url, NAME, args.data_dir)
        finally:
            if args.down:
                commands.cluster_down(ClusterDown(NAME, args.data_dir))
    except ResoluteError as error:
        print(f"make gang-demo: {error.message}", file=sys.stderr)
        return 1
    if trained is None:
        return 1
    print(result)
    return 0 if trained.completed else 1


def have_image() -> None:
    """The image that the trial runs in is there when this returns; it is built, which is shown, where it is not."""
    if containers.has_image(IMAGE):
        return
    print(f"building {IMAGE}: PyTorch and Horovod, which takes as long as downloading and compiling them takes")
    progress, said = Progress(), deque[str](maxlen=LINES)
    command = ["docker", "build", "-f", str(DOCKERFILE), "--build-arg", "TORCH_INDEX", "-t", IMAGE, "."]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as building:
        assert building.stdout is not None
        for line in building.stdout:
            said.append(line.rstrip())
            if STEP.match(line):
                progress.say(line.strip()[:WIDTH])
    if building.returncode != 0:
        raise Refused(
            f"cannot build {IMAGE}; the last that docker build said:\n  "
            + "\n  ".join(said)
            + "\nWhere no registry can be reached, `make docker` makes the image it begins with, as root"
        )


@dataclass
class Host:
    """One container of the gang."""

    agent: str
    ranks: set[int] = field(default_factory=set)


def hosts_of(trained: Trained) -> dict[str, Host]:
    """By container: the agent that ran it, and the ranks in it, as their lines in the log have them.

    Lines that no rank printed go by the number of their container, which is that of a rank of an earlier one.
    """
    found: dict[str, Host] = {}
    for trial in trained.trials:
        for line in trained.session.stream(f"/api/v1/trials/{trial['id']}/logs"):
            container, rank = line.get("containerId"), line.get("rankId")
            if container and rank is not None:  # what the cluster says of a container has no rank
                found.setdefault(container, Host(line.get("agentId") or "?")).ranks.add(rank)
    placed: set[int] = set()
    for host in sorted(found.values(), key=lambda host: max(host.ranks)):
        host.ranks -= placed
        placed |= host.ranks
    return found


def table(hosts: Mapping[str, Host]) -> Table:
    made = Table()
    for name in ("agent", "container", "ranks"):
        made.add_column(name)
    for container, host in sorted(hosts.items(), key=lambda item: item[1].agent):
        made.add_row(host.agent, container[:12], ", ".join(map(str, sorted(host.ranks))))
    return made


def summary(trained: Trained, hosts: Mapping[str, Host], took_s: float) -> str:
    """The last line: what the ranks have learnt together."""
    ranks = sum(len(host.ranks) for host in hosts.values())
    agents = len({host.agent for host in hosts.values()})
    rows = [row for trial in trained.trials for row in demo.validations_of(trained.session, trial["id"])]
    learnt = "nothing"
    if rows:
        metrics = {name: value for name, value in rows[-1].metrics.items() if name not in demo.AMOUNTS}
        learnt = ", ".join(f"{name} {value:.4f}" for name, value in sorted(metrics.items()))
        learnt += f" after {rows[-1].batches} batches"
    where = f"{ranks} Horovod ranks in {len(hosts)} containers on {agents} agents"
    return f"{demo.how_it_ended(trained.experiment)}: {where}: {learnt}, {took_s:.0f} s after you started this."


if __name__ == "__main__":
    sys.exit(main())
