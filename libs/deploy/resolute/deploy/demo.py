"""`make demo`: a cluster on this machine trains a real model while you watch, and a table says how it went.

The cluster stays up afterwards, so that there is something to look around in; `--down` takes it down again. Its data
stay in `.resolute/demo`, and a second demo adds an experiment to them.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from resolute.cli.session import Session
from resolute.deploy import checks, cluster, commands, processes
from resolute.deploy.args import ClusterDown, ClusterUp
from resolute.deploy.next_steps import PAGE
from resolute.deploy.paths import ClusterPaths
from resolute.proto.errors import ResoluteError

NAME = "demo"
USER = "determined"
COMPLETED = "STATE_COMPLETED"
AMOUNTS = {"batches", "epochs"}
"""How far training was, which some frameworks report among the metrics."""


@dataclass(frozen=True, slots=True)
class Validation:
    batches: int
    metrics: dict[str, float]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make demo", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data-dir", type=Path, default=Path(".resolute/demo"), help="where the cluster lives")
    parser.add_argument("--example", type=Path, default=Path("examples/mnist_pytorch"), help="what to train")
    parser.add_argument("--config", default="const.yaml", help="its configuration")
    parser.add_argument("--down", action="store_true", help="take the cluster down again")
    args = parser.parse_args(argv)
    began_at = time.monotonic()
    try:
        url = bring_up(ClusterUp(cluster_name=NAME, agents=1, slots=2, gpu=False, data_dir=args.data_dir))
        try:
            trained = train(url, [str(args.example / args.config), str(args.example)])
            if trained is not None:
                show(trained)
                print(
                    f"{how_it_ended(trained.experiment)}, {time.monotonic() - began_at:.0f} s after you started this.\n"
                )
                where_next(trained, url, NAME, args.data_dir)
        finally:
            if args.down:
                commands.cluster_down(ClusterDown(NAME, args.data_dir))
    except ResoluteError as error:
        print(f"make demo: {error.message}", file=sys.stderr)
        return 1
    return 0 if trained is not None and trained.completed else 1


def bring_up(wanted: ClusterUp) -> str:
    """The address of the demo's cluster, which may be up from an earlier demo."""
    paths = ClusterPaths.of(wanted.cluster_name, wanted.data_dir)
    known = cluster.load(paths)
    if known is not None and processes.supervisor_pid(paths) is not None:
        print(f"the cluster of an earlier demo is up at {known.url}")
        return known.url
    port = checks.free_port(known.port if known else 8080)
    commands.cluster_up(replace(wanted, master_port=port))
    made = cluster.load(paths)
    assert made is not None, "a cluster that is up is described"
    return made.url


@dataclass(frozen=True)
class Trained:
    """An experiment that has ended, and the session for questions about it."""

    session: Session
    experiment: Any
    trials: Sequence[Any]

    @property
    def completed(self) -> bool:
        return str(self.experiment["state"]) == COMPLETED


def train(url: str, words: Sequence[str]) -> Trained | None:
    """Submit an experiment by `det experiment create`, whose arguments are `words`, and show its log until it ends."""
    det = [str(Path(sys.executable).parent / "det"), "-m", url, "-u", USER]
    experiment_id = submit_and_follow([*det, "experiment", "create", *words, "-f"])
    if experiment_id is None:
        return None
    session = Session(url)
    session.token = session.post("/api/v1/auth/login", {"username": USER, "password": ""})["token"]
    ended = wait_for_end(session, experiment_id)
    return Trained(session, ended, session.get(f"/api/v1/experiments/{experiment_id}/trials")["trials"])


def submit_and_follow(command: Sequence[str]) -> int | None:
    """Runs `det experiment create … -f`, and prints its output. Returns the id of the experiment, if it printed one."""
    print("$ det " + " ".join(command[5:]), flush=True)
    experiment_id: int | None = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            if experiment_id is None and (created := re.search(r"Created experiment (\d+)", line)):
                experiment_id = int(created[1])
    return experiment_id


