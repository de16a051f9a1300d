"""The lines of a task's log that tell of its life: what happened, in the words that people's scripts look for."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from resolute.api.lifecycle_lines import Host, Task, lines_of
from resolute.api.logs.shown import readable
from resolute.proto.experiment import TrialEnded, TrialLogPolicyMatched, TrialRunEnded
from resolute.proto.message import Cause, Event, Recorded
from resolute.proto.pool import (
    AllocationExited,
    AllocationKillRequested,
    AllocationRequested,
    AllocationStarted,
    Placement,
    PreemptionRequested,
    ResourcesExited,
    ResourcesStarted,
    SlotsAssigned,
)

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
NAME = "Trial 7 (Experiment 3)"
A = "3.task.1"
SHARE = Placement("share-1", "agent-0", (0, 1))
TASK = Task("3.task", NAME, A, (SHARE,))
HOSTS = {"agent-0": Host("node-0", {0: "GPU-a", 1: "GPU-b"})}


def recorded(event: Event, position: int = 5) -> Recorded:
    return Recorded(position, "pool-default", 1, event, Cause("cause"), AT)


def said(event: Event) -> list[str]:
    return [f"{line.level}: {line.text}" for line in lines_of(recorded(event), TASK, HOSTS)]


def exited(outcome: str, code: int | None, reason: str = "") -> AllocationExited:
    return AllocationExited(A, outcome, code, reason, "3.task", 3, 7)


REQUESTED = AllocationRequested(A, "3.task", "TRIAL", "job", NAME, "ann", 2, 42, 1.0, None, 60, 3, 7)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (REQUESTED, [f"INFO: Scheduling {NAME} (id: {A})"]),
        (SlotsAssigned(A, (SHARE,), ""), [f"INFO: {NAME} was assigned to an agent: agent-0 (2 slots)"]),
        (
            ResourcesStarted(A, "share-1", "node-0"),
            ["INFO: Running task container on agent_id=agent-0, hostname=node-0 with visible GPUs [GPU-a, GPU-b]"],
        ),
        (AllocationStarted(A), [f"INFO: Resources for {NAME} have started"]),
        (
            PreemptionRequested(A, "user requested pause", AT),
            ["INFO: gracefully terminating allocation's remaining resources (reason: user requested pause)"],
        ),
        (
            AllocationKillRequested(A, "it was killed"),
            ["INFO: forcibly terminating allocation's remaining resources (reason: it was killed)"],
        ),
        (ResourcesExited(A, "share-1", 0, ""), ["INFO: resources exited successfully with a zero exit code"]),
        (
            ResourcesExited(A, "share-1", 137, "out of memory"),
            ["WARNING: resources failed with non-zero exit code: out of memory (exit code 137)"],
        ),
        (
            ResourcesExited(A, "share-1", None, "the host went away"),
            ["WARNING: resources ended without an exit code: the host went away"],
        ),
        (
            exited("exited", 0),
            [
                f"INFO: {NAME} was terminated: allocation stopped after resources exited successfully "
                "with a zero exit code"
            ],
        ),
        (
            exited("exited", 3),
            [
                f"ERROR: {NAME} was terminated: allocation failed: crashed: resources failed with non-zero exit code "
                "(exit code 3)"
            ],
        ),
        (
            exited("yielded", 0, "user requested pause"),
            [f"INFO: {NAME} was terminated: allocation preempted after user requested pause"],
        ),
        (
            exited("killed", 137, "it was killed"),
            [f"INFO: {NAME} was terminated: allocation killed after it was killed"],
        ),
        (
            exited("lost", None, "agent-0 was silent"),
            [f"WARNING: {NAME} was terminated: allocation stopped early after agent-0 was silent"],
        ),
        (
            exited("refused", None, "no pool can hold it"),
            [f"ERROR: {NAME} was terminated: allocation failed: no pool can hold it"],
        ),
        (TrialRunEnded(7, 1, "completed", 0, ""), []),
        (
            TrialRunEnded(7, 1, "failed", 3, "", restarts_left=4),
            [f"WARNING: {NAME} failed and is restarted from its latest checkpoint (restarts left: 4)"],
        ),
        (
            TrialLogPolicyMatched(7, 1, "bad gpu", "Xid", "exclude_node", "Xid 79", "agent-0"),
            [
                "WARNING: log policy 'bad gpu' matched the line 'Xid 79'",
                f"WARNING: {NAME} excludes agent agent-0: its next runs are not placed there",
            ],
        ),
        (
            TrialLogPolicyMatched(7, 1, "hopeless", "no", "cancel_retries", "no such file", "agent-0"),
            [
                "WARNING: log policy 'hopeless' matched the line 'no such file'",
                f"WARNING: {NAME} is not restarted if it fails: log policy 'hopeless' says so",
            ],
        ),
        (
            TrialEnded(7, "COMPLETED", "its training is complete"),
            [f"INFO: {NAME} completed successfully: its training is complete"],
        ),
        (TrialEnded(7, "CANCELED", "it was killed"), [f"INFO: {NAME} was canceled: it was killed"]),
        (TrialEnded(7, "ERROR", "run 1 failed"), [f"ERROR: {NAME} failed: run 1 failed"]),
    ],
)
def test_what_happens_to_a_task_is_said_in_its_log(event: Event, words: list[str]) -> None:
    assert said(event) == words


def test_the_lines_are_the_masters_and_no_output_of_a_rank() -> None:
    [line] = lines_of(recorded(ResourcesExited(A, "share-1", 0, "")), TASK, HOSTS)
    assert (line.source, line.stdtype, line.task_id, line.agent_id) == ("master", "", "3.task", "agent-0")
    assert readable(line) == (
        "[2026-01-02T03:04:05.000000Z] share-1  || INFO: resources exited successfully with a zero exit code\n"
    )


def test_lines_made_twice_have_the_same_numbers_and_others_have_others() -> None:
    event = TrialLogPolicyMatched(7, 1, "bad gpu", "Xid", "exclude_node", "Xid 79", "agent-0")
    first, again, later = (lines_of(recorded(event, at), TASK, HOSTS) for at in (5, 5, 6))
    assert first == again
    assert len({line.sequence for line in (*first, *later)}) == 4


@pytest.mark.parametrize(
    ("event", "allocation_id"),
    [
        (TrialRunEnded(7, 1, "failed", 3, "", restarts_left=4), A),
        (TrialLogPolicyMatched(7, 1, "bad gpu", "Xid", "", "Xid 79", "agent-0"), A),
        (TrialEnded(7, "ERROR", "run 1 failed"), ""),
    ],
)
def test_a_line_that_is_made_again_after_the_trial_has_begun_another_run_is_the_same_line(
    event: Event, allocation_id: str
) -> None:
    """A gateway that starts looks the trial up as it is by then. A line is stored once for each allocation."""
    first, again = (lines_of(recorded(event), Task("3.task", NAME, run), {}) for run in (A, "3.task.2"))
    assert first == again
    assert [line.allocation_id for line in first] == [allocation_id]
