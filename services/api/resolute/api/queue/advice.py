"""What would help an allocation that waits, in commands where there are some."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from resolute.config.pools import Scheduler
from resolute.proto.queue import PolicyName, WaitRule


def advice(
    rule: str, scheduler: Scheduler, holders: Collection[str], *, job_id: str, priority: int, weight: float
) -> str:
    """What would help an allocation of job `job_id` that waits by this rule. `holders` are the jobs that hold slots."""
    if rule in (WaitRule.IN_LINE, WaitRule.BUSY, WaitRule.FAIR_SHARE) and set(holders) == {job_id}:
        return "the end of other work of its own job, which holds all the slots, or more agents"
    sooner = {
        PolicyName.PRIORITY: f"a higher priority: det job update {job_id} --priority N, with N below {priority}",
        PolicyName.FAIR_SHARE: f"a larger weight: det job update {job_id} --weight N, with N above {weight:g}",
        PolicyName.FIFO: "moving it ahead of another job",
    }[scheduler.type]
    match rule:
        case WaitRule.IN_LINE | WaitRule.FAIR_SHARE:
            return sooner
        case WaitRule.BUSY if scheduler.type == PolicyName.PRIORITY and scheduler.preemption:
            return f"the end of what holds the slots, or {sooner}, which may ask work of lower priority to go"
        case WaitRule.NO_POOL:
            move = f"det job update {job_id} --resource-pool NAME"
            return f"the pool put back into the cluster's configuration, or {move}"
    return ELSEWHERE.get(rule, "")


ELSEWHERE: Mapping[str, str] = {
    WaitRule.BUSY: "the end of what holds the slots; it is next",
    WaitRule.WHOLE_AGENTS: "agents that are free altogether, or fewer slots_per_trial",
    WaitRule.MAX_SLOTS: "the end of another trial of its own, or a larger max_slots: det experiment set max-slots",
    WaitRule.MAKING_ROOM: "a moment's patience: slots are being given back for it",
    WaitRule.STARTING: "a moment's patience: instances are on their way",
    WaitRule.SUSPENDED: "whoever runs the cluster: instances cannot be started, and the reason says why",
    WaitRule.NEVER_FITS: "more agents that it may use and that are enabled (det agent list), or fewer slots_per_trial",
}
"""What helps whatever the pool's policy is."""
