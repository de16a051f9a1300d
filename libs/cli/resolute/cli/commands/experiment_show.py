"""Looking at experiments: lists, descriptions, configurations, trials, checkpoints."""

from __future__ import annotations

import csv
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from resolute.cli import output, times
from resolute.cli.commands.experiment import fetch, ids, path
from resolute.cli.login import session
from resolute.cli.session import Session
from resolute.proto.states import CheckpointState, End

Table = tuple[str, list[str], list[list[Any]]]


def list_(args: Namespace) -> None:
    opened = session(args)
    query = {} if args.all else {"archived": False, "users": [opened.user]}
    found = opened.pages(
        "/api/v1/experiments",
        "experiments",
        query,
        limit=args.limit,
        offset=args.offset,
        only_first=args.pages == "1",
    )
    show_experiments(args, list(found), show_project=args.show_project, as_csv=args.csv)


def show_experiments(
    args: Namespace, found: Sequence[dict[str, Any]], *, show_project: bool = False, as_csv: bool = False
) -> None:
    """As the options `--json` and `--all` say."""
    if args.json:
        output.show_json(found)
        return
    headers = ["ID", "Owner", "Name", "Parent ID", "State", "Progress", "Started", "Ended", "Resource Pool"]
    headers = (["Workspace", "Project"] if show_project else []) + headers
    headers += ["Archived"] if args.all else []
    rows = [_list_row(each, show_project=show_project, show_archived=args.all) for each in found]
    output.show_table(headers, rows, as_csv=as_csv)


def _list_row(experiment: dict[str, Any], *, show_project: bool, show_archived: bool) -> list[Any]:
    project = [experiment.get("workspaceName"), experiment.get("projectName")] if show_project else []
    archived = [experiment["archived"]] if show_archived else []
    return [
        *project,
        experiment["id"],
        experiment["username"],
        experiment["name"],
        experiment.get("forkedFrom"),
        output.state(experiment["state"]),
        times.percent(experiment.get("progress")),
        times.shown(experiment.get("startTime")),
        times.shown(experiment.get("endTime")),
        experiment.get("resourcePool"),
        *archived,
    ]


def config(args: Namespace) -> None:
    document = fetch(session(args), args.experiment_id)["config"]
    (output.show_json if args.json else output.show_yaml)(document)


def list_trials(args: Namespace) -> None:
    found = session(args).pages(
        f"{path(args.experiment_id)}/trials",
        "trials",
        limit=args.limit,
        offset=args.offset,
        only_first=args.pages == "1",
    )
    if args.json:
        output.show_json(list(found))
        return
    headers = ["Trial ID", "State", "H-Params", "Started", "Ended", "# of Batches"]
    rows = [
        [
            trial["id"],
            output.state(trial["state"]),
            trial.get("hparams") or {},
            times.shown(trial.get("startTime")),
            times.shown(trial.get("endTime")),
            trial["totalBatchesProcessed"],
        ]
        for trial in found
    ]
    output.show_table(headers, rows, as_csv=args.csv)


def list_checkpoints(args: Namespace) -> None:
    best = args.best is not None
    query = {
        "sortByAttr": "SORT_BY_SEARCHER_METRIC" if best else "SORT_BY_END_TIME",
        "limit": args.best,
        "states": [f"STATE_{CheckpointState.COMPLETED}"] if best else None,
    }
    found = session(args).get(f"{path(args.experiment_id)}/checkpoints", query).get("checkpoints") or []
    if args.json:
        output.show_json(found)
        return
    headers = ["Trial ID", "# of Batches", "State", "Validation Metric", "UUID", "Resources", "Size"]
    output.show_table(headers, [_checkpoint_row(each, args.csv) for each in found], as_csv=args.csv)


def _checkpoint_row(checkpoint: dict[str, Any], as_csv: bool) -> list[Any]:
    training = checkpoint.get("training") or {}
    resources = checkpoint.get("resources") or {}
    total = sum(int(count) for count in resources.values())
    return [
        training.get("trialId"),
        (checkpoint.get("metadata") or {}).get("steps_completed"),
        output.state(checkpoint["state"]),
        training.get("searcherMetric"),
        checkpoint["uuid"],
        (";" if as_csv else "\n").join(sorted(resources)),
        total if as_csv else times.size(total),
    ]


def describe(args: Namespace) -> None:
    opened = session(args)
    answers = [opened.get(path(experiment_id)) for experiment_id in ids(args.experiment_ids)]
    if args.json:
        output.show_json(answers)
        return
    experiments = [answer["experiment"] for answer in answers]
    for title, headers, rows in _tables(opened, experiments, args.metrics):
        if args.outdir:
            _write_csv(args.outdir / f"{title.lower()}.csv", headers, rows)
        else:
            print(f"{title}:" if title == "Experiment" else f"\n{title}:")
            output.show_table(headers, rows, as_csv=args.csv)
    if not args.csv and not args.outdir:
        _explain(opened, experiments)


