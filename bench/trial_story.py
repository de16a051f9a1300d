"""Where the time of short trials goes: the instants of each trial, from the log, the agent and the trial itself, and
the hops between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from bench.harness import median
from resolute.proto.experiment import ExperimentCreated, ExperimentEnded, TrialEnded, TrialRunRequested
from resolute.proto.message import Recorded
from resolute.proto.pool import AllocationExited, AllocationRequested, AllocationStarted, SlotsAssigned

HOPS = (
    ("run requested -> allocation requested", "wanted", "queued"),
    ("slots assigned -> order at the agent", "given", "ordered"),
    ("order at the agent -> first line of user code", "ordered", "first_line"),
    ("order at the agent -> the agent sees it run", "ordered", "running"),
    ("first line of user code -> end in the log", "first_line", "exited"),
    ("slots assigned -> end in the log", "given", "exited"),
    ("allocation exited -> trial ended", "exited", "ended"),
)
FIRST_LINE = ("given", "first_line")


@dataclass(slots=True)
class Run:
    """One allocation; instants in seconds since the epoch, by name."""

    trial_id: int
    at: dict[str, float] = field(default_factory=dict)

    def hop_ms(self, start: str, end: str) -> float | None:
        return (self.at[end] - self.at[start]) * 1000 if start in self.at and end in self.at else None


@dataclass(slots=True)
class Story:
    runs: dict[str, Run] = field(default_factory=dict)
    """By allocation id."""
    created: float = 0.0
    over: float = 0.0
    state: str = ""

    def hops_ms(self, start: str, end: str) -> list[float]:
        return [hop for run in self.runs.values() if (hop := run.hop_ms(start, end)) is not None]

    def median_ms(self, start: str, end: str) -> float:
        return median(self.hops_ms(start, end) or [float("nan")])


def of_experiment(experiment_id: int, log: Iterable[Recorded]) -> Story:
    story = Story()
    of_trial: dict[int, Run] = {}
    for recorded in log:
        at, event = recorded.recorded_at.timestamp(), recorded.event
        mine = recorded.stream == f"experiment-{experiment_id}"
        match event:
            case ExperimentCreated() if mine:
                story.created = at
            case TrialRunRequested(trial_id=trial_id, allocation_id=allocation_id) if mine:
                of_trial[trial_id] = story.runs[allocation_id] = Run(trial_id, {"wanted": at})
            case AllocationRequested(allocation_id=allocation_id) if allocation_id in story.runs:
                story.runs[allocation_id].at["queued"] = at
            case SlotsAssigned(allocation_id=allocation_id) if allocation_id in story.runs:
                story.runs[allocation_id].at["given"] = at
            case AllocationStarted(allocation_id=allocation_id) if allocation_id in story.runs:
                story.runs[allocation_id].at["started"] = at
            case AllocationExited(allocation_id=allocation_id) if allocation_id in story.runs:
                story.runs[allocation_id].at["exited"] = at
            case TrialEnded(trial_id=trial_id) if mine:
                of_trial[trial_id].at["ended"] = at
            case ExperimentEnded(outcome=outcome) if mine:
                story.over, story.state = at, outcome
    return story


def add_agent(story: Story, log: Path) -> None:
    """What the agent's own log says: when an order came, and when the task was seen to run."""
    names = {"starting": "ordered", "running": "running"}
    of_resources: dict[str, str] = {}
    for line in log.read_text().splitlines():
        if not line.startswith("{"):
            continue
        said = json.loads(line)
        if said.get("event") == "starting":
            of_resources[said["resources_id"]] = said["allocation_id"]
        allocation_id = of_resources.get(said.get("resources_id", ""))
        if said.get("event") in names and allocation_id in story.runs:
            story.runs[allocation_id].at[names[said["event"]]] = datetime.fromisoformat(said["timestamp"]).timestamp()


def add_marks(story: Story, marks: Mapping[int, float]) -> None:
    """When each trial's own code came to its first line."""
    for run in story.runs.values():
        if run.trial_id in marks:
            run.at["first_line"] = marks[run.trial_id]
