"""Lines that match a log policy: what they end, what they keep away from, and that they count once."""

from __future__ import annotations

from resolute.proto.experiment import (
    ContinueExperiment,
    PauseExperiment,
    ReportLogPolicyMatch,
    TrialEnded,
    TrialLogPolicyMatched,
    TrialRunRequested,
)
from resolute.proto.states import ExperimentState as State
from tests.unit.searcher.story import EXPERIMENT, Story, config, created, given

ID = EXPERIMENT


def match(action: str, run_id: int = 1, agent: str = "gpu-1") -> ReportLogPolicyMatch:
    return ReportLogPolicyMatch(ID, 1, run_id, "the policy", "oh.*no", action, "oh oh no", agent)


def running(max_restarts: int = 5) -> Story:
    return given(created(max_restarts=max_restarts)).starts(1)


def requested(story: Story) -> TrialRunRequested:
    run = story.last[-1]
    assert isinstance(run, TrialRunRequested)
    return run


def test_a_match_is_recorded_once_for_each_run() -> None:
    story = running().when(match(""))
    story.then(TrialLogPolicyMatched(1, 1, "the policy", "oh.*no", "", "oh oh no", "gpu-1"))
    story.when(match("")).then()
    story.exits(1, code=1).when(match("", run_id=2)).then_kinds(TrialLogPolicyMatched)


def test_retries_are_canceled_and_the_end_says_by_which_line() -> None:
    story = running().when(match("cancel_retries")).exits(1, code=1)
    end = story.last[1]
    assert isinstance(end, TrialEnded)
    assert end.reason == (
        "run 1 failed with exit code 1; it is not restarted: "
        "the trial failed and matched logs to a don't retry policy: "
        "log policy 'the policy' matched the line 'oh oh no'"
    )


def test_a_run_that_goes_well_all_the_same_completes() -> None:
    assert running().when(match("cancel_retries")).exits(1).experiment.state is State.COMPLETED


def test_a_pause_is_no_failure() -> None:
    story = running().when(match("cancel_retries")).when(PauseExperiment(ID)).exits(1, "yielded")
    assert story.experiment.state is State.PAUSED


def test_a_node_is_left_out_of_all_later_runs_and_another_beside_it() -> None:
    story = running().when(match("exclude_node")).exits(1, code=1)
    assert requested(story).blocked_agents == ("gpu-1",)
    story = story.when(match("exclude_node", 2, "gpu-2")).exits(1, code=1)
    assert requested(story).blocked_agents == ("gpu-1", "gpu-2")


def test_a_line_that_comes_after_its_run_counts_for_the_next_failure() -> None:
    story = running().exits(1, code=1).when(match("cancel_retries", run_id=1)).then_kinds(TrialLogPolicyMatched)
    assert story.exits(1, code=1).experiment.state is State.ERROR
    running().when(match("cancel_retries", run_id=2)).then()  # there is no such run yet


def test_continuing_forgets_what_was_held_against_the_trial() -> None:
    story = running().when(match("cancel_retries")).when(match("exclude_node")).exits(1, code=1)
    story = story.when(ContinueExperiment(ID, config(max_restarts=5)))
    assert requested(story).blocked_agents == ()
    assert story.exits(1, code=1).experiment.state is State.ACTIVE
