"""Whole searches by chance: any method and parameters, trials that are programs of every kind, troubles at every turn.

Everything is drawn from one seed. Slots, scheduler and agents are a list and a dictionary here; what the searcher tells
itself arrives later, and anything may come in between.
"""

from __future__ import annotations

import itertools
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from resolute.config import ClusterDefaults, parse_experiment
from resolute.proto.checkpoint import CheckpointCompleted, CheckpointDeletionRequested
from resolute.proto.errors import InvalidConfig, Refused
from resolute.proto.experiment import (
    ActivateExperiment,
    CompleteOperation,
    CreateExperiment,
    KillTrial,
    PauseExperiment,
    ReportEarlyExit,
    ReportValidation,
    SearcherCommand,
    TrialRunRequested,
    TrialStopRequested,
    TrialTargetSet,
)
from resolute.proto.message import Event
from resolute.proto.pool import AllocationExited, AllocationStarted
from resolute.proto.states import RUNNING, STOPPING, ExperimentState
from resolute.search import user_commands
from resolute.search.decide import Notification, decide
from resolute.search.experiment import Experiment, evolve
from resolute.search.reports import CloseTrial, CoverTarget
from resolute.search.trial import Trial

CLUSTER = ClusterDefaults(checkpoint_storage={"type": "shared_fs", "host_path": "/shared"})
MOST_TURNS = 100_000


def configuration(rng: Random) -> dict[str, Any]:
    """A merged one, of those that submission takes."""
    while True:
        try:
            return parse_experiment(_submission(rng), CLUSTER, managed=False).merged
        except InvalidConfig:
            continue


def _submission(rng: Random) -> dict[str, Any]:
    name = rng.choice(["single", "random", "grid", "asha", "adaptive_asha"])
    unit, length = rng.choice(["batches", "batches", "records", "epochs"]), rng.choice([1, 2, 7, 27, 64, 100])
    searcher: dict[str, Any] = {"name": name, "metric": "loss", "smaller_is_better": rng.random() < 0.6}
    if name in ("random", "asha", "adaptive_asha"):
        searcher["max_trials"] = rng.choice([1, 2, 3, 5, 9, 17, 30])
    if name != "single":
        searcher["max_concurrent_trials"] = rng.choice([0, 1, 2, 3, 16])
    if "asha" in name:
        searcher |= {"divisor": rng.choice([1.01, 1.5, 2, 2.5, 4, 1000]), "stop_once": rng.random() < 0.3}
        searcher |= {"num_rungs": rng.choice([1, 2, 3, 5])} if name == "asha" else {}
        searcher |= {"mode": rng.choice(["aggressive", "standard", "conservative"])} if name != "asha" else {}
    timed = "asha" in name and rng.random() < 0.3
    searcher |= {"time_metric": "hours", "max_time": length} if timed else {"max_length": {unit: length}}
    return {
        "searcher": searcher,
        "hyperparameters": {
            "global_batch_size": rng.choice([1, 3, 8]),
            "lr": {"type": "double", "minval": 0, "maxval": 1, "count": 3},
            "opt": {"type": "categorical", "vals": ["sgd", "adam"]},
        },
        "max_restarts": rng.choice([0, 1, 3]),
        "records_per_epoch": rng.choice([0, 0, 5, 16]),
    }


@dataclass
class Process:
    trial: Trial
    allocation_id: str
    run_id: int
    steps: int
    asked_to_yield: bool = False
    killed: bool = False


