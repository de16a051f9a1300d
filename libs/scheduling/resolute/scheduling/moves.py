"""Where a job stands among others: priority, weight, limits, and moves ahead of or behind another."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from resolute.proto.errors import InvalidConfig, NotFound, refuse
from resolute.proto.pool import ChangeJob, JobChanged, JobMoved, JobReference, MoveJob, job_reference_in
from resolute.proto.queue import WANTED, JobSetting, PolicyName, Side, may_be
from resolute.scheduling.jobs import Job
from resolute.scheduling.pool import Pool

DECIMALS_MOST = 1000
"""Of a place in the queue. Some three thousand moves into the same gap need as many."""


def change(pool: Pool, command: ChangeJob) -> JobChanged | None:
    job = pool.jobs.get(command.job_id)
    if job is None:
        raise NotFound(f"no job {command.job_id} in pool {command.pool}")
    for field, value in command.changes.items():
        check(f"changes.{field}", field, value)
    if all(job.settings.get(field, job) == value for field, value in command.changes.items()):
        return None
    return JobChanged(command.job_id, command.changes)


def check(path: str, field: str, value: Any) -> None:
    """Raises InvalidConfig, naming `path`, where a setting of a job cannot have this value."""
    if field not in tuple(JobSetting):
        raise InvalidConfig(f"{path}: no such setting of a job; {', '.join(sorted(JobSetting))} would do")
    setting = JobSetting(field)
    if not may_be(setting, value):
        raise InvalidConfig(f"{path}: found {value!r}; {WANTED[setting]} would do")


def move(pool: Pool, command: MoveJob, policy_name: str) -> JobMoved | None:
    """Among those of the neighbour's priority, right next to the neighbour; None where it is there already."""
    neighbour_id, ahead = _neighbour(command)
    job, neighbour = _waiting_job(pool, command, command.job_id), _waiting_job(pool, command, neighbour_id)
    if policy_name == PolicyName.FAIR_SHARE:
        raise refuse(
            f"move job {command.job_id} {'ahead of' if ahead else 'behind'} {neighbour_id}",
            f"pool {command.pool} shares its slots by weight, not by place in a queue",
            "a larger weight gives a job more slots",
        )
    beyond = _beyond(pool, neighbour, command.job_id, ahead)
    priority = neighbour.priority if policy_name == PolicyName.PRIORITY else job.priority
    if job.priority == priority and _is_between(job, neighbour, beyond, ahead):
        return None
    side = Side.AHEAD if ahead else Side.BEHIND
    numerator, decimals = _between(neighbour.position, beyond)
    if decimals > DECIMALS_MOST:
        raise refuse(
            f"move job {command.job_id} {'ahead of' if ahead else 'behind'} {neighbour_id}",
            "jobs were moved there so often that no more room is left between two places",
            f"move {neighbour_id} first, next to any other job",
        )
    place = _decimal(numerator, decimals)
    reference = _reference(pool, command.job_id)
    return JobMoved(command.job_id, neighbour_id, side, place, priority, **reference, priority_before=job.priority)


def _reference(pool: Pool, job_id: str) -> JobReference:
    """By what the owner of a job's tasks knows the job; something of the job waits."""
    entry = pool.of_job.first((job_id, ""))
    assert entry is not None, f"nothing of {job_id} waits"
    return job_reference_in(pool.allocations[entry[1]].request)


def _neighbour(command: MoveJob) -> tuple[str, bool]:
    given = [name for name in (command.ahead_of, command.behind_of) if name is not None]
    if len(given) != 1:
        raise InvalidConfig("ahead_of, behind_of: expected exactly one of the two, with the id of another job")
    if given[0] == command.job_id:
        field = "ahead_of" if command.ahead_of is not None else "behind_of"
        raise InvalidConfig(
            f"{field}: job {command.job_id} cannot be moved next to itself; another waiting job would do"
        )
    return given[0], command.ahead_of is not None


def _waiting_job(pool: Pool, command: MoveJob, job_id: str) -> Job:
    job = pool.jobs.get(job_id)
    if job is None:
        raise NotFound(f"no job {job_id} in pool {command.pool}")
    if not job.waits:
        raise refuse(
            f"move job {command.job_id} in the queue of pool {command.pool}",
            f"nothing of job {job_id} waits in it",
            "only jobs that wait have a place in the queue",
        )
    return job


def _beyond(pool: Pool, neighbour: Job, moved: str, ahead: bool) -> int | Fraction | None:
    """The position on the other side of the gap; None where no job is there."""
    if not ahead:
        after = (found for found in pool.positions.since((neighbour.position,)) if found[0] > neighbour.position)
        # The next job to arrive gets the next number: behind the last job there is room up to that.
        return next((position for position, job_id in after if job_id != moved), pool.arrivals + 1)
    before = None
    for position, job_id in pool.positions:
        if position >= neighbour.position:
            break
        if job_id != moved:
            before = position
    return before


def _is_between(job: Job, neighbour: Job, beyond: int | Fraction | None, ahead: bool) -> bool:
    if ahead:
        return job.position < neighbour.position and (beyond is None or beyond < job.position)
    return neighbour.position < job.position and (beyond is None or job.position < beyond)


def _between(position: int | Fraction, beyond: int | Fraction | None) -> tuple[int, int]:
    """A place between the two, near the middle, with as many decimals as it takes: (numerator, decimals)."""
    if beyond is None:
        return math.floor(position) - 1, 0
    middle, gap = (Fraction(position) + Fraction(beyond)) / 2, abs(Fraction(position) - Fraction(beyond))
    assert gap, "there is nothing between the two"
    bits = gap.denominator.bit_length() - gap.numerator.bit_length()
    decimals = max(1, int(bits * math.log10(2)) - 1)
    while True:
        numerator = round(middle * 10**decimals)
        if abs(Fraction(numerator, 10**decimals) - middle) < gap / 2:
            return numerator, decimals
        decimals += 1


def _decimal(numerator: int, decimals: int) -> str:
    digits = str(abs(numerator)).rjust(decimals + 1, "0")
    whole, rest = (digits[:-decimals], digits[-decimals:]) if decimals else (digits, "")
    rest = rest.rstrip("0")
    return ("-" if numerator < 0 else "") + whole + (f".{rest}" if rest else "")