def wait_for_end(session: Session, experiment_id: int, within_s: float = 60) -> Any:
    """The log ends a moment before the experiment does."""
    deadline = time.monotonic() + within_s
    while True:
        experiment = session.get(f"/api/v1/experiments/{experiment_id}")["experiment"]
        if experiment.get("endTime") or time.monotonic() > deadline:
            return experiment
        time.sleep(0.2)


def show(trained: Trained) -> None:
    """The validations of each trial over time, and the best checkpoint."""
    console, session, experiment = Console(), trained.session, trained.experiment
    checkpoints = session.get(f"/api/v1/experiments/{experiment['id']}/checkpoints")["checkpoints"]
    for trial in trained.trials:
        console.print(f"\nExperiment {experiment['id']} ({experiment['name']}), trial {trial['id']}", highlight=False)
        console.print(table(experiment, validations_of(session, trial["id"])))
    console.print(best_checkpoint(experiment, checkpoints), soft_wrap=True, highlight=False)


def how_it_ended(experiment: Any) -> str:
    return f"Experiment {experiment['id']} is {str(experiment['state']).removeprefix('STATE_').lower()}"


def validations_of(session: Session, trial_id: int) -> list[Validation]:
    return validations(session.get(f"/api/v1/trials/{trial_id}/workloads", {"limit": 1000})["workloads"])


def validations(workloads: Sequence[Any]) -> list[Validation]:
    found = [work["validation"] for work in workloads if work.get("validation")]
    rows = [Validation(work["totalBatches"], (work.get("metrics") or {}).get("avgMetrics") or {}) for work in found]
    return sorted(rows, key=lambda row: row.batches)


def table(experiment: Any, rows: Sequence[Validation]) -> Table:
    """Validation metrics over time, the searcher's own first."""
    wanted = experiment["config"]["searcher"]["metric"]
    names = sorted({name for row in rows for name in row.metrics} - AMOUNTS, key=lambda name: (name != wanted, name))
    made = Table()
    made.add_column("batches", justify="right")
    for name in names:
        made.add_column(name, justify="right")
    for row in rows:
        made.add_row(str(row.batches), *(_number(row.metrics.get(name)) for name in names))
    return made


def best_checkpoint(experiment: Any, checkpoints: Sequence[Any]) -> str:
    searcher = experiment["config"]["searcher"]
    sign = 1 if searcher.get("smaller_is_better", True) else -1

    def rank(checkpoint: Any) -> float:
        metric = _metric_of(checkpoint)
        return float("inf") if metric is None else sign * metric

    if not checkpoints:
        return "No checkpoint."
    best = min(checkpoints, key=rank)
    batches = (best.get("metadata") or {}).get("steps_completed", "?")
    metric = f"{searcher['metric']} {_number(_metric_of(best))}"
    return f"Best checkpoint: [bold]{best['uuid']}[/bold], {metric} at {batches} batches"


def where_next(trained: Trained, url: str, cluster_name: str, data_dir: Path) -> None:
    experiment_id, trial_id = trained.experiment["id"], trained.trials[0]["id"] if trained.trials else 1
    words = {
        f"det experiment describe {experiment_id}": "what it was and how it went",
        f"det trial logs {trial_id}": "every line it wrote",
        f"det experiment list-checkpoints {experiment_id}": "what it left",
        f"resolute log show experiment-{experiment_id} --data-dir {data_dir}": "every decision, and why",
        f"det deploy local cluster-down --cluster-name {cluster_name} --data-dir {data_dir}": "when you are done",
    }
    print(f"The cluster stays up. Look at the experiment in a browser: {url}{PAGE}experiments/{experiment_id}")
    print(f"Sign in there as {USER}, without a password. Or type:")
    print(f"  export DET_MASTER={url} {_path()}".rstrip())
    for command, what in words.items():
        print(f"  {command}   # {what}")


def _path() -> str:
    """How to find `det`, for a shell that does not."""
    beside = Path(sys.executable).parent
    found = shutil.which("det")
    return "" if found and Path(found).parent == beside else f'PATH="{beside}:$PATH"'


def _metric_of(checkpoint: Any) -> float | None:
    training = checkpoint.get("training") or {}
    metric = training.get("searcherMetric")
    return float(metric) if metric is not None else None


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value if value is not None else "-")


if __name__ == "__main__":
    sys.exit(main())
