"""The slices of the gateway: each is one thing that people see, with a folder of its own."""

from __future__ import annotations

import asyncpg

from resolute.api.checkpoints.projection import PROJECTION as CHECKPOINTS
from resolute.api.experiments.projection import PROJECTION as EXPERIMENTS
from resolute.api.identity.projection import PROJECTION as IDENTITY
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.pools.projection import PROJECTION as POOLS
from resolute.api.queue.projection import PROJECTION as QUEUE
from resolute.api.tasks.projection import PROJECTION as TASKS
from resolute.api.trials.projection import PROJECTION as TRIALS
from resolute.api.workspaces.projection import PROJECTION as WORKSPACES
from resolute.eventlog import EventLog

PROJECTIONS = (IDENTITY, WORKSPACES, EXPERIMENTS, TRIALS, CHECKPOINTS, TASKS, QUEUE, POOLS)


def read_model(pool: asyncpg.Pool, log: EventLog, *, suffix: str = "") -> ReadModel:
    """The tables of all slices. `suffix`: what the names of the schemas end in, for tables beside the usual ones."""
    return ReadModel(pool, log, PROJECTIONS, suffix=suffix)
