"""What the measuring routes ask of the read model: which experiment a trial is of, how an allocation stands.

A task may call a moment before the read model has heard of it, just after a gateway started: whatever is not found
is looked for once more on the newest state, and only then unknown. A 404 ends a trial; it must be true.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import asyncpg
import orjson

from resolute.api import signals
from resolute.api.freshness import TRUSTED_S
from resolute.api.places import experiment_of
from resolute.api.tasks.lookup import task as task
from resolute.api.tasks.lookup import task_ended as task_ended
from resolute.config import HALVING
from resolute.proto.errors import NotFound

if TYPE_CHECKING:
    from resolute.api.gateway import Gateway


@dataclass(frozen=True, slots=True)
class TrialRef:
    trial_id: int
    experiment_id: int
    task_id: str
    metric: str
    """The searcher's metric."""
    smaller_is_better: bool
    storage: dict[str, Any]
    """The experiment's `checkpoint_storage`."""
    searcher: str = "single"
    """The search method's name."""
    time_metric: str | None = None
    """What says how far a trial has come, where the search goes by a time."""

    @property
    def ranked_by(self) -> tuple[str, ...]:
        """What the search must be told with each validation: it compares trials by that. To other searches, as in
        Determined, a validation without the searcher's metric is only a measurement."""
        if self.searcher not in HALVING:
            return ()
        return (self.metric,) if self.time_metric is None else (self.metric, self.time_metric)

    @property
    def task_ids(self) -> list[str]:
        return [self.task_id]


REMEMBERED = 50_000
"""Trials that reports are looked up for without the database."""

TRIAL = """SELECT t.id, t.experiment_id, t.task_id, e.searcher_metric, e.smaller_is_better,
    e.searcher_type, f.config #>> '{searcher,time_metric}' AS time_metric, f.config -> 'checkpoint_storage' AS storage
FROM read_trials.trials t JOIN read_experiments.experiments e ON e.id = t.experiment_id
JOIN read_experiments.experiment_configs f ON f.experiment_id = e.id WHERE """


async def _row(gateway: Gateway, sql: str, *args: Any) -> asyncpg.Record | None:
    row = await gateway.read.row(sql, *args)
    if row is None:
        await gateway.read.catch_up()
        row = await gateway.read.row(sql, *args)
    return row


def _trial_ref(row: asyncpg.Record) -> TrialRef:
    return TrialRef(
        trial_id=row["id"],
        experiment_id=row["experiment_id"],
        task_id=row["task_id"],
        metric=row["searcher_metric"],
        smaller_is_better=row["smaller_is_better"],
        storage=orjson.loads(row["storage"] or "{}"),
        searcher=row["searcher_type"],
        time_metric=row["time_metric"],
    )


@dataclass(frozen=True, slots=True)
class KnownTrial:
    """A trial that was looked up: `ref` never changes, but the trial may be deleted."""

    ref: TrialRef
    until_s: float
    heard: int
    """The newest news of its deletion that the belief rests on."""


async def trial(gateway: Gateway, trial_id: int) -> TrialRef:
    """Raises NotFound. What it answers never changes, whatever is edited or continued, so it is remembered, for as long
    as the trial exists: that is asked again each second, and at once when the bus says that it was deleted."""
    known = gateway.trials.get(trial_id)
    if known is not None and known.until_s > time.monotonic() and _deletion_heard(gateway, known.ref) <= known.heard:
        return known.ref
    heard = _deletion_heard(gateway, known.ref) if known is not None else 0
    await gateway.freshness.ensure()
    await gateway.read.reached(heard)
    found = await _looked_up(gateway, trial_id, known)
    if found is None:
        gateway.trials.pop(trial_id, None)
        raise NotFound(f"trial {trial_id} not found")
    while len(gateway.trials) >= REMEMBERED:  # the one that was asked about first
        del gateway.trials[next(iter(gateway.trials))]
    gateway.trials[trial_id] = KnownTrial(found, time.monotonic() + TRUSTED_S, heard)
    return found


async def _looked_up(gateway: Gateway, trial_id: int, known: KnownTrial | None) -> TrialRef | None:
    if known is not None:
        there = await gateway.read.value("SELECT true FROM read_trials.trials WHERE id = $1", trial_id)
        return known.ref if there else None
    row = await _row(gateway, TRIAL + "t.id = $1", trial_id)
    return None if row is None else _trial_ref(row)


def _deletion_heard(gateway: Gateway, ref: TrialRef) -> int:
    return gateway.signals.heard(signals.deletion(ref.experiment_id))


async def trial_of_task(gateway: Gateway, task_id: str) -> TrialRef:
    row = await _row(gateway, TRIAL + "t.task_id = $1", task_id)
    if row is None:
        raise NotFound(f"task {task_id!r} not found, or not a trial's")
    return _trial_ref(row)


async def experiment_of_checkpoint(gateway: Gateway, uuid: str) -> int:
    experiment_id = await experiment_of(gateway.read, uuid)
    if experiment_id is None:
        raise NotFound(f"checkpoint {uuid!r} not found")
    return experiment_id
