"""What the gateway's rows of trials, runs and validations come to, and which trial of an experiment is the best."""

from __future__ import annotations

import math
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from resolute.api.trials.projection import PROJECTION
from resolute.api.trials.tables import RUNS, STANDINGS, TRIALS, VALIDATIONS, Run, Standing, Trial
from resolute.proto.experiment import (
    ExperimentCreated,
    ExperimentDeleted,
    ExperimentEdited,
    TrialArchived,
    TrialContinued,
    TrialCreated,
    TrialEnded,
    TrialLogPolicyMatched,
    TrialLogRemoved,
    TrialLogRetentionSet,
    TrialMetadataChanged,
    TrialRunEnded,
    TrialRunRequested,
    TrialRunStarted,
    TrialStopRequested,
    TrialTargetReached,
    TrialTargetSet,
    TrialUnarchived,
    TrialValidated,
)
from resolute.proto.message import Event
from tests.unit.api.folding import Folding, at, columns

NAN = float("nan")


def experiment(smaller_is_better: bool = True, number: int = 7) -> ExperimentCreated:
    config = {"searcher": {"smaller_is_better": smaller_is_better}}
    return ExperimentCreated(number, f"job-{number}", "digits", config, "", 2, "determined", 1, 11)


def trial(trial_id: int = 1) -> TrialCreated:
    return TrialCreated(trial_id, f"r{trial_id}", f"7.{trial_id}", {"lr": 0.1}, 5, "a-checkpoint")


def run(run_id: int, trial_id: int = 1) -> TrialRunRequested:
    return TrialRunRequested(trial_id, run_id, f"7.{trial_id}.{run_id}", 1, None, 0)


def run_ended(run_id: int, outcome: str = "failed") -> TrialRunEnded:
    return TrialRunEnded(1, run_id, outcome, 1, f"it {outcome}")


def after(*events: Event, smaller_is_better: bool = True) -> Folding:
    """What an experiment with one trial has come to."""
    folding = Folding(PROJECTION, "experiment-7")
    folding.given(experiment(smaller_is_better), trial(), *events)
    return folding


def the_trial(*events: Event) -> Trial:
    return after(*events).row(TRIALS, 1)


def best(folding: Folding, trial_id: int = 1) -> tuple[Any, ...]:
    """Of the trial: the metric and its steps; of the experiment: the metric and its trial."""
    shown, standing = folding.row(TRIALS, trial_id), folding.row(STANDINGS, 7)
    return shown.best_metric, shown.best_steps, standing.best_metric, standing.best_trial_id


# ------------------------------------------------------------ trials and runs


def test_a_new_trial_is_active_and_counted() -> None:
    folding = after(trial(2))
    assert folding.row(TRIALS, 1) == Trial(1, 7, "r1", "7.1", {"lr": 0.1}, 5, "a-checkpoint", "ACTIVE", at(2))
    assert folding.row(STANDINGS, 7) == Standing(7, 2, True, None, None)


def test_an_experiment_without_trials_has_a_standing() -> None:
    folding = Folding(PROJECTION, "experiment-7")
    folding.given(experiment(smaller_is_better=False))
    assert folding.all(STANDINGS) == [Standing(7, 0, False, None, None)]


@pytest.mark.parametrize("config", [{}, {"searcher": None}, {"searcher": {}}])
def test_the_smaller_metric_is_better_where_a_configuration_does_not_say(config: dict[str, Any]) -> None:
    folding = Folding(PROJECTION, "experiment-7")
    folding.given(ExperimentCreated(7, "job-7", "digits", config, "", 2, "determined", 1, 11))
    assert folding.row(STANDINGS, 7).smaller_is_better


def test_a_run_is_requested_starts_and_ends() -> None:
    folding = after(run(1))
    assert folding.row(RUNS, 1, 1) == Run(1, 1, 7, "7.1.1", None, 0, at(3))
    folding.given(TrialRunStarted(1, 1), run_ended(1, "yielded"))
    ended = folding.row(RUNS, 1, 1)
    assert columns(ended, "started_at", "ended_at") == (at(4), at(5))
    assert columns(ended, "outcome", "exit_code", "reason") == ("yielded", 1, "it yielded")
    assert columns(folding.row(TRIALS, 1), "run_id", "reason") == (1, "it yielded")


@pytest.mark.parametrize(
    ("outcome", "restarts"), [("failed", 1), ("yielded", 0), ("lost", 0), ("killed", 0), ("completed", 0)]
)
def test_only_a_run_after_one_that_failed_is_a_restart(outcome: str, restarts: int) -> None:
    assert the_trial(run(1), run_ended(1, outcome), run(2)).restarts == restarts


def test_a_failure_that_no_run_follows_is_no_restart() -> None:
    assert the_trial(run(1), run_ended(1), run(2), run_ended(2)).restarts == 1


