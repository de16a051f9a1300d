"""Why a job waits, runs where it runs, or was asked to go: recorded reasons, and what a person can do about them.

The reasons are the scheduler's own, as it recorded them when it decided; nothing here guesses. How the line stands is
counted when somebody asks (`standing`), and the advice is worked out from the rule that holds the allocation.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import asyncpg
import orjson

from resolute.api.views.standing import Waits
from resolute.api.wire import timestamp
from resolute.config.pools import Scheduler
from resolute.proto.queue import PolicyName, WaitRule

# All that a job asks for or holds now; of one that has nothing now, the latest that it had.
ALLOCATIONS = """SELECT a.*, t.state AS trial_state FROM read_tasks.allocations a
LEFT JOIN read_trials.trials t ON t.id = a.trial_id
WHERE a.job_id = $1 AND (a.ended_at IS NULL OR NOT EXISTS (
    SELECT FROM read_tasks.allocations l WHERE l.job_id = $1 AND l.ended_at IS NULL))
ORDER BY a.ended_at DESC NULLS FIRST, a.requested_at, a.allocation_id LIMIT 100"""

# The last run before: what it was stopped for is why its trial asks again.
PREVIOUS = """SELECT DISTINCT ON (task_id) * FROM read_tasks.allocations
WHERE task_id = ANY($1::text[]) AND ended_at IS NOT NULL ORDER BY task_id, ended_at DESC, requested_at DESC"""

SHARES = """SELECT allocation_id, agent_id, slot_ids FROM read_tasks.placements
WHERE allocation_id = ANY($1::text[]) ORDER BY allocation_id, share"""

OF_ALLOCATIONS = "SELECT allocation_id, job_id FROM read_tasks.allocations WHERE allocation_id = ANY($1::text[])"

# Those of jobs that are no experiment's are for the scope of everything.
NAMES = """SELECT j.job_id, e.id AS experiment_id, coalesce(e.name, l.name) AS name, coalesce(e.owner, l.owner) AS owner
FROM unnest($1::text[]) AS j(job_id)
LEFT JOIN read_experiments.experiments e ON e.job_id = j.job_id
LEFT JOIN LATERAL (SELECT name, owner FROM read_tasks.allocations a WHERE a.job_id = j.job_id LIMIT 1) l ON true"""


Reason = dict[str, Any]


def reasons(row: asyncpg.Record) -> dict[str, Reason]:
    """The recorded reasons of an allocation, by what they are for."""
    return {name: orjson.loads(row[name]) for name in ("waits", "placed", "preempted", "killed") if row[name]}


def mentioned(rows: Sequence[asyncpg.Record], waits: Collection[Waits]) -> tuple[list[str], list[str]]:
    """The jobs and the allocations that the reasons of `rows` speak of, and those before them in line."""
    jobs = {job_id for one in waits for job_id in (*one.ahead, *(holder for holder, _ in one.holders))}
    jobs |= {one.first["job_id"] for one in waits if one.first is not None}
    told = (reason for row in rows for reason in reasons(row).values())
    allocations = {reason["for_allocation"] for reason in told if reason.get("for_allocation")}
    return sorted(jobs), sorted(allocations)


def allocation_json(
    row: asyncpg.Record,
    shares: Iterable[asyncpg.Record],
    scheduler: Scheduler,
    who: Mapping[str, Mapping[str, Any]],
    waits: Waits | None,
) -> dict[str, Any]:
    """`who` knows jobs and allocations by their ids."""
    told = reasons(row)
    shown: dict[str, Any] = {
        "allocationId": row["allocation_id"],
        "taskId": row["task_id"],
        "trialId": row["trial_id"],
        "state": f"STATE_{row['state']}",
        "slots": row["slots"],
        "resourcePool": row["pool"],
        "requestedTime": timestamp(row["requested_at"]),
    }
    if waits is not None:
        shown["waits"] = _waits_json(row, waits, scheduler, who)
    if "placed" in told:
        where = [{"agentId": share["agent_id"], "slotIds": share["slot_ids"]} for share in shares]
        shown["placed"] = {**_reason_json(told["placed"]), "agents": where}
    if "preempted" in told:
        shown["preempted"] = _preempted_json(told["preempted"], who)
    if "killed" in told:
        shown["killed"] = _reason_json(told["killed"])
    if row["ended_at"] is not None:
        end = {"endTime": timestamp(row["ended_at"]), "outcome": row["outcome"], "reason": row["why"]}
        shown["ended"] = end | ({} if row["exit_code"] is None else {"exitCode": row["exit_code"]})
    return shown


def _reason_json(reason: Reason) -> dict[str, Any]:
    return {
        "rule": reason.get("rule", ""),
        "reason": reason["reason"],
        "time": _instant(reason["at"]),
        "by": reason["actor"],
    }


def _instant(text: str) -> str | None:
    return timestamp(datetime.fromisoformat(text))


def _waits_json(
    row: asyncpg.Record, waits: Waits, scheduler: Scheduler, who: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    holders = [{**_whom(job_id, who), "slots": slots} for job_id, slots in waits.holders]
    shown = {
        "rule": waits.rule,
        "reason": waits.sentence,
        "time": _instant(waits.recorded["at"]),
        "by": waits.recorded["actor"],
        "since": _instant(waits.since),
        "slotsNeeded": row["slots"],
        "slotsFree": waits.free,
        "jobsAhead": waits.jobs_ahead,
        "ahead": [_whom(job_id, who) for job_id in waits.ahead],
        "holders": holders,
        "help": advice(waits.rule, scheduler, row, [job_id for job_id, _ in waits.holders]),
    }
    if waits.first is not None:
        first = orjson.loads(waits.first["waits"])
        shown["first"] = {
            "allocationId": waits.first["allocation_id"],
            **_whom(waits.first["job_id"], who),
            **_reason_json(first),
            "since": _instant(first["since"]),
        }
    return shown


def _preempted_json(reason: Reason, who: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    shown = {**_reason_json(reason), "deadline": _instant(reason["deadline_at"])}
    if beneficiary := reason.get("for_allocation"):
        shown |= {"forAllocation": beneficiary, "for": dict(who.get(beneficiary, {}))}
    return shown


def _whom(job_id: str, who: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {"jobId": job_id, **who.get(job_id, {})}


def named(rows: Iterable[asyncpg.Record]) -> dict[str, dict[str, Any]]:
    """What is told of a job to others: rows of `NAMES`."""
    return {
        row["job_id"]: {
            "jobId": row["job_id"],
            "name": row["name"] or "",
            "username": row["owner"] or "",
            **({"experimentId": row["experiment_id"]} if row["experiment_id"] is not None else {}),
        }
        for row in rows
    }


def advice(rule: str, scheduler: Scheduler, row: asyncpg.Record, holders: Sequence[str]) -> str:
    """What would help what waits by this rule, in commands where there are some; `holders` are jobs."""
    job = row["job_id"]
    if rule in (WaitRule.IN_LINE, WaitRule.BUSY, WaitRule.FAIR_SHARE) and set(holders) == {job}:
        return "the end of other work of its own job, which holds all the slots, or more agents"
    sooner = {
        PolicyName.PRIORITY: f"a higher priority: det job update {job} --priority N, with N below {row['priority']}",
        PolicyName.FAIR_SHARE: f"a larger weight: det job update {job} --weight N, with N above {row['weight']:g}",
        PolicyName.FIFO: "moving it ahead of another job",
    }[scheduler.type]
    match rule:
        case WaitRule.IN_LINE:
            return sooner
        case WaitRule.BUSY if scheduler.type == PolicyName.PRIORITY and scheduler.preemption:
            return f"the end of what holds the slots, or {sooner}, which may ask work of lower priority to go"
        case WaitRule.BUSY:
            return "the end of what holds the slots; it is next"
        case WaitRule.WHOLE_AGENTS:
            return "agents that are free altogether, or fewer slots_per_trial"
        case WaitRule.MAX_SLOTS:
            return "the end of another trial of its own, or a larger max_slots: det experiment set max-slots"
        case WaitRule.FAIR_SHARE:
            return sooner
        case WaitRule.MAKING_ROOM:
            return "a moment's patience: slots are being given back for it"
        case WaitRule.STARTING:
            return "a moment's patience: instances are on their way"
        case WaitRule.SUSPENDED:
            return "whoever runs the cluster: instances cannot be started, and the reason says why"
        case WaitRule.NO_POOL:
            return f"the pool put back into the cluster's configuration, or det job update {job} --resource-pool NAME"
        case WaitRule.NEVER_FITS:
            return "more agents that it may use and that are enabled (det agent list), or fewer slots_per_trial"
    return ""
