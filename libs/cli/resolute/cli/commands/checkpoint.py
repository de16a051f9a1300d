"""Checkpoints: what they hold, and fetching their files."""

from __future__ import annotations

import json
import shutil
import tarfile
import tempfile
from argparse import Namespace
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from determined.common import storage
from determined.errors import CheckpointNotFound
from resolute.cli import output, times
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


def _choose(opened: Session, args: Namespace) -> dict[str, Any]:
    """The best or the latest whole checkpoint of a trial: the first in the order asked for."""
    if args.latest:
        order = {"sortByAttr": "SORT_BY_BATCH_NUMBER", "orderBy": "ORDER_BY_DESC"}
    elif args.sort_by:
        upwards = "ORDER_BY_ASC" if args.smaller_is_better else "ORDER_BY_DESC"
        order = {"sortByMetric": args.sort_by, "orderBy": upwards}
    else:
        order = {"sortByAttr": "SORT_BY_SEARCHER_METRIC"}
    found = opened.pages(
        f"/api/v1/trials/{args.trial_id}/checkpoints", "checkpoints", {**order, "states": list(_WITH_FILES)}
    )
    for checkpoint in found:
        if checkpoint["state"] in _WITH_FILES:
            return checkpoint  # type: ignore[no-any-return]
    raise CliError(f"trial {args.trial_id} has no complete checkpoint; see `det trial describe {args.trial_id}`")


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
        _copy(opened, checkpoint, target, args.mode)
        _write_metadata(target, checkpoint)
    if args.quiet:
        print(target)
    else:
        print(f"Local checkpoint path:\n{target}\n")
        _show(checkpoint)


def _copy(opened: Session, checkpoint: dict[str, Any], target: Path, mode: str) -> None:
    """Bring the files here: from a storage that this machine shares with the trial, or through the master."""
    if mode != "master" and _from_this_machine(checkpoint, target):
        return
    if mode == "direct":
        raise CliError("this machine does not see the checkpoint's storage; try --mode master")
    _through_master(opened, checkpoint["uuid"], target)


def _from_this_machine(checkpoint: dict[str, Any], target: Path) -> bool:
    """Copy the files from the checkpoint's storage; False where this machine does not see them."""
    config = (checkpoint.get("training") or {}).get("experimentConfig") or {}
    with ExitStack() as stack:
        try:
            place = storage.open_storage(config.get("checkpoint_storage") or {}, storage.Access.HOST)
            source = stack.enter_context(place.restore_path(checkpoint["uuid"]))
        except (ValueError, CheckpointNotFound):  # ValueError: of a type that this release has no back end for
            return False
        shutil.copytree(source, target, dirs_exist_ok=True)
    return True


def _through_master(opened: Session, uuid: str, target: Path) -> None:
    with tempfile.TemporaryFile() as archive, Progress("Downloading checkpoint") as progress:
        try:
            opened.download(f"/checkpoints/{uuid}", "application/gzip", archive, on_chunk=progress.say_size)
        except ApiError as error:
            raise CliError(f"the master could not hand out checkpoint {uuid}: {error}") from error
        archive.seek(0)
        target.mkdir(parents=True, exist_ok=True)
        try:
            with tarfile.open(fileobj=archive, mode="r:gz") as tar:
                tar.extractall(target, filter="data")
        except (tarfile.TarError, EOFError) as error:
            raise CliError(f"the archive of checkpoint {uuid} arrived broken ({error}); try again") from error


def _write_metadata(target: Path, checkpoint: dict[str, Any]) -> None:
    """`metadata.json` beside the files, where older checkpoints lack it; loaders look for it."""
    file = target / storage.METADATA_FILE
    if not file.exists():
        file.write_text(json.dumps(checkpoint.get("metadata") or {}, indent=2))


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
