"""Steering experiments: pause, activate, kill, wait, delete, rename and the like."""

from __future__ import annotations

import base64
import time
from argparse import Namespace
from typing import Any

from determined.common.client import places
from resolute.cli import confirmation, output, times
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.retrying import retry_while_unreachable
from resolute.cli.session import Session
from resolute.cli.terminal import Progress
from resolute.proto.states import End, is_finished


def path(experiment_id: int | str) -> str:
    return f"/api/v1/experiments/{experiment_id}"


def fetch(opened: Session, experiment_id: int) -> dict[str, Any]:
    experiment: dict[str, Any] = opened.get(path(experiment_id))["experiment"]
    return experiment


def activate(args: Namespace) -> None:
    _do(args, "activate", "Activated")


def pause(args: Namespace) -> None:
    _do(args, "pause", "Paused")


def cancel(args: Namespace) -> None:
    _do(args, "cancel", "Canceled")


def archive(args: Namespace) -> None:
    _do(args, "archive", "Archived")


def unarchive(args: Namespace) -> None:
    _do(args, "unarchive", "Unarchived")


def kill(args: Namespace) -> None:
    opened = session(args)
    for experiment_id in ids(args.experiment_id):
        opened.post(f"{path(experiment_id)}/kill")
        print(f"Killed experiment {experiment_id}")


def delete(args: Namespace) -> None:
    doomed = ids(args.experiment_id)
    opened = session(args)
    confirmation.confirmed(
        args.yes, f"Delete experiment {args.experiment_id} with its logs, metrics and checkpoints for good?"
    )
    for experiment_id in doomed:
        opened.delete(path(experiment_id))
        print(f"Deletion of experiment {experiment_id} is in progress")


def delete_tb_files(args: Namespace) -> None:
    session(args).delete(f"{path(args.experiment_id)}/tensorboard-files")
    print(f"Deleted the TensorBoard files of experiment {args.experiment_id}")


def move(args: Namespace) -> None:
    opened = session(args)
    if (workspace := places.workspace_named(opened, args.workspace_name)) is None:
        raise CliError(f"there is no workspace named {args.workspace_name!r}")
    if (project := places.project_named(opened, workspace["id"], args.project_name)) is None:
        raise CliError(f"workspace {args.workspace_name!r} has no project named {args.project_name!r}")
    body = {"experimentId": args.experiment_id, "destinationProjectId": project["id"]}
    opened.post(f"{path(args.experiment_id)}/move", body)
    print(f"Moved experiment {args.experiment_id} to project '{project['name']}'")


def wait(args: Namespace) -> int:
    """Wait until the experiment has ended; the status is 0 only when it completed."""
    return wait_for(session(args), args.experiment_id, args.polling_interval)


def wait_for(opened: Session, experiment_id: int, interval_s: float) -> int:
    with Progress(f"Experiment {experiment_id}:") as progress:
        while True:
            experiment = retry_while_unreachable(lambda: fetch(opened, experiment_id))
            state = output.state(experiment["state"])
            if is_finished(state):
                break
            progress.say(f"{state} {times.percent(experiment.get('progress'))}")
            time.sleep(interval_s)
    why = f": {experiment['stateReason']}" if state != End.COMPLETED and experiment.get("stateReason") else ""
    print(f"Experiment {experiment_id} ended in state {state}{why}")
    return 0 if state == End.COMPLETED else 1


def download_model_def(args: Namespace) -> None:
    archive = base64.b64decode(session(args).get(f"{path(args.experiment_id)}/model_def")["b64Tgz"])
    args.output_dir.mkdir(parents=True, exist_ok=True)
    target = args.output_dir / f"experiment_{args.experiment_id}_model_def.tgz"
    target.write_bytes(archive)
    print(target)


def label_add(args: Namespace) -> None:
    session(args).put(f"{path(args.experiment_id)}/labels/{args.label}")
    print(f"Added label '{args.label}' to experiment {args.experiment_id}")


def label_remove(args: Namespace) -> None:
    session(args).delete(f"{path(args.experiment_id)}/labels/{args.label}")
    print(f"Removed label '{args.label}' from experiment {args.experiment_id}")


def set_name(args: Namespace) -> None:
    _patch(args, {"name": args.name})
    print(f"Set name of experiment {args.experiment_id} to '{args.name}'")


def set_description(args: Namespace) -> None:
    _patch(args, {"description": args.description})
    print(f"Set description of experiment {args.experiment_id} to '{args.description}'")


def set_max_slots(args: Namespace) -> None:
    _set_resource(args, "max_slots", "maxSlots", args.max_slots)


def set_weight(args: Namespace) -> None:
    _set_resource(args, "weight", "weight", args.weight)


def set_priority(args: Namespace) -> None:
    _set_resource(args, "priority", "priority", args.priority)


def set_log_retention(args: Namespace) -> None:
    days = -1 if args.forever else args.days
    body = {"experimentId": args.experiment_id, "numDays": days}
    session(args).put(f"{path(args.experiment_id)}/retain_logs", body)
    print(f"Logs of experiment {args.experiment_id} are kept {times.kept(days)}")


def set_max_restarts(args: Namespace) -> None:
    _patch(args, {"maxRestarts": args.max_restarts})
    print(f"Set `max_restarts` of experiment {args.experiment_id} to {args.max_restarts}")


def set_gc_policy(args: Namespace) -> None:
    """Sets the policy; without --yes, first shows which checkpoints it would delete, and asks."""
    opened = session(args)
    kept = {name: getattr(args, name) for name in ("save_experiment_best", "save_trial_best", "save_trial_latest")}
    if not args.yes:
        doomed = opened.get(f"/experiments/{args.experiment_id}/preview_gc", kept)
        _show_doomed(doomed.get("checkpoints") or [], doomed.get("metric_name") or "")
        confirmation.confirmed(False, "Change the policy and delete these checkpoints?")
    policy = dict(zip(("saveExperimentBest", "saveTrialBest", "saveTrialLatest"), kept.values(), strict=True))
    opened.patch(path(args.experiment_id), {"id": args.experiment_id, "checkpointStorage": policy})
    print(f"Set GC policy of experiment {args.experiment_id} to {kept}")


def _show_doomed(checkpoints: list[dict[str, Any]], metric: str) -> None:
    print(f"The new policy deletes {len(checkpoints)} checkpoints:")
    headers = ["Trial ID", "# of Batches", "State", f"Validation Metric\n({metric})", "UUID", "Resources"]
    rows = []
    for checkpoint in checkpoints:
        training, metadata = checkpoint.get("training") or {}, checkpoint.get("metadata") or {}
        rows.append(
            [
                training.get("trialId"),
                metadata.get("steps_completed"),
                output.state(checkpoint["state"]),
                training.get("searcherMetric"),
                checkpoint["uuid"],
                "\n".join(sorted(checkpoint.get("resources") or {})),
            ]
        )
    output.show_table(headers, rows)


def ids(text: str) -> list[int]:
    """`7` or `7,8,9`."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise CliError(f"experiment IDs are numbers split by commas, found {text!r}") from None


def _do(args: Namespace, verb: str, done: str) -> None:
    session(args).post(f"{path(args.experiment_id)}/{verb}")
    print(f"{done} experiment {args.experiment_id}")


def _patch(args: Namespace, changes: dict[str, Any]) -> None:
    session(args).patch(path(args.experiment_id), {"id": args.experiment_id, **changes})


def _set_resource(args: Namespace, name: str, key: str, value: Any) -> None:
    _patch(args, {"resources": {key: value}})
    print(f"Set `{name}` of experiment {args.experiment_id} to {value}")
