"""Any order of what clients do to an unmanaged experiment, and of silences, keeps it and its trials in step."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from resolute.proto.errors import NotFound, Refused
from resolute.proto.experiment import (
    ArchiveExperiment,
    CancelExperiment,
    CreateUnmanagedTrial,
    DeleteExperiment,
    EditExperiment,
    KillExperiment,
    KillTrial,
    PauseExperiment,
    ReportEarlyExit,
    ReportTrialSilent,
    ReportValidation,
    SearcherCommand,
    SetUnmanagedTrialState,
    StartUnmanagedTrial,
    UnarchiveExperiment,
)
from resolute.proto.states import FINISHED, ExperimentState, is_finished
from resolute.search import user_commands
from resolute.search.decide import decide
from resolute.search.experiment import Experiment, evolve
from resolute.search.unmanaged import SETTABLE
from resolute.searcher.reactions import react
from tests.unit.searcher.story import EXPERIMENT, config, submission

AT = datetime(2026, 1, 31, tzinfo=UTC)

TRIALS = st.integers(1, 3)

COMMANDS: st.SearchStrategy[SearcherCommand] = st.one_of(
    st.builds(CreateUnmanagedTrial, st.just(EXPERIMENT), st.sampled_from("abc"), st.just({"lr": 1})),
    st.builds(StartUnmanagedTrial, st.just(EXPERIMENT), TRIALS, st.booleans()),
    st.builds(SetUnmanagedTrialState, st.just(EXPERIMENT), TRIALS, st.sampled_from(SETTABLE)),
    st.builds(ReportTrialSilent, st.just(EXPERIMENT), TRIALS, st.integers(1, 3), st.just(AT), st.just(300.0)),
    st.builds(ReportValidation, st.just(EXPERIMENT), TRIALS, st.integers(0, 3), st.integers(0, 9), st.just(0.5)),
    st.builds(ReportEarlyExit, st.just(EXPERIMENT), TRIALS, st.just("USER_REQUESTED_STOP")),
    st.builds(KillTrial, st.just(EXPERIMENT), TRIALS),
    st.sampled_from(
        [
            *(CancelExperiment(EXPERIMENT), KillExperiment(EXPERIMENT), PauseExperiment(EXPERIMENT)),
            *(ArchiveExperiment(EXPERIMENT), UnarchiveExperiment(EXPERIMENT), DeleteExperiment(EXPERIMENT)),
            EditExperiment(EXPERIMENT, {"priority": 3}),
        ]
    ),
)


def check(experiment: Experiment) -> None:
    running = [one for one in experiment.open.values() if one.allocation_id is not None]
    assert bool(running) is (experiment.state is ExperimentState.ACTIVE)
    if experiment.state in FINISHED:
        assert not experiment.open
        assert experiment.state in {one.state.value for one in experiment.trials.values()} or not experiment.trials
    if experiment.trials and all(is_finished(one.state) for one in experiment.trials.values()):
        assert experiment.state not in (ExperimentState.ACTIVE, ExperimentState.PAUSED)


@given(st.sampled_from(["single", "random"]), st.lists(COMMANDS, max_size=30))
def test_an_experiment_is_active_exactly_while_a_trial_runs_and_ends_with_its_last(
    search: str, commands: list[SearcherCommand]
) -> None:
    made = user_commands.create(replace(submission(config(search)), unmanaged=True), EXPERIMENT, itertools.count(1))
    experiment = Experiment()
    for event in made:
        evolve(experiment, event)
    for command in commands:
        ids = itertools.count(len(experiment.trials) + 1)
        deletes = isinstance(command, DeleteExperiment)
        try:
            happened = decide(command, experiment, ids)
        except (Refused, NotFound):
            continue
        for event in happened:
            evolve(experiment, event)
            assert deletes or react(event, experiment) is None, "the scheduler hears nothing"
        check(experiment)
