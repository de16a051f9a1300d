"""Checkpoints: what they hold, and fetching their files."""

from __future__ import annotations

import tempfile
from argparse import Namespace
from itertools import islice
from pathlib import Path
from typing import Any

from determined.common import storage
from determined.common.client import checkpoint_files
from resolute.cli import confirmation, output, times
from resolute.cli.errors import ApiError, CliError
from resolute.cli.login import session
from resolute.cli.session import Session
from resolute.cli.terminal import Progress
from resolute.proto.states import WITH_FILES, CheckpointState

_WITH_FILES = tuple(f"STATE_{state}" for state in WITH_FILES)


def describe(args: Namespace) -> None:
    checkpoint = _fetch(session(args), args.uuid)
    if args.json:
        output.show_json(checkpoint)
    else:
        _show(checkpoint)


def download(args: Namespace) -> None:
    opened = session(args)
    _deliver(opened, _fetch(opened, args.uuid), args)


def download_of_trial(args: Namespace) -> None:
    if (args.sort_by is None) != (args.smaller_is_better is None):
        raise CliError("--sort-by and --smaller-is-better go together; give both or neither")
    if args.sort_by and not args.best:
        raise CliError("--sort-by says which is the best; it goes with --best")
    opened = session(args)
    _deliver(opened, _fetch(opened, args.uuid) if args.uuid else _choose(opened, args), args)


def download_of_experiment(args: Namespace) -> None:
    """Download the best checkpoints of an experiment, each into a folder of its own."""
    if (args.sort_by is None) != (args.smaller_is_better is None):
        raise CliError("--sort-by and --smaller-is-better go together; give both or neither")
    if args.top_n < 1:
        raise CliError(f"--top-n: expected at least 1; found {args.top_n}")
    opened = session(args)
    query = {**_best_first(args), "states": list(_WITH_FILES)}
    found = opened.pages(f"/api/v1/experiments/{args.experiment_id}/checkpoints", "checkpoints", query)
    best = list(islice((each for each in found if each["state"] in _WITH_FILES), args.top_n))
    if not best:
        raise CliError(f"experiment {args.experiment_id} has no complete checkpoint")
    for checkpoint in best:
        place = str(Path(args.output_dir) / checkpoint["uuid"])
        _deliver(opened, checkpoint, Namespace(output_dir=place, mode="auto", quiet=args.quiet))


def delete(args: Namespace) -> None:
    """Ask the master to remove checkpoints, split by commas; it does so afterwards."""
    uuids = _uuids(args)
    confirmation.confirmed(args.yes, f"Delete {len(uuids)} checkpoints with their files for good?")
    session(args).delete("/api/v1/checkpoints", {"checkpointUuids": uuids})
    print(f"Deletion of {len(uuids)} checkpoints is in progress")


def remove_files(args: Namespace) -> None:
    """Ask the master to remove the files of checkpoints that match; without a pattern their sizes are counted anew."""
    uuids = _uuids(args)
    if args.glob:
        confirmation.confirmed(args.yes, f"Remove what matches {', '.join(args.glob)} from {len(uuids)} checkpoints?")
    body = {"checkpointUuids": uuids, "checkpointGlobs": args.glob}
    session(args).post("/api/v1/checkpoints/rm", body)
    print(f"Removal of files from {len(uuids)} checkpoints is in progress")


def _uuids(args: Namespace) -> list[str]:
    return [each.strip() for each in args.checkpoints_uuids.split(",") if each.strip()]


def _choose(opened: Session, args: Namespace) -> dict[str, Any]:
    """The best or the latest whole checkpoint of a trial: the first in the order asked for."""
    if args.latest:
        order = {"sortByAttr": "SORT_BY_BATCH_NUMBER", "orderBy": "ORDER_BY_DESC"}
    else:
        order = _best_first(args)
    found = opened.pages(
        f"/api/v1/trials/{args.trial_id}/checkpoints", "checkpoints", {**order, "states": list(_WITH_FILES)}
    )
    for checkpoint in found:
        if checkpoint["state"] in _WITH_FILES:
            return checkpoint  # type: ignore[no-any-return]
    raise CliError(f"trial {args.trial_id} has no complete checkpoint; see `det trial describe {args.trial_id}`")


def _best_first(args: Namespace) -> dict[str, str]:
    """The order by the metric that is named, or by the searcher's."""
    if not args.sort_by:
        return {"sortByAttr": "SORT_BY_SEARCHER_METRIC"}
    upwards = "ORDER_BY_ASC" if args.smaller_is_better else "ORDER_BY_DESC"
    return {"sortByMetric": args.sort_by, "orderBy": upwards}


def _fetch(opened: Session, uuid: str) -> dict[str, Any]:
    checkpoint: dict[str, Any] = opened.get(f"/api/v1/checkpoints/{uuid}")["checkpoint"]
    return checkpoint


def _deliver(opened: Session, checkpoint: dict[str, Any], args: Namespace) -> None:
    if checkpoint["state"] not in _WITH_FILES:
        state = output.state(checkpoint["state"])
        raise CliError(
            f"checkpoint {checkpoint['uuid']} is {state}; only {CheckpointState.COMPLETED} ones can be downloaded"
        )
    target = Path(args.output_dir or Path("checkpoints") / checkpoint["uuid"])
    if not (target / storage.METADATA_FILE).exists():
        target.mkdir(parents=True, exist_ok=True)
        with checkpoint_files.arriving(target, last=(storage.METADATA_FILE,)) as folder:
            _copy(opened, checkpoint, folder, args.mode)
            checkpoint_files.write_metadata(folder, checkpoint)
    if args.quiet:
        print(target)
    else:
        print(f"Local checkpoint path:\n{target}\n")
        _show(checkpoint)


def _copy(opened: Session, checkpoint: dict[str, Any], target: Path, mode: str) -> None:
    """Bring the files here: from a storage that this machine shares with the trial, or through the master."""
    if mode != "master" and checkpoint_files.copied_from_storage(checkpoint, target):
        return
    if mode == "direct":
        raise CliError("this machine does not see the checkpoint's storage; try --mode master")
    _through_master(opened, checkpoint["uuid"], target)


def _through_master(opened: Session, uuid: str, target: Path) -> None:
    with tempfile.TemporaryFile() as archive, Progress("Downloading checkpoint") as progress:
        try:
            opened.download(f"/checkpoints/{uuid}", "application/gzip", archive, on_chunk=progress.say_size)
        except ApiError as error:
            raise CliError(f"the master could not hand out checkpoint {uuid}: {error}") from error
        checkpoint_files.unpack(archive, uuid, target)


def _show(checkpoint: dict[str, Any]) -> None:
    training, metadata = checkpoint.get("training") or {}, checkpoint.get("metadata") or {}
    headers = [
        "Experiment ID", "Trial ID", "Steps Completed", "Report Time", "Checkpoint UUID",
        "Validation Metrics", "Metadata",
    ]  # fmt: skip
    row = [
        training.get("experimentId"),
        training.get("trialId"),
        metadata.get("steps_completed"),
        times.shown(checkpoint.get("reportTime")),
        checkpoint["uuid"],
        (training.get("validationMetrics") or {}).get("avgMetrics"),
        metadata,
    ]
    output.show_table(headers, [row])