def _explain(opened: Session, experiments: Sequence[dict[str, Any]]) -> None:
    """Why an experiment is where it is, and where to look for more, unless it went well."""
    for experiment in experiments:
        if why := output.why(f"Experiment {experiment['id']}", experiment):
            print(f"\n{why}")
            failed = {"states": [f"STATE_{End.ERROR}"], "limit": 1}
            for trial in opened.get(f"{path(experiment['id'])}/trials", failed).get("trials") or []:
                print(f"`det trial logs {trial['id']}` shows what trial {trial['id']} wrote.")


def _tables(opened: Session, experiments: Sequence[dict[str, Any]], metrics: bool) -> Iterator[Table]:
    yield "Experiment", _EXPERIMENT_HEADERS, [_experiment_row(each) for each in experiments]
    trials = [trial for each in experiments for trial in opened.pages(f"{path(each['id'])}/trials", "trials")]
    yield "Trials", _TRIAL_HEADERS, [_trial_row(trial) for trial in trials]
    steps = [step for trial in trials for step in _steps(opened, trial["id"])]
    training, validation = _metric_names(steps, "training"), _metric_names(steps, "validation")
    if not metrics:
        training, validation = [], []
    headers = [
        "Trial ID",
        "# of Batches",
        "State",
        "Report Time",
        *(f"Training Metric: {name}" for name in training),
        "Checkpoint State",
        "Checkpoint Report Time",
        "Validation State",
        "Validation Report Time",
        *(f"Validation Metric: {name}" for name in validation),
    ]
    yield "Workloads", headers, [_step_row(step, training, validation) for step in steps]


_EXPERIMENT_HEADERS = [
    "Experiment ID", "State", "Progress", "Started", "Ended", "Name", "Description", "Archived",
    "Resource Pool", "Labels",
]  # fmt: skip
_TRIAL_HEADERS = ["Trial ID", "Experiment ID", "State", "Started", "Ended", "H-Params"]


def _experiment_row(experiment: dict[str, Any]) -> list[Any]:
    return [
        experiment["id"],
        output.state(experiment["state"]),
        times.percent(experiment.get("progress")),
        times.shown(experiment.get("startTime")),
        times.shown(experiment.get("endTime")),
        experiment["name"],
        experiment.get("description"),
        experiment["archived"],
        experiment.get("resourcePool"),
        ", ".join(sorted(experiment.get("labels") or [])),
    ]


def _trial_row(trial: dict[str, Any]) -> list[Any]:
    return [
        trial["id"],
        trial["experimentId"],
        output.state(trial["state"]),
        times.shown(trial.get("startTime")),
        times.shown(trial.get("endTime")),
        trial.get("hparams") or {},
    ]


def _steps(opened: Session, trial_id: int) -> list[dict[str, Any]]:
    """What a trial reported, one entry for each number of batches that something was reported at."""
    steps: dict[int, dict[str, Any]] = {}
    for workload in opened.pages(f"/api/v1/trials/{trial_id}/workloads", "workloads", limit=500):
        for kind in ("training", "validation", "checkpoint"):
            if part := workload.get(kind):
                batches = part["totalBatches"]
                steps.setdefault(batches, {"trial": trial_id, "batches": batches})[kind] = part
    return [steps[batches] for batches in sorted(steps)]


def _metric_names(steps: Sequence[dict[str, Any]], kind: str) -> list[str]:
    return sorted({name for step in steps for name in _averages(step.get(kind))})


def _averages(workload: dict[str, Any] | None) -> dict[str, Any]:
    return ((workload or {}).get("metrics") or {}).get("avgMetrics") or {}


def _step_row(step: dict[str, Any], training: Sequence[str], validation: Sequence[str]) -> list[Any]:
    trained, checked, kept = (step.get(kind) or {} for kind in ("training", "validation", "checkpoint"))
    return [
        step["trial"],
        step["batches"],
        End.COMPLETED,
        times.shown(trained.get("endTime") or checked.get("endTime") or kept.get("endTime")),
        *(_averages(trained).get(name) for name in training),
        output.state(kept.get("state", "")),
        times.shown(kept.get("endTime")),
        End.COMPLETED if checked else "",
        times.shown(checked.get("endTime")),
        *(_averages(checked).get(name) for name in validation),
    ]


def _write_csv(file: Path, headers: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as out:
        csv.writer(out).writerows([headers, *rows])
    print(file)
