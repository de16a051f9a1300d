"""What the gateway's rows of the queue come to."""

from __future__ import annotations

from decimal import Decimal

import pytest

from resolute.api.queue.projection import ARRIVALS, JOBS, PROJECTION, Arrivals, Job
from resolute.proto.pool import AllocationRequested, JobMoved, SlotsAssigned
from tests.unit.api.folding import Folding


def story() -> Folding:
    return Folding(PROJECTION, "pool-default")


def requested(job_id: str, number: int = 1) -> AllocationRequested:
    return AllocationRequested(f"{job_id}.{number}", "task", "TRIAL", job_id, "name", "ada", 1, 42, 1.0, None, 60)


def moved(job_id: str, position: str) -> JobMoved:
    return JobMoved(job_id, "neighbour", "ahead", position, 42)


ASSIGNED = SlotsAssigned("job-a.1", (), "it is the first in line")


def test_a_job_stands_at_the_number_of_its_first_request() -> None:
    fold = story()
    fold.given(requested("job-a"), requested("job-b"), requested("job-a", 2))
    assert fold.all(JOBS) == [Job("job-a", "default", Decimal(1)), Job("job-b", "default", Decimal(2))]
    assert fold.all(ARRIVALS) == [Arrivals("default", 3)]


def test_slots_that_are_assigned_take_a_number_as_well() -> None:
    fold = story()
    fold.given(requested("job-a"), ASSIGNED, requested("job-b"))
    assert fold.row(JOBS, "job-b", "default").place == 3


def test_each_pool_counts_by_itself() -> None:
    fold = story()
    fold.given(requested("job-a"), ASSIGNED)
    fold.given(requested("job-a", 2), stream="pool-gpus-a100")
    assert fold.row(JOBS, "job-a", "gpus-a100").place == 1
    assert fold.all(ARRIVALS) == [Arrivals("default", 2), Arrivals("gpus-a100", 1)]


@pytest.mark.parametrize("position", ["1.5", "-2", "0.50", "1.00000000000000000000000000000000000000000001"])
def test_a_job_that_was_moved_stands_exactly_where_it_was_put(position: str) -> None:
    fold = story()
    fold.given(requested("job-a"), moved("job-a", position), requested("job-a", 2))
    assert str(fold.row(JOBS, "job-a", "default").place) == position


def test_a_job_that_is_not_in_the_queue_is_not_moved() -> None:
    fold = story()
    fold.given(moved("job-a", "1.5"))
    assert fold.count() == {"jobs": 0, "arrivals": 0}
