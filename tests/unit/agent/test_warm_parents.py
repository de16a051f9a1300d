"""A warm parent that cannot be started: tasks go on without one, and no descriptor stays open."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from resolute.agent.environment import BOOTSTRAP
from resolute.agent.runtime import Launch
from resolute.agent.warm import WarmParents, WarmSettings


def test_a_parent_that_cannot_be_started_leaves_nothing_open(tmp_path: Path) -> None:
    no_folder = tmp_path / "file"
    no_folder.touch()
    parents = WarmParents(WarmSettings(sys.executable, (), 60.0, no_folder / "warm"))
    before = set(os.listdir("/proc/self/fd"))
    parents.ended(Launch("r1", (sys.executable, *BOOTSTRAP), {}), tmp_path / "imported")
    assert set(os.listdir("/proc/self/fd")) == before
    assert parents.ready() == []
