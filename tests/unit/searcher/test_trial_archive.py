"""A trial that has ended can be archived by itself, and is back in sight when it is continued."""

from __future__ import annotations

import pytest

from resolute.proto.errors import NotFound, Refused
from resolute.proto.experiment import (
    ArchiveExperiment,
    ArchiveTrial,
    ContinueExperiment,
    DeleteExperiment,
    TrialArchived,
    TrialUnarchived,
    UnarchiveTrial,
)
from tests.unit.searcher.story import EXPERIMENT, Story, config, created, given


def ended() -> Story:
    return given(created()).starts(1).exits(1)


def test_a_trial_is_archived_and_put_back_once() -> None:
    story = ended().when(ArchiveTrial(EXPERIMENT, 1)).then(TrialArchived(1))
    story = story.when(ArchiveTrial(EXPERIMENT, 1)).then()
    story = story.when(UnarchiveTrial(EXPERIMENT, 1)).then(TrialUnarchived(1))
    story.when(UnarchiveTrial(EXPERIMENT, 1)).then()


@pytest.mark.parametrize("command", [ArchiveTrial, UnarchiveTrial])
def test_a_trial_that_trains_or_is_not_there_is_not_archived(command: type[ArchiveTrial | UnarchiveTrial]) -> None:
    given(created()).starts(1).then_refused(command(EXPERIMENT, 1), Refused, "wait until it has ended")
    ended().then_refused(command(EXPERIMENT, 7), NotFound, "no trial 7")


@pytest.mark.parametrize("command", [ArchiveTrial, UnarchiveTrial])
def test_a_trial_goes_out_of_sight_with_its_experiment(command: type[ArchiveTrial | UnarchiveTrial]) -> None:
    archived = ended().when(ArchiveExperiment(EXPERIMENT))
    archived.then_refused(command(EXPERIMENT, 1), Refused, "unarchive the experiment")
    ended().when(DeleteExperiment(EXPERIMENT)).then_refused(command(EXPERIMENT, 1), Refused, "DELETING")


def test_a_trial_that_is_continued_is_back_in_sight() -> None:
    failed = given(created(max_restarts=0)).starts(1).exits(1, code=1).when(ArchiveTrial(EXPERIMENT, 1))
    goes_on = failed.when(ContinueExperiment(EXPERIMENT, config("single", max_restarts=0)))
    assert not goes_on.experiment.trials[1].archived
