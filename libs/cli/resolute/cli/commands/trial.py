"""Trials: their description, their logs, their end."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Any

from resolute.cli import logs, output, times
from resolute.cli.errors import CliError, NotFound
from resolute.cli.login import session
from resolute.cli.session import Session
from resolute.cli.terminal import colour


def describe(args: Namespace) -> None:
    opened = session(args)
    path = f"/api/v1/trials/{args.trial_id}"
    trial = opened.get(path)["trial"]
    workloads = list(
        opened.pages(
            f"{path}/workloads",
            "workloads",
            {"includeBatchMetrics": args.metrics},
            limit=args.limit,
            offset=args.offset,
            only_first=args.pages == "1",
        )
    )
    if args.json:
        output.show_json({"trial": trial, "workloads": workloads})
        return
    output.show_table(
        ["Experiment ID", "State", "H-Params", "Summary Metrics", "Started", "Ended"],
        [_trial_row(trial)],
        as_csv=args.csv,
    )
    said = (output.why(f"Trial {args.trial_id}", trial), _log_line(opened, trial) if not args.csv else "")
    if any(said) and not args.csv:
        print("", *filter(None, said), sep="\n")
    print("\nWorkloads:")
    headers = [
        "# of Batches", "Report Time", "Checkpoint", "Checkpoint UUID", "Checkpoint Metadata",
        "Validation Metrics",
    ]  # fmt: skip
    headers += ["Workload Metrics"] if args.metrics else []
    output.show_table(headers, [_workload_row(each, args.metrics) for each in workloads], as_csv=args.csv)
    if args.metrics_summary:
        output.show_json(trial.get("summaryMetrics"))


def _log_line(opened: Session, trial: dict[str, Any]) -> str:
    """What became of the trial's log, or how much longer it is kept."""
    if removed_at := trial.get("logsRemovedAt"):
        return f"Log: what was printed before {times.shown(removed_at)} was removed; it was kept for long enough"
    try:
        remaining = opened.get(f"/api/v1/trials/{trial['id']}/remaining_log_retention_days").get("remainingDays")
    except NotFound:  # a master of an earlier release, which keeps all logs
        return ""
    if remaining is None:
        days = trial.get("logRetentionDays")
        return "Log: kept while the trial runs" + ("" if days is None else f", and after its end {times.kept(days)}")
    return f"Log: kept {times.kept(remaining)}{'' if remaining < 0 else ' more'}"


def set_log_retention(args: Namespace) -> None:
    days = -1 if args.forever else args.days
    body = {"trialId": args.trial_id, "numDays": days}
    session(args).put(f"/api/v1/trials/{args.trial_id}/retain_logs", body)
    print(f"Logs of trial {args.trial_id} are kept {times.kept(days)}")


def _trial_row(trial: dict[str, Any]) -> list[Any]:
    return [
        trial["experimentId"],
        output.state(trial["state"]),
        trial.get("hparams") or {},
        trial.get("summaryMetrics") or {},
        times.shown(trial.get("startTime")),
        times.shown(trial.get("endTime")),
    ]


def _workload_row(workload: dict[str, Any], metrics: bool) -> list[Any]:
    training, validation, checkpoint = (workload.get(k) for k in ("training", "validation", "checkpoint"))
    part = training or validation or checkpoint or {}
    kept = checkpoint or {}
    return [
        part.get("totalBatches"),
        times.shown(part.get("endTime")),
        output.state(kept.get("state", "")),
        kept.get("uuid"),
        kept.get("metadata"),
        _shown(validation),
        *([_shown(training)] if metrics else []),
    ]


def _shown(workload: dict[str, Any] | None) -> dict[str, Any] | None:
    """The averages; where a trial reported batch by batch, those too."""
    if workload is None:
        return None
    metrics = workload.get("metrics") or {}
    return metrics if metrics.get("batchMetrics") else metrics.get("avgMetrics")


def kill(args: Namespace) -> None:
    opened = session(args)
    for trial_id in args.trial_id.split(","):
        opened.post(f"/api/v1/trials/{trial_id}/kill")
        print(f"Killed trial {trial_id}")


def logs_(args: Namespace) -> int | None:
    query = logs.wanted(args)
    return print_logs(session(args), args.trial_id, query, follow=args.follow, as_json=args.json)


def experiment_logs(args: Namespace) -> int | None:
    """The log of the experiment's first trial."""
    query = logs.wanted(args)
    opened = session(args)
    trials = opened.get(f"/api/v1/experiments/{args.experiment_id}/trials").get("trials") or []
    if not trials:
        raise CliError(f"experiment {args.experiment_id} has no trial yet; see `det job list` for what it waits for")
    first = min(trial["id"] for trial in trials)
    return print_logs(opened, first, query, follow=args.follow, as_json=args.json)


def print_logs(opened: Session, trial_id: int, query: dict[str, Any], *, follow: bool, as_json: bool) -> int | None:
    """Prints a trial's log. An interruption stops only the printing; the command prints that the trial goes on."""
    try:
        logs.show(logs.lines(opened, f"/api/v1/trials/{trial_id}/logs", query, follow=follow), as_json=as_json)
    except KeyboardInterrupt:
        print(
            f"\nStopped printing; trial {trial_id} goes on. "
            f"Print again: det trial logs -f {trial_id}; stop it: det trial kill {trial_id}",
            file=sys.stderr,
        )
        return 3
    say_ended(trial_id)
    return None


def say_ended(trial_id: int) -> None:
    again = f"Trial log stream ended. To reopen log stream, run: det trial logs -f {trial_id}"
    print(colour(again, "green", sys.stderr), file=sys.stderr)