@dataclass
class Playing:
    seed: int
    events: list[Event] = field(default_factory=list)
    experiment: Experiment = field(default_factory=Experiment)
    ids: Any = field(default_factory=partial(itertools.count, 1))
    notes: deque[CloseTrial | CoverTarget | TrialStopRequested] = field(default_factory=deque)
    waiting: deque[TrialRunRequested] = field(default_factory=deque)
    processes: dict[str, Process] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    killed_trials: int = 0

    def __post_init__(self) -> None:
        self.rng = rng = Random(self.seed)
        self.slots = rng.choice([1, 2, 3, 50])
        self.crash, self.invalid, self.nan = (
            rng.choice([0, 0, 0.05]),
            rng.choice([0, 0, 0.3, 1]),
            rng.choice([0, 0.2, 1]),
        )
        self.people, self.stubborn = rng.choice([0, 0.03, 0.1]), rng.choice([0, 0.5, 0.9])
        config = configuration(rng)
        self._happen(user_commands.create(CreateExperiment("any", config, "", 1, "ada", 1, self.seed), 1, self.ids))

    def to_the_end(self) -> None:
        """Raises AssertionError where nothing is left that could happen, and the search has not ended."""
        for _ in range(MOST_TURNS):
            if self.experiment.state not in (*RUNNING, *STOPPING):
                return
            if self.rng.random() < self.people:
                self._ask_something()
            else:
                self._turn()
        raise AssertionError(f"seed {self.seed}: no end in {MOST_TURNS} turns")

    def _turn(self) -> None:
        could = [self._note] * bool(self.notes) + [self._process] * 3 * bool(self.processes)
        if self.waiting and len(self.processes) < self.slots:
            could.append(self._start)
        if self.experiment.state is ExperimentState.PAUSED:
            could.append(partial(self._tell, ActivateExperiment(1)))
        idle = [(one.trial_id, one.state.name, one.target) for one in self.experiment.open.values()]
        assert could, f"seed {self.seed}: {self.experiment.settings.searcher} waits for nothing with {idle}"
        self.rng.choice(could)()

    # ------------------------------------------------------------ the searcher's side

    def _tell(self, message: SearcherCommand | Notification) -> None:
        try:
            self._happen(decide(message, self.experiment, self.ids))
        except Refused:
            return

    def _happen(self, events: list[Event]) -> None:
        for event in events:
            evolve(self.experiment, event)
            self.events.append(event)
            match event:
                case TrialRunRequested():
                    self.waiting.append(event)
                case TrialStopRequested(allocation_id="", trial_id=trial_id):
                    self.notes.append(CloseTrial(trial_id))
                case TrialStopRequested():
                    self.notes.append(event)
                case TrialTargetSet(trial_id=trial_id):
                    self.notes.append(CoverTarget(trial_id))

    def _note(self) -> None:
        note = self.notes.popleft()
        if isinstance(note, TrialStopRequested):
            self._stop(note)
        else:
            self._tell(note)

    def _ask_something(self) -> None:
        still_open = list(self.experiment.open.values())
        asked = self.rng.choice(["pause", "activate", "kill", "lose"])
        if asked in ("pause", "activate"):
            self._tell(PauseExperiment(1) if asked == "pause" else ActivateExperiment(1))
        elif asked == "kill" and still_open and self.rng.random() < 0.3:
            self.killed_trials += 1
            self._tell(KillTrial(1, self.rng.choice(still_open).trial_id))
        elif asked == "lose" and (kept := [uuid for one in still_open for uuid in one.checkpoints]):
            self._tell(CheckpointDeletionRequested(self.rng.choice(kept), "it is in the way"))

    # ------------------------------------------------------------ the cluster's side

    def _start(self) -> None:
        wanted = self.waiting.popleft()
        trial = self.experiment.trial(wanted.trial_id)
        self._tell(AllocationStarted(wanted.allocation_id))
        process = Process(trial, wanted.allocation_id, wanted.run_id, trial.steps_completed)
        self.processes[wanted.allocation_id] = process

    def _stop(self, asked: TrialStopRequested) -> None:
        if process := self.processes.get(asked.allocation_id):
            process.killed |= asked.how == "kill"
            process.asked_to_yield = True
        elif any(one.allocation_id == asked.allocation_id for one in self.waiting):
            self.waiting = deque(one for one in self.waiting if one.allocation_id != asked.allocation_id)
            self._exited(asked.allocation_id, asked.trial_id, "yielded", None)

    def _exited(self, allocation_id: str, trial_id: int, outcome: str, code: int | None) -> None:
        task = self.experiment.trial(trial_id).task_id
        self._tell(AllocationExited(allocation_id, outcome, code, "", task, 1, trial_id))

    def _end(self, process: Process, outcome: str = "exited", code: int | None = 0) -> None:
        del self.processes[process.allocation_id]
        self._exited(process.allocation_id, process.trial.trial_id, outcome, code)

    def _leave(self, process: Process) -> None:
        self._save(process)
        self._end(process, "yielded" if process.asked_to_yield else "exited")

    # ------------------------------------------------------------ the trials' side

    def _process(self) -> None:
        process = self.rng.choice(list(self.processes.values()))
        kind = self.kinds.setdefault(process.trial.trial_id, self._kind())
        if process.killed:
            self._end(process, "killed", 137)
        elif self.rng.random() < self.crash:
            self._end(process, *self.rng.choice([("exited", 1), ("lost", None)]))
        elif kind == "invalid":
            self._tell(ReportEarlyExit(1, process.trial.trial_id, "INVALID_HP"))
            self._end(process)
        elif process.asked_to_yield and self.rng.random() >= self.stubborn:
            self._leave(process)
        elif kind == "asks" and process.trial.target is not None:
            self._follow(process, process.trial.target)
        else:
            self._run_ahead(process, to_first_target=kind == "leaves at its target")

    def _kind(self) -> str:
        return self.rng.choice(
            ["asks", "runs ahead", "leaves at its target"] if self.rng.random() >= self.invalid else ["invalid"]
        )

    def _follow(self, process: Process, target: int) -> None:
        """From target to target, as the search sets them."""
        trial = process.trial
        if trial.target_reached:
            if target >= (self.experiment.settings.max_target or 0):
                self._leave(process)
        elif process.steps < (goal := self._batches(trial, target)):
            process.steps = min(goal, process.steps + max(1, goal // self.rng.choice([1, 2, 4])))
        else:
            self._save(process)
            self._tell(CompleteOperation(1, trial.trial_id, process.run_id, target, self._metric()))

    def _run_ahead(self, process: Process, *, to_first_target: bool) -> None:
        """A script that knows of no search: it validates now and then, and ends at its own end."""
        settings, trial = self.experiment.settings, process.trial
        whole = settings.searcher.max_time or self._batches(trial, settings.max_target or 1)
        end = self._batches(trial, trial.target) if to_first_target and trial.target else whole
        if process.steps >= end:
            self._leave(process)
            return
        process.steps = min(end, process.steps + max(1, end // self.rng.choice([1, 3, 10])))
        now = float(process.steps) if settings.searcher.time_metric else None
        self._tell(ReportValidation(1, trial.trial_id, process.run_id, process.steps, self._metric(), now))
        if self.rng.random() < 0.5:
            self._save(process)

    def _batches(self, trial: Trial, length: int) -> int:
        """Three batches make what nobody says the size of."""
        return self.experiment.settings.batches(length, trial.hparams) or 3 * length

    def _metric(self) -> float | None:
        return None if self.rng.random() < self.nan else round(self.rng.random(), 1)

    def _save(self, process: Process) -> None:
        trial_id, run_id, steps = process.trial.trial_id, process.run_id, process.steps
        uuid = f"c-{trial_id}-{run_id}-{steps}"
        saved = CheckpointCompleted(uuid, 1, trial_id, "t", process.allocation_id, run_id, steps, {}, {}, {})
        self._tell(saved)
