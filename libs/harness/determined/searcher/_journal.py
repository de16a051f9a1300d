"""What a runner keeps on disk: its experiment, and the state of the search after the latest event that it answered."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import uuid
from collections.abc import Callable
from typing import Any

_CURRENT = "current.json"
_BEGUN = "begun.json"


class Journal:
    """The journal in a folder. A step is written completely before `current.json` names it, so a crash in between
    leaves the step before."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def submission(self) -> dict[str, Any]:
        """The idempotency key with which the experiment is submitted, always the same, and its number once it is
        known."""
        try:
            found: dict[str, Any] = json.loads((self._folder / _BEGUN).read_text())
        except FileNotFoundError:
            found = {"key": str(uuid.uuid4()), "experiment_id": None}
            self._write(_BEGUN, found)
        return found

    def began(self, experiment_id: int) -> None:
        self._write(_BEGUN, {**self.submission(), "experiment_id": experiment_id})

    def latest(self) -> tuple[dict[str, Any], pathlib.Path] | None:
        """The latest step, and the folder with the state of the search method."""
        try:
            step = json.loads((self._folder / _CURRENT).read_text())["step"]
        except FileNotFoundError:
            return None
        folder = self._folder / step
        return json.loads((folder / "step.json").read_text()), folder / "method"

    def write(self, event_id: int, step: dict[str, Any], save_method: Callable[[pathlib.Path], None]) -> None:
        name = f"event-{event_id}"
        folder = self._folder / name
        shutil.rmtree(folder, ignore_errors=True)  # left by a process that was killed while it wrote this step
        (folder / "method").mkdir(parents=True)
        save_method(folder / "method")
        (folder / "step.json").write_text(json.dumps(step))
        self._write(_CURRENT, {"step": name})
        for other in self._folder.glob("event-*"):
            if other.name != name:
                shutil.rmtree(other, ignore_errors=True)

    def _write(self, name: str, document: dict[str, Any]) -> None:
        draft = self._folder / f"{name}.new"
        draft.write_text(json.dumps(document))
        os.replace(draft, self._folder / name)
