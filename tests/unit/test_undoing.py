"""What a request changed, and whether it can be put back: told of a log that is made for each story."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from resolute.eventlog import Sought
from resolute.eventlog.memory import MemoryEventLog
from resolute.eventlog.undoing import CHANGES, LISTED, TYPES, Plan, plan, requests_in, streams_of
from resolute.eventlog.why import Fact
from resolute.proto.experiment import (
    ExperimentActivated,
    ExperimentArchived,
    ExperimentCreated,
    ExperimentDeletionRequested,
    ExperimentEdited,
    ExperimentEnded,
    ExperimentMoved,
    ExperimentPaused,
    ExperimentUnarchived,
    TrialCreated,
)
from resolute.proto.message import EVENTS, Cause, Event
from resolute.proto.policies import ConfigPoliciesDeleted, ConfigPoliciesSet
from resolute.proto.templates import TemplateConfigReplaced, TemplateCreated, TemplateDeleted


class Story:
    """A log, written request by request."""

    def __init__(self) -> None:
        self.log = MemoryEventLog(now=lambda: datetime(2026, 11, 23, tzinfo=UTC))

    async def of(self, request: str, stream: str, *events: Event, actor: str = "ada") -> None:
        version = len(await self.log.read_stream(stream))
        cause = Cause(f"req-{request}/{stream}", actor, f"req-{request}")
        await self.log.append(stream, events, expected_version=version, cause=cause)

    async def experiments(self, *ids: int, **resources: Any) -> None:
        for number in ids:
            config = {"resources": {"weight": 1, **resources}, "labels": ["cold"]}
            created = ExperimentCreated(number, "job", f"e{number}", config, "", 2, "ada", project_id=1, seed=0)
            await self.of("begin", f"experiment-{number}", created, ExperimentActivated())

    async def plan(self, request: str) -> Plan:
        facts = [Fact.of(row) for row in await self.log.find(Sought(correlation_id=f"req-{request}"), 1000)]
        streams = [await self.log.find(Sought(stream=name, types=tuple(TYPES)), 1000) for name in streams_of(facts)]
        return plan(facts, [Fact.of(row) for rows in streams for row in rows])

    async def values(self, request: str) -> dict[tuple[str, str, str], Any]:
        """What can be put back, each with the value of before."""
        found = await self.plan(request)
        return {
            (one.key.kind, one.key.thing, one.key.property): one.before for one in found.undoings if not one.obstacle
        }

    async def obstacles(self, request: str) -> list[str]:
        return [one.obstacle for one in (await self.plan(request)).undoings if one.obstacle]


@pytest.fixture
def story() -> Story:
    return Story()


async def test_a_bulk_action_is_put_back_thing_by_thing_the_newest_first(story: Story) -> None:
    await story.experiments(1, 2, 3)
    for number in (1, 2, 3):
        await story.of("bulk", f"experiment-{number}", ExperimentArchived())
    found = await story.plan("bulk")
    assert [one.key.thing for one in found.undoings] == ["3", "2", "1"]
    assert {one.before for one in found.undoings} == {False}
    assert (found.request, found.actor, found.left) == ("req-bulk", "ada", ())


async def test_each_property_gets_the_value_that_it_had_before_the_request(story: Story) -> None:
    await story.experiments(7, priority=50)
    edited = ExperimentEdited({"name": "better", "labels": ["hot"], "priority": 1, "weight": 2})
    await story.of("edit", "experiment-7", edited, ExperimentMoved(5), ExperimentPaused())
    assert await story.values("edit") == {
        ("experiment", "7", "name"): "e7",
        ("experiment", "7", "labels"): ["cold"],
        ("experiment", "7", "priority"): 50,
        ("experiment", "7", "weight"): 1,
        ("experiment", "7", "project"): 1,
        ("experiment", "7", "runs"): True,
    }


async def test_what_somebody_changed_since_is_left_alone_and_the_rest_is_put_back(story: Story) -> None:
    await story.experiments(7)
    await story.of("first", "experiment-7", ExperimentEdited({"name": "a", "notes": "n"}))
    await story.of("second", "experiment-7", ExperimentEdited({"name": "b"}), actor="bob")
    assert await story.values("first") == {("experiment", "7", "notes"): ""}
    assert await story.obstacles("first") == ["bob has changed it since, at 2026-11-23 00:00:00.000Z"]


async def test_a_request_that_was_put_back_already_cannot_be_put_back_again(story: Story) -> None:
    await story.experiments(7)
    await story.of("first", "experiment-7", ExperimentArchived())
    await story.of("undo", "experiment-7", ExperimentUnarchived())
    assert await story.values("first") == {}
    assert await story.values("undo") == {("experiment", "7", "archived"): True}, "undoing can be undone"


@pytest.mark.parametrize(
    ("end", "why"),
    [(ExperimentDeletionRequested(), "it has been deleted"), (ExperimentEnded("COMPLETED", ""), "it has ended")],
)
async def test_what_is_over_stays_as_it_is(story: Story, end: Event, why: str) -> None:
    await story.experiments(7)
    await story.of("pause", "experiment-7", ExperimentPaused())
    await story.of("end", "experiment-7", end, actor="searcher")
    assert await story.obstacles("pause") == [why]


async def test_making_a_thing_is_not_put_back_nor_what_was_part_of_it(story: Story) -> None:
    await story.experiments(7)
    found = await story.plan("begin")
    assert found.undoings == ()
    assert [fact.type for fact in found.left] == ["ExperimentCreated", "ExperimentActivated"]


async def test_a_request_that_leaves_a_value_as_it_was_has_nothing_to_put_back(story: Story) -> None:
    await story.experiments(7)
    await story.of("same", "experiment-7", ExperimentEdited({"labels": ["cold"]}))
    assert await story.obstacles("same") == ["it is as it was before"]


async def test_what_services_did_because_of_a_request_is_not_part_of_it(story: Story) -> None:
    await story.experiments(7)
    await story.of("pause", "experiment-7", ExperimentPaused())
    follow_up = Cause("evt-9", "searcher", "req-pause")
    await story.log.append("experiment-7", [ExperimentActivated()], expected_version=3, cause=follow_up)
    assert await story.obstacles("pause") == ["searcher has changed it since, at 2026-11-23 00:00:00.000Z"]


async def test_templates_and_policies_come_back_whole(story: Story) -> None:
    directory = "templates-directory"
    await story.of("make", directory, TemplateCreated(3, "small", 1, 2, {"a": 1}))
    await story.of("edit", directory, TemplateConfigReplaced(3, {"a": 2}))
    await story.of("remove", directory, TemplateDeleted(3))
    assert await story.values("remove") == {("template", "3", "there"): True}
    assert (await story.plan("remove")).values["template", "3", "config"] == {"a": 2}  # type: ignore[index]
    assert await story.obstacles("edit") == ["it has been deleted"]
    policies = ConfigPoliciesSet(4, "EXPERIMENT", {"max_restarts": 1}, {})
    await story.of("set", "policies-directory", policies)
    await story.of("unset", "policies-directory", ConfigPoliciesDeleted(4, "EXPERIMENT"))
    assert await story.values("unset") == {
        ("policies", "4/EXPERIMENT", "policies"): {"invariant_config": {"max_restarts": 1}}
    }


async def test_the_list_has_requests_of_people_that_changed_something(story: Story) -> None:
    await story.experiments(7)
    await story.of("trial", "experiment-7", TrialCreated(1, "r", "task", {}, 0))
    await story.of("first", "experiment-7", ExperimentArchived())
    await story.of("second", "experiment-7", ExperimentUnarchived())
    rows = await story.log.find(Sought(types=tuple(LISTED)), 1000)
    assert list(requests_in(map(Fact.of, rows))) == ["req-first", "req-second"]


def test_every_event_that_is_read_is_one_that_is_recorded() -> None:
    assert EVENTS.keys() >= TYPES
    assert CHANGES.keys() <= LISTED
