"""The answer of a what-if, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from resolute.whatif.pools.measures import Measures, Waiting
from resolute.whatif.pools.question import Answer

GROUPS_MAX = 20
"""More experiments than this are listed one by one in JSON only."""

Table = tuple[Sequence[str], Sequence[Sequence[str]]]
"""Headers and rows."""


def overview(answer: Answer) -> Table:
    sides = (answer.recorded, answer.again, answer.other)
    rows = [
        ("waiting, mean", *(span(m.waiting.mean_s) for m in sides)),
        ("waiting, median", *(span(m.waiting.median_s) for m in sides)),
        ("waiting, p95", *(span(m.waiting.p95_s) for m in sides)),
        ("waiting, max", *(span(m.waiting.max_s) for m in sides)),
        ("utilisation", *(f"{m.utilisation:.1%}" for m in sides)),
        ("preemptions", *(str(m.preemptions) for m in sides)),
        ("makespan", *(span(m.makespan_s) for m in sides)),
        ("fairness (Jain)", *(f"{m.fairness:.3f}" for m in sides)),
        ("never started", *(str(m.never_started) for m in sides)),
    ]
    return ("", "recorded", "recorded policy, simulated", "what if"), rows


def by_group(answer: Answer) -> Table | None:
    """Mean waiting of every experiment; None where they are too many to read."""
    if not 1 < len(answer.recorded.by_group) <= GROUPS_MAX:
        return None
    sides = (answer.recorded, answer.again, answer.other)
    rows = [
        (group, str(waiting.count), *(span(_of(side, group).mean_s) for side in sides))
        for group, waiting in answer.recorded.by_group.items()
    ]
    return ("mean waiting of", "runs", "recorded", "simulated", "what if"), rows


def preface(answer: Answer) -> list[str]:
    recording = answer.recording
    return [
        f"pool {recording.pool}: {len(recording.works)} pieces of work",
        f"recorded: {answer.policies[0]}",
        f"what if:  {answer.policies[1]}",
    ]


def caveats(answer: Answer) -> list[str]:
    """What the numbers do not know."""
    recording = answer.recording
    remarks = []
    if (count := len(answer.recorded.by_group)) > GROUPS_MAX:
        remarks.append(f"{count} experiments are too many to show one by one: --json has them, --from and --to choose")
    if recording.never_ran:
        remarks.append(
            f"{recording.never_ran} requests that never had their slots are left out: their length is not known"
        )
    if recording.unfinished:
        remarks.append(f"{recording.unfinished} that still ran at the end count as if they had ended then")
    remarks.append(
        f"preempted work is assumed to stop within {recording.yield_s:.1f} s and to lose no progress, and every run to "
        "take as long elsewhere as it did"
    )
    return remarks


def document(answer: Answer) -> dict[str, Any]:
    return {
        "pool": answer.recording.pool,
        "work": len(answer.recording.works),
        "never_ran": answer.recording.never_ran,
        "unfinished": answer.recording.unfinished,
        "yield_s": answer.recording.yield_s,
        "recorded": {"policy": answer.policies[0], **asdict(answer.recorded)},
        "simulated": {"policy": answer.policies[0], **asdict(answer.again)},
        "what_if": {"policy": answer.policies[1], **asdict(answer.other)},
    }


def span(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} m" if hours else f"{minutes} m {rest:02} s"


def _of(side: Measures, group: str) -> Waiting:
    return side.by_group.get(group, Waiting(0, 0.0, 0.0, 0.0, 0.0))
