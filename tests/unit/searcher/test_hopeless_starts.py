"""A run that could not be started, and never could, is not tried again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from resolute.proto.experiment import AgentUser, TrialEnded, TrialRunEnded
from resolute.search import user_commands
from resolute.searcher.reactions import describe
from tests.unit.searcher.story import EXPERIMENT, config, created, exited, given, submission

WHY = "environment.image: there is no image nobody/nothing:1"


def test_it_ends_the_trial_at_once_however_many_restarts_are_left() -> None:
    story = given(created(max_restarts=5))
    fact = replace(exited(story.allocation(1), "exited", 125, WHY), hopeless=True)
    story = story.when(fact)
    ended, over, *_ = story.last
    assert ended == TrialRunEnded(1, 1, "hopeless", 125, WHY)
    assert isinstance(over, TrialEnded)
    assert over.outcome == "ERROR"
    assert story.experiment.state.name == "ERROR"
    assert WHY in story.experiment.reason


@pytest.mark.parametrize("code", [125, None])
def test_without_that_word_it_is_tried_again(code: int | None) -> None:
    story = given(created(max_restarts=5))
    story = story.exits(1, "lost" if code is None else "exited", code, "the daemon was away")
    assert story.experiment.state.name == "ACTIVE"


def test_a_task_runs_as_its_owners_agent_user() -> None:
    ada = AgentUser("ada", 1001, "science", 2001)
    events = user_commands.create(replace(submission(config()), agent_user=ada), EXPERIMENT, iter(range(1, 9)))
    story = given(events)
    assert describe(story.experiment, 1, story.allocation(1)).agent_user == ada
