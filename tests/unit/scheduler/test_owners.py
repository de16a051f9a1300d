"""Owners of tasks: an allocation names the service that asked for it, and is asked about at that service's address."""

from __future__ import annotations

from dataclasses import replace

import pytest

from resolute import codec
from resolute.proto.errors import InvalidConfig
from resolute.proto.owners import OWNERS, SEARCHER, owner_named
from resolute.proto.pool import AllocationExited, AllocationRequested, KillAllocation
from resolute.proto.streams import Service
from resolute.proto.tasks import TaskDescription
from tests.unit.agent.test_environment import SPEC
from tests.unit.scheduler.stories import PoolStory, asks


def test_every_owner_is_a_service_with_an_address_of_its_own() -> None:
    assert {owner.service for owner in OWNERS.values()} <= set(Service)
    assert len({owner.subject for owner in OWNERS.values()}) == len(OWNERS)
    assert all(owner_named(name) is owner and owner.service == name for name, owner in OWNERS.items())


def test_an_allocation_that_was_recorded_without_an_owner_is_the_searchers() -> None:
    recorded = codec.dump(AllocationRequested("a", "t", "TRIAL", "j", "n", "ada", 1, 42, 1.0, None, 60))
    del recorded["task_owner"]
    found = codec.event_from("AllocationRequested", AllocationRequested.schema_version, recorded)
    assert isinstance(found, AllocationRequested)
    assert owner_named(found.task_owner) is SEARCHER
    assert owner_named("a service of a later release") is None


@pytest.mark.parametrize("owner", ["", "searcher"])
def test_a_pool_records_the_owner_and_the_owners_own_numbers(owner: str) -> None:
    request = replace(asks("one"), task_owner=owner, experiment_id=7, trial_id=9)
    story = PoolStory().given(request, KillAllocation("default", "one", "why"))
    requested, exited = (event for event in story.events if isinstance(event, AllocationRequested | AllocationExited))
    assert isinstance(requested, AllocationRequested)
    assert isinstance(exited, AllocationExited)
    assert (requested.task_owner, requested.experiment_id, requested.trial_id) == (owner, 7, 9)
    assert (exited.experiment_id, exited.trial_id) == (7, 9)


def test_an_owner_that_nobody_knows_is_refused_as_it_asks() -> None:
    with pytest.raises(InvalidConfig, match="task_owner: found 'pods'; one of searcher, tasks would do"):
        PoolStory().when(replace(asks("one"), task_owner="pods"))


@pytest.mark.parametrize(("spec", "refusal"), [(None, ""), (SPEC, "why")])
def test_a_description_is_a_specification_or_a_refusal(spec: object, refusal: str) -> None:
    with pytest.raises(AssertionError):
        TaskDescription(spec, refusal)  # type: ignore[arg-type]
    with pytest.raises(codec.Undecodable):
        codec.load(TaskDescription, {"spec": None if spec is None else codec.dump(spec), "refusal": refusal})
