"""What an explanation reckons among the causes, on a log of a few lines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from resolute.eventlog.chain import Row
from resolute.eventlog.sentences import sentence
from resolute.eventlog.why import Fact, causes_of, explain

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
OF_TRIAL = {"trial_id": 41, "run_id": 1}
MATCHED = {**OF_TRIAL, "policy": "xid", "pattern": "Xid", "line": "Xid 79", "agent_id": "a1"}


class Lines:
    """One stream, every event an append of its own but for those that share a cause."""

    def __init__(self, *events: tuple[str, str, dict[str, Any]]) -> None:
        self.facts = [self._fact(number, *event) for number, event in enumerate(events, 1)]

    @staticmethod
    def _fact(position: int, kind: str, cause: str, data: dict[str, Any]) -> Fact:
        text = orjson.dumps(data).decode()
        return Fact.of(Row(position, "experiment-7", position, kind, 1, text, cause, 0, "", "", None, NOON, ""))

    async def at(self, position: int) -> Fact | None:
        return next((fact for fact in self.facts if fact.position == position), None)

    async def append_of(self, fact: Fact) -> Sequence[Fact]:
        return [one for one in self.facts if one.row.caused_by == fact.row.caused_by]

    async def mentioning(self, field: str, *values: str) -> Sequence[Fact]:
        return [fact for fact in self.facts if str(fact.data.get(field)) in values]

    async def stream(self, name: str) -> Sequence[Fact]:
        return self.facts

    async def of_types(self, stream: str, *types: str) -> Sequence[Fact]:
        return [fact for fact in self.facts if fact.type in types]


def causes(log: Lines) -> list[str]:
    return [fact.type for fact in asyncio.run(causes_of(log.facts[-1], log))]


def test_a_run_that_leaves_a_node_out_follows_from_the_line_that_a_log_policy_found() -> None:
    again = {**OF_TRIAL, "run_id": 2, "slots": 1, "checkpoint": None, "blocked_agents": ["a1"]}
    log = Lines(
        ("TrialLogPolicyMatched", "match", {**MATCHED, "action": "exclude_node"}),
        ("TrialLogPolicyMatched", "other", {**MATCHED, "action": None}),
        ("TrialRunEnded", "exit", {**OF_TRIAL, "outcome": "failed"}),
        ("TrialRunRequested", "exit", again),
    )
    assert causes(log) == ["TrialLogPolicyMatched", "TrialRunEnded"]
    assert sentence(log.facts[-1].row, again).endswith("from the beginning, and not on a1")


def test_a_trial_that_is_not_restarted_ended_for_the_line_and_for_the_run() -> None:
    log = Lines(
        ("TrialLogPolicyMatched", "match", {**MATCHED, "action": "cancel_retries"}),
        ("TrialRunEnded", "exit", {**OF_TRIAL, "outcome": "failed"}),
        ("TrialEnded", "exit", {"trial_id": 41, "outcome": "ERROR"}),
    )
    assert causes(log) == ["TrialLogPolicyMatched", "TrialRunEnded"]


def test_a_trial_that_made_room_is_asked_about_that_also_when_it_has_ended() -> None:
    log = Lines(
        ("PreemptionRequested", "ask", {"allocation_id": "41.1", "by": "priority"}),
        ("TrialRunEnded", "exit", {**OF_TRIAL, "allocation_id": "41.1", "outcome": "yielded"}),
        ("TrialRunEnded", "end", {**OF_TRIAL, "run_id": 2, "outcome": "completed"}),
        ("TrialEnded", "end", {"trial_id": 41, "outcome": "COMPLETED"}),
    )
    asked = {word: asyncio.run(explain("trial-41", word, log)).fact.position for word in ("preempted", "stopped")}
    assert asked == {"preempted": 2, "stopped": 4}


def test_what_follows_from_other_rules_of_a_pool_follows_from_their_being_configured() -> None:
    configured = {"pool": "gpu", "changes": {"scheduler.type": "priority", "scheduler.preemption": True}}
    log = Lines(
        ("AllocationRequested", "request", {"allocation_id": "b"}),
        ("PoolConfigured", "configured", configured),
        ("SlotsAssigned", "configured", {"allocation_id": "b"}),
    )
    assert causes(log) == ["PoolConfigured"]
    told = sentence(log.facts[1].row, configured)
    assert told == "pool gpu was configured: scheduler.type to priority, scheduler.preemption to true"