def test_a_continued_trial_begins_to_count_its_restarts_anew() -> None:
    once = [run(1), run_ended(1), run(2), run_ended(2), TrialEnded(1, "ERROR", "it failed")]
    continued = after(*once, TrialContinued(1))
    shown = continued.row(TRIALS, 1)
    assert columns(shown, "state", "reason", "restarts", "ended_at") == ("ACTIVE", "", 0, None)
    continued.given(run(3))
    assert continued.row(TRIALS, 1).restarts == 0, "the run before it failed, and the trial was continued since"
    continued.given(run_ended(3), run(4))
    assert continued.row(TRIALS, 1).restarts == 1


def test_a_trial_that_is_continued_before_its_first_run_has_restarts_as_any_other() -> None:
    assert the_trial(TrialContinued(1), run(1), run_ended(1), run(2)).restarts == 1


def test_a_trial_may_be_continued_with_other_hyperparameters() -> None:
    assert the_trial(TrialContinued(1)).hparams == {"lr": 0.1}
    assert the_trial(TrialContinued(1, {"lr": 0.2})).hparams == {"lr": 0.2}


@pytest.mark.parametrize(
    ("then", "state"),
    [
        ("PAUSED", "ACTIVE"),
        ("WAITING", "ACTIVE"),
        ("COMPLETED", "STOPPING_COMPLETED"),
        ("CANCELED", "STOPPING_CANCELED"),
        ("KILLED", "STOPPING_KILLED"),
    ],
)
def test_a_stop_is_shown_at_the_run_that_was_asked_and_at_a_trial_that_will_not_go_on(then: str, state: str) -> None:
    folding = after(run(1), run_ended(1), run(2), TrialStopRequested(1, "7.1.2", "preempt", "", then))
    assert folding.row(TRIALS, 1).state == state
    assert [one.stop_asked for one in folding.all(RUNS)] == [False, True]


def test_a_trial_without_a_run_is_asked_to_stop() -> None:
    folding = after(run(1), run_ended(1), TrialStopRequested(1, "", "kill", "", "KILLED"))
    assert folding.row(TRIALS, 1).state == "STOPPING_KILLED"
    assert not folding.row(RUNS, 1, 1).stop_asked


def test_a_trial_ends() -> None:
    ended = the_trial(TrialEnded(1, "COMPLETED", "no work is left"))
    assert columns(ended, "state", "reason", "ended_at") == ("COMPLETED", "no work is left", at(3))


def test_a_new_target_is_not_reached_yet() -> None:
    assert columns(the_trial(TrialTargetSet(1, 100)), "target", "target_reached") == (100, False)
    reached = [TrialTargetSet(1, 100), TrialTargetReached(1, 1, 100, 0.5)]
    assert columns(the_trial(*reached), "target", "target_reached") == (100, True)
    assert columns(the_trial(*reached, TrialTargetSet(1, 300)), "target", "target_reached") == (300, False)


def test_the_latest_log_policy_that_matched_is_shown() -> None:
    matched = [TrialLogPolicyMatched(1, 1, policy, "p", "", "a line", "agent-1") for policy in ("oom", "nan")]
    assert the_trial(*matched).log_policy_matched == "nan"


def test_a_trial_is_archived_until_it_is_put_back_or_continued() -> None:
    assert the_trial(TrialArchived(1)).archived
    assert not the_trial(TrialArchived(1), TrialUnarchived(1)).archived
    assert not the_trial(TrialArchived(1), TrialContinued(1)).archived


def test_metadata_are_replaced_as_a_whole() -> None:
    assert the_trial().metadata is None
    assert the_trial(TrialMetadataChanged(1, {"a": 1}), TrialMetadataChanged(1, {"b": [2]})).metadata == {"b": [2]}


def test_a_removed_log_says_when_and_how_much_was_deleted() -> None:
    removed = the_trial(TrialLogRemoved(1, 100, 9))
    assert columns(removed, "logs_removed_at", "logs_removed_after_days", "logs_removed_lines") == (at(3), 9, 100)


def test_a_retention_that_is_set_for_the_experiment_counts_for_its_trials_and_no_others() -> None:
    folding = after(TrialLogRetentionSet(1, 9))
    folding.given(experiment(number=8), trial(2), TrialLogRetentionSet(2, 9), stream="experiment-8")
    folding.given(ExperimentEdited({"name": "renamed"}))
    assert [one.log_retention_days for one in folding.all(TRIALS)] == [9, 9]
    folding.given(ExperimentEdited({"log_retention_days": None}))
    assert [one.log_retention_days for one in folding.all(TRIALS)] == [None, 9]


# ------------------------------------------------------------ the best


def test_the_first_of_equal_validations_and_of_equal_trials_is_the_best() -> None:
    folding = after(
        trial(2), TrialValidated(2, 1, 10, 0.5), TrialValidated(2, 1, 5, 0.5), TrialValidated(2, 1, 20, 0.5)
    )
    assert best(folding, 2) == (0.5, 5, 0.5, 2)
    folding.given(TrialValidated(1, 1, 30, 0.5))
    assert best(folding, 1) == (0.5, 30, 0.5, 1)


def test_where_larger_is_better_the_largest_metric_is_the_best() -> None:
    validated = [TrialValidated(1, 1, 10, 0.5), TrialValidated(1, 1, 20, 0.7), TrialValidated(1, 1, 30, -0.9)]
    assert best(after(*validated, smaller_is_better=False)) == (0.7, 20, 0.7, 1)


