"""Changing the queue: places, priorities, weights and pools of jobs; and the reasons why a job waits."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from itertools import groupby
from typing import Any
from urllib.parse import quote

from resolute.cli import output, times
from resolute.cli.errors import CliError
from resolute.cli.login import session

FIELDS = {"priority": int, "weight": float, "resource_pool": str}

_CHANGES = {
    "priority": "priority",
    "weight": "weight",
    "resource_pool": "resourcePool",
    "ahead_of": "aheadOf",
    "behind_of": "behindOf",
}

_OPTIONS = [f"--{name.replace('_', '-')}" for name in _CHANGES]


def update(args: Namespace) -> None:
    given = {name: getattr(args, name) for name in _CHANGES if getattr(args, name) is not None}
    if not given:
        raise CliError(f"nothing to change; give {', '.join(_OPTIONS)}")
    _send(args, [_update(args.job_id, given)])


def update_batch(args: Namespace) -> None:
    _send(args, [_operation(text) for text in args.operation])


def _send(args: Namespace, updates: list[dict[str, Any]]) -> None:
    session(args).post("/api/v1/job-queues", {"updates": updates})
    for update in updates:
        print(f"Updated job {update['jobId']}.")


def _update(job_id: str, changes: dict[str, Any]) -> dict[str, Any]:
    return {"jobId": job_id, **{_CHANGES[name]: value for name, value in changes.items()}}


def _operation(text: str) -> dict[str, Any]:
    """`<job ID>.<field>=<value>`, as the batch command takes it."""
    job_id, dot, rest = text.partition(".")
    name, equals, value = rest.partition("=")
    name = name.replace("-", "_")
    if not (job_id and dot and equals and value):
        raise CliError(f"{text!r}: expected <job ID>.<field>=<value>, as in 5f0c….priority=10")
    if name not in FIELDS:
        raise CliError(f"{text!r}: no field {name!r}; there are {', '.join(FIELDS)}")
    try:
        return _update(job_id, {name: FIELDS[name](value)})
    except ValueError:
        raise CliError(f"{text!r}: expected a number for {name}; found {value!r}") from None


# ---------------------------------------------------------------- why


def explain(args: Namespace) -> None:
    explained = session(args).get(f"/api/v1/jobs/{quote(args.job_id, safe='')}/explain")
    if args.json:
        output.show_json(explained)
        return
    print("\n".join(_explained(explained)))


def _explained(explained: dict[str, Any]) -> Iterator[str]:
    job = explained.get("job") or {}
    name = f" ({job['name']})" if job.get("name") else ""
    yield f"Job {explained['jobId']}{name}: {explained['says']}"
    if job:
        summary = job["summary"]
        place = f", {output.counted(summary['jobsAhead'], 'job')} ahead" if summary["state"] == "STATE_QUEUED" else ""
        yield (
            f"Pool {job['resourcePool']} ({explained['schedulerType']}), priority {job['priority']}, "
            f"weight {job['weight']:g}, {job['allocatedSlots']} of {job['requestedSlots']} slots held{place}"
        )
    for reasons, alike in groupby(explained["allocations"], lambda allocation: list(_reasons(allocation))):
        yield ""
        yield from map(_title, alike)
        yield from reasons


def _title(explained: dict[str, Any]) -> str:
    trial = f"Trial {explained['trialId']}" if explained.get("trialId") else f"Task {explained['taskId']}"
    state, slots = output.state(explained["state"]), output.counted(explained["slots"], "slot")
    return f"{trial}, allocation {explained['allocationId']}: {state}, {slots}"


def _reasons(explained: dict[str, Any]) -> Iterator[str]:
    if waits := explained.get("waits"):
        yield from _waits(waits)
    if placed := explained.get("placed"):
        where = ", ".join(f"{on['agentId']} (slots {_slots(on['slotIds'])})" for on in placed["agents"])
        yield f"  placed on {where}: {placed['reason']}{_rule(placed)}"
        yield f"  since {times.shown(placed['time'])}"
    if preempted := explained.get("preempted"):
        whom = preempted.get("for") or {}
        for_whom = f" for job {whom['jobId']} ({_who(whom)})" if whom else ""
        yield f"  asked to give its slots back by {preempted['by']}{for_whom}: {preempted['reason']}{_rule(preempted)}"
        yield f"  asked {times.shown(preempted['time'])}, with time until {times.shown(preempted['deadline'])}"
    if killed := explained.get("killed"):
        yield f"  ordered to stop by {killed['by']} at {times.shown(killed['time'])}: {killed['reason']}"
    if previous := explained.get("previous"):
        lines = [_title(previous), *_reasons(previous)]
        yield from (f"  before: {line.strip()}" for line in lines if "placed on" not in line)
    if ended := explained.get("ended"):
        code = f" with exit code {ended['exitCode']}" if ended.get("exitCode") is not None else ""
        because = f"{code}: {ended['reason']}" if ended["reason"] else code
        yield f"  over since {times.shown(ended['endTime'])}, {ended['outcome']}{because}"


def _waits(waits: dict[str, Any]) -> Iterator[str]:
    yield f"  waits since {times.shown(waits['since'])}: {waits['reason']}{_rule(waits)}"
    free = waits.get("slotsFree")
    if free is not None:
        are = "is" if free == 1 else "are"
        yield f"  needs {output.counted(waits['slotsNeeded'], 'slot')}; {free} {are} free"
    for holder in waits["holders"]:
        yield f"  held: {output.counted(holder['slots'], 'slot')} by job {holder['jobId']} ({_who(holder)})"
    if waits["ahead"]:
        more = f" and {waits['jobsAhead'] - len(waits['ahead'])} more" * (waits["jobsAhead"] > len(waits["ahead"]))
        first = ", ".join(f"{job['jobId']} ({_who(job)})" for job in waits["ahead"])
        yield f"  ahead: {first}{more}"
    if of_line := waits.get("first"):
        yield f"  in its line: job {of_line['jobId']} ({_who(of_line)}) waits: {of_line['reason']}{_rule(of_line)}"
    if waits["help"]:
        yield f"  what would help: {waits['help']}"


def _rule(reason: dict[str, Any]) -> str:
    return f" [{reason['rule']}]" if reason.get("rule") else ""


def _slots(slot_ids: list[int]) -> str:
    return " ".join(map(str, slot_ids)) or "none"


def _who(job: dict[str, Any]) -> str:
    """Named as in `det job list`: an experiment with its number."""
    number = f" ({job['experimentId']})" if job.get("experimentId") else ""
    return ", ".join(f"{job[key]}{number if key == 'name' else ''}" for key in ("name", "username") if job.get(key))
