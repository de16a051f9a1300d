"""The queue: what waits for slots and what holds them, and the pools there are."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from resolute.cli import output, times
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session


def list_(args: Namespace) -> None:
    opened = session(args)
    pool = _pool(opened, args.resource_pool)
    found = list(
        opened.pages(
            "/api/v1/job-queues-v2",
            "jobs",
            {
                "resourcePool": pool.get("name"),
                "orderBy": "ORDER_BY_DESC" if args.reverse else "ORDER_BY_ASC",
            },
            limit=args.limit,
            offset=args.offset,
            only_first=args.pages == "1",
        )
    )
    jobs = [job.get("full") or job.get("limited") or {} for job in found]
    if args.json:
        output.show_json({"jobs": jobs})
    elif args.yaml:
        output.show_yaml({"jobs": jobs})
    else:
        by_priority = pool.get("schedulerType") == "SCHEDULER_TYPE_PRIORITY"
        headers = [
            "#", "ID", "Type", "Job Name", "Priority" if by_priority else "Weight", "Submitted",
            "Slots (acquired/needed)", "State", "User",
        ]  # fmt: skip
        output.show_table(headers, [_row(job, by_priority) for job in jobs], as_csv=args.csv)


def _row(job: dict[str, Any], by_priority: bool) -> list[Any]:
    summary = job.get("summary") or {}
    is_experiment = job.get("type") == "TYPE_EXPERIMENT"
    ahead = summary.get("jobsAhead", -1)
    return [
        ahead if ahead >= 0 else "N/A",
        job["jobId"],
        job["type"],
        f"{job.get('name')} ({job.get('entityId')})" if is_experiment else job.get("name"),
        job.get("priority") if by_priority else job.get("weight"),
        times.shown(job.get("submissionTime")),
        f"{job.get('allocatedSlots')}/{job.get('requestedSlots')}",
        summary.get("state", "N/A"),
        job.get("username"),
    ]


_DEFAULTS = ("compute", "aux")


def list_pools(args: Namespace) -> None:
    found = session(args).get("/api/v1/resource-pools").get("resourcePools") or []
    if args.json:
        output.show_json(found)
        return
    headers = ["Name", "Description", "Agents", "Slots Used", "Slots", "Slot Type", "Scheduler", "Default"]
    rows = [
        [
            pool["name"],
            pool.get("description"),
            pool.get("numAgents"),
            pool.get("slotsUsed"),
            pool.get("slotsAvailable"),
            str(pool.get("slotType", "")).removeprefix("TYPE_").lower(),
            str(pool.get("schedulerType", "")).removeprefix("SCHEDULER_TYPE_").lower(),
            ", ".join(kind for kind in _DEFAULTS if pool.get(f"default{kind.capitalize()}Pool")),
        ]
        for pool in found
    ]
    output.show_table(headers, rows, as_csv=args.csv)


def _pool(opened: Session, name: str | None) -> dict[str, Any]:
    pools = opened.get("/api/v1/resource-pools").get("resourcePools") or []
    for pool in pools:
        if pool["name"] == name or (name is None and pool.get("defaultComputePool")):
            return dict(pool)
    if name is None:
        return {}
    raise CliError(f"there is no resource pool {name!r}; there are {', '.join(pool['name'] for pool in pools)}")