@pytest.mark.parametrize("smaller_is_better", [True, False])
def test_nan_is_behind_every_number_and_before_no_metric(smaller_is_better: bool) -> None:
    folding = after(TrialValidated(1, 1, 10, None), smaller_is_better=smaller_is_better)
    assert best(folding) == (None, None, None, None)
    folding.given(TrialValidated(1, 1, 20, NAN))
    metric, steps, of_experiment, trial_id = best(folding)
    assert (str(metric), steps, str(of_experiment), trial_id) == ("nan", 20, "nan", 1)
    folding.given(TrialValidated(1, 1, 30, -math.inf if not smaller_is_better else math.inf))
    assert best(folding)[1:] == (30, folding.row(TRIALS, 1).best_metric, 1)


def test_the_latest_validation_is_shown_even_where_it_has_no_metric() -> None:
    latest = the_trial(TrialValidated(1, 1, 10, 0.5), TrialValidated(1, 1, 20, None))
    assert columns(latest, "latest_metric", "latest_steps") == (None, 20)


def test_of_two_validations_of_one_step_the_later_counts() -> None:
    folding = after(TrialValidated(1, 1, 10, 0.5), TrialValidated(1, 2, 10, 0.25))
    (validation,) = folding.all(VALIDATIONS)
    assert columns(validation, "run_id", "experiment_id", "metric", "reported_at") == (2, 7, 0.25, at(4))
    assert best(folding) == (0.25, 10, 0.25, 1)


def test_a_best_that_is_reported_again_as_worse_gives_way_to_the_best_of_the_others() -> None:
    folding = after(
        trial(2), TrialValidated(1, 1, 10, 0.1), TrialValidated(1, 1, 20, 0.3), TrialValidated(2, 1, 10, 0.2)
    )
    folding.given(TrialValidated(1, 2, 10, 0.9))
    assert best(folding, 1) == (0.3, 20, 0.2, 2)
    folding.given(TrialValidated(2, 2, 10, None))
    assert best(folding, 2) == (None, None, 0.3, 1)
    folding.given(TrialValidated(1, 2, 20, None), TrialValidated(1, 2, 10, None))
    assert best(folding, 1) == (None, None, None, None)


METRICS = st.sampled_from([None, NAN, math.inf, -math.inf, 0.0, 1.0, 2.0, 2.0, 3.0])
REPORTS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4), METRICS), max_size=40)


@hypothesis.given(REPORTS, st.booleans())
def test_the_best_is_the_best_of_the_validations_that_count(
    reports: list[tuple[int, int, float | None]], smaller_is_better: bool
) -> None:
    folding = after(trial(2), trial(3), smaller_is_better=smaller_is_better)
    counts: dict[tuple[int, int], float] = {}
    for trial_id, steps, metric in reports:
        folding.given(TrialValidated(trial_id, 1, steps, metric))
        counts.pop((trial_id, steps), None)
        if metric is not None:
            counts[trial_id, steps] = metric
        signed = {at_: value if smaller_is_better else -value for at_, value in counts.items()}
        ranked = [(math.isnan(value), 0 if math.isnan(value) else value, *at_) for at_, value in signed.items()]
        for one in (1, 2, 3):
            own = [(*rest, steps) for *rest, of, steps in ranked if of == one]
            assert folding.row(TRIALS, one).best_steps == (min(own)[-1] if own else None)
        standing = folding.row(STANDINGS, 7)
        assert standing.best_trial_id == (min(ranked)[2] if ranked else None)
        assert str(standing.best_metric) == str(counts[min(ranked)[2:]] if ranked else None)


# ------------------------------------------------------------ deletion


def test_nothing_is_left_of_a_deleted_experiment_and_all_of_its_neighbour() -> None:
    story = [run(1), TrialValidated(1, 1, 10, 0.5), run_ended(1), run(2)]
    folding = after(*story)
    neighbour = [experiment(number=8), trial(2), run(1, 2), TrialValidated(2, 1, 10, 0.9)]
    folding.given(*neighbour, stream="experiment-8")
    folding.given(ExperimentDeleted())
    assert folding.count() == {"trials": 1, "runs": 1, "validations": 1, "standings": 1}
    assert (folding.row(TRIALS, 2).best_metric, folding.row(STANDINGS, 8).trials) == (0.9, 1)


def test_what_is_recorded_of_trials_that_are_gone_brings_none_back() -> None:
    folding = after(run(1), ExperimentDeleted())
    folding.given(
        TrialRunStarted(1, 1),
        run_ended(1),
        TrialStopRequested(1, "7.1.1", "kill", "", "KILLED"),
        TrialTargetSet(1, 100),
        TrialContinued(1),
        TrialArchived(1),
        TrialUnarchived(1),
        TrialEnded(1, "ERROR", ""),
        TrialMetadataChanged(1, {}),
        TrialValidated(1, 1, 10, 0.5),
        ExperimentEdited({"log_retention_days": 3}),
    )
    assert folding.count() | {"validations": 0} == {"trials": 0, "runs": 0, "validations": 0, "standings": 0}
