"""What an agent says could never be started is passed on with the end of the allocation."""

from __future__ import annotations

from dataclasses import replace

from resolute.proto.pool import AllocationExited, KillAllocation, ResourcesExited
from tests.unit.scheduler.stories import asks, exited, given, hello

WHY = "environment.image: there is no image nobody/nothing:1"


def test_the_end_of_an_allocation_says_that_trying_again_is_of_no_use() -> None:
    story = given(hello(), asks("one"))
    report = replace(exited(story, "one", code=125), reason=WHY, hopeless=True)
    event = story.when(report).only(AllocationExited)
    assert isinstance(event, AllocationExited)
    assert (event.outcome, event.exit_code, event.reason, event.hopeless) == ("exited", 125, WHY, True)


def test_of_a_gang_the_share_that_could_not_start_tells() -> None:
    story = given(hello("a1"), hello("a2"), asks("one", 4))
    report = replace(exited(story, "one", 1, code=125), reason=WHY, hopeless=True)
    story.when(report).then(ResourcesExited)
    event = story.when(exited(story, "one", 0, code=143)).only(AllocationExited)
    assert isinstance(event, AllocationExited)
    assert (event.reason, event.hopeless) == (WHY, True)


def test_what_is_killed_anyhow_is_killed() -> None:
    story = given(hello(), asks("one"), KillAllocation("default", "one", "ada killed it"))
    event = story.when(replace(exited(story, "one", code=125), hopeless=True)).only(AllocationExited)
    assert isinstance(event, AllocationExited)
    assert (event.outcome, event.hopeless) == ("killed", False)
