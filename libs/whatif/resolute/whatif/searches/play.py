"""A search played through on a simulated clock, with the searcher's real decisions and trials that do not train.

All decisions come from the searcher's own `decide`, so a cluster would do the same. Slots go to the trial that asked
first, and training takes no time but the length trained. Used to preview a search
before it is submitted, and to compare methods.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from resolute.proto.experiment import (
    CompleteOperation,
    CreateExperiment,
    ReportValidation,
    SearcherCommand,
    TrialEnded,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetSet,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted
from resolute.proto.states import AllocationOutcome, ExperimentState
from resolute.search import reports, user_commands
from resolute.search.decide import Notification, decide
from resolute.search.experiment import Experiment, evolve
from resolute.search.methods.halving import HalvingSearch
from resolute.search.settings import Settings
from resolute.search.trial import Trial

Objective = Callable[[Mapping[str, Any], float], float]
"""(hyperparameters, share of the full length trained) -> the metric, smaller being better."""


@dataclass(frozen=True, slots=True)
class PlayedTrial:
    hparams: Mapping[str, Any]
    length: int
    """How far it was trained, in the unit of the search."""
    metric: float | None
    """What it reported last, smaller being better."""
    outcome: str


@dataclass(frozen=True, slots=True)
class Found:
    """A better metric than any before."""

    work: int
    """Units trained by all trials together up to then."""
    time: float
    metric: float


@dataclass(frozen=True, slots=True)
class Played:
    unit: str
    full_length: int
    trials: tuple[PlayedTrial, ...]
    """In the order of their creation."""
    found: tuple[Found, ...]
    work: int
    time: float
    """When the last trial ended; a slot trains one unit in 1."""

    @property
    def best(self) -> float | None:
        return self.found[-1].metric if self.found else None

    @property
    def work_to_the_end(self) -> int:
        """What as many trials would have cost, had each trained to the end: what random search pays."""
        return self.full_length * len(self.trials)

    def best_within(self, work: float) -> float | None:
        """The best metric found by the first `work` units of training."""
        return min((one.metric for one in self.found if one.work <= work), default=None)


def play(config: Mapping[str, Any], seed: int, objective: Objective, slots: int = 0) -> Played:
    """Play the search of a merged configuration to its end; `slots` trials train at once, 0 for no limit.

    Raises InvalidConfig as submission does.
    """
    return _Play(config, seed, objective, slots).played()


@dataclass(slots=True)
class _Run:
    trial: Trial
    allocation_id: str
    stopping: bool = False


@dataclass(slots=True)
class _Play:
    config: Mapping[str, Any]
    seed: int
    objective: Objective
    slots: int
    now: float = 0.0
    work: int = 0
    experiment: Experiment = field(default_factory=Experiment)
    ids: Any = field(default_factory=lambda: itertools.count(1))
    waiting: deque[TrialRunRequested] = field(default_factory=deque)
    running: dict[int, _Run] = field(default_factory=dict)
    due: list[tuple[float, int, int, int]] = field(default_factory=list)
    """(when, order, trial, length then trained), a heap."""
    order: Any = field(default_factory=itertools.count)
    rungs: list[int] = field(default_factory=list)
    """Where a trial that is given no targets validates: wherever any is compared, and at the full length."""
    lengths: dict[int, int] = field(default_factory=dict)
    metrics: dict[int, float] = field(default_factory=dict)
    outcomes: dict[int, str] = field(default_factory=dict)
    found: list[Found] = field(default_factory=list)
    notes: deque[Notification] = field(default_factory=deque)

    def played(self) -> Played:
        create = CreateExperiment("played", dict(self.config), "", 0, "", 0, self.seed)
        self._happen(user_commands.create(create, 1, self.ids))
        method = self.experiment.method
        brackets = method.brackets if isinstance(method, HalvingSearch) else []
        self.rungs = sorted({self.full_length, *(length for each in brackets for length in each.ladder.lengths)})
        while self._is_alive():
            self._start_what_fits()
            assert self.due, "a search waits for nothing"
            self.now, _, trial_id, length = heapq.heappop(self.due)
            if trial_id in self.running:
                self._trained(self.running[trial_id], length)
        return self._outcome()

    @property
    def settings(self) -> Settings:
        return self.experiment.settings

    @property
    def full_length(self) -> int:
        searcher = self.settings.searcher
        return self.settings.max_target or searcher.max_time or 1

    def _is_alive(self) -> bool:
        return self.experiment.state is ExperimentState.ACTIVE or bool(self.experiment.open)

    # ------------------------------------------------------------ the searcher's side

    def _tell(self, message: SearcherCommand | Notification) -> None:
        self._happen(decide(message, self.experiment, self.ids))
        while self.notes:
            self._happen(decide(self.notes.popleft(), self.experiment, self.ids))

    def _happen(self, events: Iterable[Event]) -> None:
        for event in events:
            evolve(self.experiment, event)
            self._hear(event)

    def _hear(self, event: Event) -> None:
        match event:
            case TrialRunRequested():
                self.waiting.append(event)
            case TrialStopRequested(trial_id=trial_id, allocation_id=""):
                self.notes.append(reports.CloseTrial(trial_id))
            case TrialStopRequested(trial_id=trial_id) if trial_id in self.running:
                self.running[trial_id].stopping = True
            case TrialStopRequested(allocation_id=allocation_id):
                self.waiting = deque(one for one in self.waiting if one.allocation_id != allocation_id)
                self.notes.append(self._exit(event.trial_id, allocation_id, AllocationOutcome.YIELDED))
            case TrialTargetSet(trial_id=trial_id) if trial_id in self.running:
                self._train(self.running[trial_id])
            case TrialEnded(trial_id=trial_id, outcome=outcome):
                self.outcomes[trial_id] = outcome

    def _exit(self, trial_id: int, allocation_id: str, outcome: AllocationOutcome) -> AllocationExited:
        code = 0 if outcome == AllocationOutcome.EXITED else None
        return AllocationExited(allocation_id, outcome, code, "", self.experiment.trial(trial_id).task_id, 1, trial_id)

    # ------------------------------------------------------------ the trials' side

    def _start_what_fits(self) -> None:
        while self.waiting and not (self.slots and len(self.running) >= self.slots):
            wanted = self.waiting.popleft()
            run = _Run(self.experiment.trial(wanted.trial_id), wanted.allocation_id)
            self.running[wanted.trial_id] = run
            self._tell(AllocationStarted(wanted.allocation_id))
            self._train(run)

    def _train(self, run: _Run) -> None:
        """On to the next thing the trial will say."""
        trial_id = run.trial.trial_id
        done = self.lengths.get(trial_id, 0)
        target = run.trial.target
        length = target if target is not None else self.rungs[bisect_right(self.rungs, done)]
        heapq.heappush(self.due, (self.now + max(0, length - done), next(self.order), trial_id, length))

    def _trained(self, run: _Run, length: int) -> None:
        trial_id = run.trial.trial_id
        self.work += max(0, length - self.lengths.get(trial_id, 0))
        self.lengths[trial_id] = max(length, self.lengths.get(trial_id, 0))
        metric = self._validate(trial_id, length)
        signed = metric if self.settings.searcher.smaller_is_better else -metric
        target = run.trial.target
        if target is not None:
            self._tell(CompleteOperation(1, trial_id, run.trial.run_id, length, signed))
        else:
            self._tell(ReportValidation(1, trial_id, run.trial.run_id, length, signed, float(length)))
        if run.stopping:
            self._end(run, AllocationOutcome.YIELDED)
        elif target is None and length < self.full_length:
            self._train(run)
        elif run.trial.target == target:
            self._end(run, AllocationOutcome.EXITED)

    def _validate(self, trial_id: int, length: int) -> float:
        metric = self.objective(self.experiment.trial(trial_id).hparams, length / self.full_length)
        self.metrics[trial_id] = metric
        if not self.found or metric < self.found[-1].metric:
            self.found.append(Found(self.work, self.now, metric))
        return metric

    def _end(self, run: _Run, outcome: AllocationOutcome) -> None:
        trial_id = run.trial.trial_id
        del self.running[trial_id]
        self._tell(self._exit(trial_id, run.allocation_id, outcome))

    def _outcome(self) -> Played:
        searcher = self.settings.searcher
        unit = searcher.max_length.unit if searcher.max_length else searcher.time_metric or "trials"
        trials = tuple(
            PlayedTrial(one.hparams, self.lengths.get(one.trial_id, 0), self.metrics.get(one.trial_id), state)
            for one in self.experiment.trials.values()
            for state in [self.outcomes.get(one.trial_id, one.state.name)]
        )
        return Played(unit, self.full_length, trials, tuple(self.found), self.work, self.now)
