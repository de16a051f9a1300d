"""A support bundle: the logs of a trial and of the master, and what the master knows of both, in one archive."""

from __future__ import annotations

import io
import json
import tarfile
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from resolute.cli.commands.master import log_lines
from resolute.cli.login import session
from resolute.cli.session import Session


def gather(args: Namespace) -> None:
    """Write `det-bundle-trial-ID-TIME.tar.gz`, and print its path."""
    opened = session(args)
    trial = opened.get(f"/api/v1/trials/{args.trial_id}")
    experiment = opened.get(f"/api/v1/experiments/{trial['trial']['experimentId']}")
    name = f"det-bundle-trial-{args.trial_id}-{datetime.now(UTC):%Y%m%dT%H%M%S}"
    held = {
        "trial_logs.txt": _trial_log(opened, args.trial_id),
        "master_logs.txt": "".join(f"{line}\n" for line in log_lines(opened, {})),
        "api_experiment_call.json": _as_json(experiment),
        "api_trial_call.json": _as_json(trial),
    }
    folder = Path(args.output_dir or ".")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"{name}.tar.gz"
    with tarfile.open(target, "w:gz") as archive:
        for file, text in held.items():
            _add(archive, f"{name}/{file}", text)
    print(f"Support bundle: {target}")


def _trial_log(opened: Session, trial_id: int) -> str:
    lines = (str(each["message"]).rstrip("\n") for each in opened.stream(f"/api/v1/trials/{trial_id}/logs"))
    return "".join(f"{line}\n" for line in lines)


def _as_json(document: Any) -> str:
    return json.dumps(document, indent=2, sort_keys=True)


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    content = text.encode()
    entry = tarfile.TarInfo(name)
    entry.size = len(content)
    entry.mtime = int(datetime.now(UTC).timestamp())
    archive.addfile(entry, io.BytesIO(content))
