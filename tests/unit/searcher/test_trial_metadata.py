"""The metadata of a trial are facts: who changed them stands in the log, and what says nothing new is not written."""

from __future__ import annotations

from resolute.proto.errors import NotFound
from resolute.proto.experiment import ChangeTrialMetadata, DeleteExperiment, TrialMetadataChanged
from tests.unit.searcher.story import EXPERIMENT, created, given

ID = EXPERIMENT


def test_metadata_are_replaced_as_a_whole() -> None:
    story = given(created()).when(ChangeTrialMetadata(ID, 1, {"a": 1})).then(TrialMetadataChanged(1, {"a": 1}))
    story = story.when(ChangeTrialMetadata(ID, 1, {"b": 2})).then(TrialMetadataChanged(1, {"b": 2}))
    story.when(ChangeTrialMetadata(ID, 1, {})).then(TrialMetadataChanged(1, {}))


def test_metadata_that_a_trial_has_already_are_not_written_again() -> None:
    story = given(created()).when(ChangeTrialMetadata(ID, 1, {"a": 1, "b": [{"c": None, "d": 0.5}]}))
    story.when(ChangeTrialMetadata(ID, 1, {"b": [{"d": 0.5, "c": None}], "a": 1})).then()


def test_a_trial_that_has_ended_keeps_its_metadata_and_takes_others() -> None:
    story = given(created()).when(ChangeTrialMetadata(ID, 1, {"a": 1})).starts(1).exits(1)
    story = story.when(ChangeTrialMetadata(ID, 1, {"a": 2})).then(TrialMetadataChanged(1, {"a": 2}))
    story = story.when(DeleteExperiment(ID)).when(ChangeTrialMetadata(ID, 1, {"a": 3}))
    story.then(TrialMetadataChanged(1, {"a": 3})).then_refused(ChangeTrialMetadata(ID, 2, {}), NotFound, "no trial 2")


def test_metadata_of_an_earlier_release_are_carried_over_until_somebody_changes_them() -> None:
    early, later = {"a": 1}, {"a": 2}
    story = given(created()).when(ChangeTrialMetadata(ID, 1, early, carried_over=True))
    story = story.then(TrialMetadataChanged(1, early, carried_over=True))
    story = story.when(ChangeTrialMetadata(ID, 1, early, carried_over=True)).then()
    # A gateway of the earlier release has written once more while the cluster is upgraded.
    story = story.when(ChangeTrialMetadata(ID, 1, later, carried_over=True))
    story = story.then(TrialMetadataChanged(1, later, carried_over=True))
    story = story.when(ChangeTrialMetadata(ID, 1, later)).then(TrialMetadataChanged(1, later))
    story.when(ChangeTrialMetadata(ID, 1, early, carried_over=True)).then()
