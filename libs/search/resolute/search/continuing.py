"""Continuing an experiment that has ended, under its own number (docs/decisions/0015).

Its trials keep their numbers, their tasks and their checkpoints, and may use all their restarts again. The recorded
decisions of the search are not made again, so only searches that do not compare trials can be continued. A halving
search stopped trials because of the results of others: with a trial that goes on, those decisions would have been
different.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from resolute.config import value_at
from resolute.proto.errors import InvalidConfig, NotFound, Refused, refuse
from resolute.proto.experiment import (
    ContinueExperiment,
    ExperimentContinued,
    TrialCheckpointLost,
    TrialContinued,
    TrialTargetSet,
)
from resolute.proto.message import Event, Object
from resolute.proto.states import GONE, EarlyExit, ExperimentState, TrialState, is_finished
from resolute.search import concurrency, trial
from resolute.search.experiment import Experiment
from resolute.search.methods import CreateTrial, method_for
from resolute.search.settings import EDITABLE, Settings, edited

CONTINUABLE = ("single", "random", "grid")

FORK = "fork it instead: submit its configuration with searcher.source_trial_id set to the trial to start from"

FIXED: tuple[tuple[str, ...], ...] = (
    ("searcher", "name"),
    ("searcher", "metric"),
    ("searcher", "smaller_is_better"),
    ("searcher", "time_metric"),
    ("searcher", "source_trial_id"),
    ("searcher", "source_checkpoint_uuid"),
    ("reproducibility", "experiment_seed"),
    ("workspace",),
    ("project",),
)
"""Fields that cannot change: the trials were made by them, or the experiment is found by them."""


def continue_experiment(experiment: Experiment, command: ContinueExperiment, gone: Collection[str] = ()) -> list[Event]:
    """`gone`: checkpoints that were deleted since the trials ended, which the experiment's own events do not record.

    Raises Refused where the state does not allow it, InvalidConfig, naming the field, for what cannot be changed.
    """
    if experiment.state in (ExperimentState.ABSENT, ExperimentState.DELETED):
        raise NotFound(f"no experiment {command.experiment_id}")
    _check_state(experiment)
    config = _with_later_edits(experiment, command)
    _check_overrides(experiment, config)
    going = _going(experiment)
    if not going:
        raise _refused(experiment, f"all its trials completed, and none is left to go on; {FORK}")
    settings = Settings.of(config)
    events: list[Event] = [ExperimentContinued(config, tuple(one.trial_id for one in going))]
    for one in going:
        hparams = _changed_hparams(experiment, one, settings, config)
        events += [TrialContinued(one.trial_id, hparams), *_lost(one, gone), *_further(one, settings)]
    at_once = concurrency.limit(settings)
    return events + [_next_run(one, settings, gone) for one in going[:at_once]]


def _with_later_edits(experiment: Experiment, command: ContinueExperiment) -> Object:
    """The configuration of the command, with the present value of each field that may be edited and that the caller
    does not override: it may have been edited after the sender of the command read the configuration."""
    if command.overridden is None:
        return command.config
    kept = [name for name, one in EDITABLE.items() if one.path and name not in command.overridden]
    present = {name: value_at(experiment.config, EDITABLE[name].path) for name in kept}
    present["labels"] = sorted({*experiment.labels, *command.labels_added})
    later = {name: value for name, value in present.items() if value != value_at(command.config, EDITABLE[name].path)}
    return edited(command.config, later)


def _going(experiment: Experiment) -> list[trial.Trial]:
    """The trials that go on: those that did not complete, without those of invalid hyperparameters, which were replaced
    by others. The trial of the method `single` goes on in any case."""
    trials = list(experiment.trials.values())
    if experiment.settings.searcher.name == "single":
        return trials
    return [one for one in trials if one.state is not TrialState.COMPLETED and one.early_exit != EarlyExit.INVALID_HP]


def _changed_hparams(
    experiment: Experiment, one: trial.Trial, settings: Settings, config: Object
) -> dict[str, Any] | None:
    """The new hyperparameters of the only trial, where the configuration describes them differently than before. Those
    with the same description keep their values. None where no description changed."""
    before, after = (each.get("hyperparameters") or {} for each in (experiment.config, config))
    if before == after:
        return None
    drawn = next(op for op in method_for(settings, experiment.seed).start() if isinstance(op, CreateTrial)).hparams
    same = {name for name in after if name in one.hparams and name in before and before[name] == after[name]}
    return {name: one.hparams[name] if name in same else value for name, value in drawn.items()}


def _lost(one: trial.Trial, gone: Collection[str]) -> list[Event]:
    checkpoint, steps = _latest(one, gone)
    return [TrialCheckpointLost(one.trial_id, uuid, checkpoint, steps) for uuid in one.checkpoints if uuid in gone]


def _latest(one: trial.Trial, gone: Collection[str]) -> tuple[str | None, int]:
    left = [(uuid, steps) for uuid, steps in one.checkpoints.items() if uuid not in gone]
    return left[-1] if left else (None, 0)


def _further(one: trial.Trial, settings: Settings) -> list[Event]:
    """The new target of a trial, where the configuration changed it."""
    target = settings.max_target
    return [] if target is None or target == one.target else [TrialTargetSet(one.trial_id, target)]


def _next_run(one: trial.Trial, settings: Settings, gone: Collection[str]) -> Event:
    checkpoint, steps = _latest(one, gone)
    run = trial.next_run(one, settings)
    return replace(run, checkpoint=checkpoint, steps_completed=steps, blocked_agents=())


_WAIT = "wait until it has ended, or cancel it first"

_INSTEAD = {ExperimentState.PAUSED: "activate it", **dict.fromkeys(GONE, FORK)}


def _check_state(experiment: Experiment) -> None:
    if not is_finished(experiment.state):
        raise _refused(experiment, f"it is {experiment.state.name}; {_INSTEAD.get(experiment.state, _WAIT)}")
    if experiment.archived:
        raise _refused(experiment, "it is archived; unarchive it first")
    if experiment.unmanaged:
        raise _refused(experiment, "its trials are run from outside; go on reporting to them")
    name = experiment.settings.searcher.name
    if name not in CONTINUABLE:
        raise _refused(experiment, f"a search by {name} decided by comparing its trials and cannot be reopened; {FORK}")


def _refused(experiment: Experiment, why: str) -> Refused:
    return refuse(f"continue experiment {experiment.experiment_id}", why)


# ---------------------------------------------------------------- what the override may not change


def _check_overrides(experiment: Experiment, config: Object) -> None:
    fixed = FIXED
    if experiment.settings.searcher.name != "single":
        fixed = (("searcher",), ("hyperparameters",), *FIXED)
    for path in fixed:
        _check_same(".".join(path), value_at(experiment.config, path), value_at(config, path))
    before, after = (_place(each.get("checkpoint_storage") or {}) for each in (experiment.config, config))
    _check_same("checkpoint_storage", before, after)


def _check_same(path: str, before: Any, after: Any) -> None:
    if before != after:
        raise InvalidConfig(
            f"{path}: cannot change when an experiment is continued; it is {_short(before)}, found {_short(after)}. "
            f"Leave it out, or {FORK}."
        )


def _place(storage: Mapping[str, Any]) -> dict[str, Any]:
    """The location of checkpoints in a storage configuration, without how many are kept, which may change."""
    return {name: value for name, value in storage.items() if not name.startswith("save_")}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:59] + "…"
