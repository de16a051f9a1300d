"""The read model's projections: event -> rows that people look at. Pure; times are when the log recorded them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from resolute.api.projections import checkpoints, experiments, identity, pools, trials
from resolute.api.projections.statement import Statement
from resolute.proto import streams
from resolute.proto.message import Recorded

VERSION = 4
"""Raise it by one with every change of what the projections or `tables.sql` make of the log, and with nothing else:
gateways of this version grow tables of their own beside those of other versions. `test_projection_version.py` fails
when the outcome is no longer that in `outcome.json`."""

SCHEMA = f"read_v{VERSION}"
"""The Postgres schema of this version's tables."""

WRITTEN_FOR = "read_v1"
"""The name of the schema in all SQL of the gateway. `ReadModel` puts the name of its own schema in its place."""

DDL = Path(__file__).with_name("tables.sql")

BY_CATEGORY: Mapping[str, tuple[Callable[[Recorded], list[Statement]], ...]] = {
    streams.USER.name: (identity.project,),
    streams.SETTINGS.name: (identity.project,),
    streams.WORKSPACE.name: (identity.project,),
    streams.EXPERIMENT.name: (experiments.project, trials.project),
    streams.POOL.name: (pools.project,),
    streams.CHECKPOINTS.name: (checkpoints.project,),
}


def project(recorded: Recorded) -> list[Statement]:
    """What `recorded` changes in the read model."""
    return [change for projection in BY_CATEGORY.get(recorded.category, ()) for change in projection(recorded)]
