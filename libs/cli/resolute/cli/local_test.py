"""`--local --test-mode`: one batch of a trial class on this machine, without any cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from resolute.cli.errors import CliError


def run(config: Mapping[str, Any], directory: Path) -> int:
    """Train, validate and checkpoint the trial class once, in a process of its own in its directory.

    The process shares our terminal, so a traceback is seen as it is; the status is 1 if it failed.
    """
    entrypoint = config.get("entrypoint")
    if not isinstance(entrypoint, str) or not _is_trial_class(entrypoint):
        raise CliError(
            f"entrypoint {entrypoint!r} is a script; --local --test-mode runs trial classes (file:Class). "
            "A script runs by itself: try it without det"
        )
    print(f"Testing {entrypoint} locally: one batch of training, one of validation, one checkpoint")
    child = subprocess.run(
        [sys.executable, "-m", "resolute.cli.local_trial"],
        input=json.dumps(dict(config), default=str),
        text=True,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(directory.resolve()), os.environ.get("PYTHONPATH", "")])},
        check=False,
    )
    if child.returncode != 0:
        raise CliError(f"the local test of {entrypoint} failed with status {child.returncode}; its traceback is above")
    print("Model definition test succeeded")
    return 0


def _is_trial_class(entrypoint: str) -> bool:
    module, colon, name = entrypoint.partition(":")
    return bool(colon) and module.replace(".", "_").isidentifier() and name.isidentifier()
