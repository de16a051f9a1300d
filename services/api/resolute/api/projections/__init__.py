"""The read model's projections: event -> rows that people look at. Pure; times are when the log recorded them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from resolute.api.projections import checkpoints, experiments, identity, pools, trials
from resolute.api.projections.statement import Statement
from resolute.proto.message import Recorded

SCHEMA = "read_v1"
DDL = Path(__file__).with_name("v1.sql")

BY_CATEGORY: Mapping[str, tuple[Callable[[Recorded], list[Statement]], ...]] = {
    "user": (identity.project,),
    "workspace": (identity.project,),
    "experiment": (experiments.project, trials.project),
    "pool": (pools.project,),
    "checkpoints": (checkpoints.project,),
}


def project(recorded: Recorded) -> list[Statement]:
    """What `recorded` changes in the read model."""
    return [change for projection in BY_CATEGORY.get(recorded.category, ()) for change in projection(recorded)]


@cache
def fingerprint() -> str:
    """Of these projections and their tables: tables grown by others may show something else."""
    files = [file for file in sorted(DDL.parent.iterdir()) if file.suffix in (".py", ".sql")]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
