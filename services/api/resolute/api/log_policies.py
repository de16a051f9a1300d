"""Log policies: lines that tasks print are held against the patterns of their experiment as they arrive.

What matches is told to the searcher, once for each run and policy, before the lines are acknowledged: an agent
reports how a task ended after its lines are stored, so that what a line says is known when that is decided.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from resolute.api.kernel.readmodel import ReadModel
from resolute.api.logs.shipping_queries import ShippingQueries
from resolute.bus import Bus
from resolute.config.log_patterns import Patterns, problem_with, problem_with_all
from resolute.proto.errors import Failed, ResoluteError, Unavailable
from resolute.proto.experiment import ReportLogPolicyMatch
from resolute.proto.message import Cause
from resolute.proto.pool import LogLine

log_ = structlog.get_logger()

REMEMBERED = 10_000

LINE_MOST = 500
"""Characters of a matching line that are told: it goes into the log of decisions, and is there for ever."""

CONFIGURATION = "log_policies"
"""A line with this in it is a configuration, printed whole: it matches the patterns that it spells out."""


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    pattern: str
    action: str


@dataclass(slots=True)
class Watched:
    """One run, and those of its policies that no line has matched yet."""

    experiment_id: int
    trial_id: int
    run_id: int
    policies: list[Policy]
    patterns: Patterns = field(init=False)

    def __post_init__(self) -> None:
        self._compile()

    def _compile(self) -> None:
        self.patterns = Patterns([policy.pattern for policy in self.policies])

    def matches(self, lines: Sequence[LogLine]) -> list[tuple[Policy, LogLine]]:
        """Each policy that a line matches, with the first such line."""
        if not self.patterns.may_match("\n".join([_reading(line) for line in lines])):
            return []
        texts, owners = [], []
        for line in lines:
            if CONFIGURATION in line.text:
                continue
            for text in _reading(line).split("\n"):
                texts.append(text)
                owners.append(line)
        found = self.patterns.first_matches(texts)
        return [(self.policies[policy], owners[place]) for policy, place in sorted(found.items())]

    def told(self, policy: Policy) -> None:
        """It is said once: from here on nobody looks for it."""
        self.policies = [one for one in self.policies if one.name != policy.name]
        self._compile()


def _reading(line: LogLine) -> str:
    """The text; and in a line of its own the text with the level that stood before it when it was printed."""
    return line.text if line.level == "INFO" else f"{line.text}\n{line.level}: {line.text}"


def by_run(lines: Sequence[LogLine]) -> dict[tuple[str, str], Sequence[LogLine]]:
    """An agent sends the lines of one share at a time, and those need no sorting."""
    runs = {(line.allocation_id, line.task_id) for line in lines}
    if len(runs) == 1:
        return {runs.pop(): lines}
    sorted_out: dict[tuple[str, str], list[LogLine]] = {}
    for line in lines:
        sorted_out.setdefault((line.allocation_id, line.task_id), []).append(line)
    return {**sorted_out}


class LogPolicies:
    def __init__(self, read: ReadModel, queries: ShippingQueries, bus: Bus) -> None:
        self._read, self._queries, self._bus = read, queries, bus
        self._runs: OrderedDict[tuple[str, str], Watched | None] = OrderedDict()
        """By allocation and task; None has no policies."""

    async def watch(self, lines: Sequence[LogLine]) -> None:
        """Tell of every match in `lines`. Raises Unavailable while nobody can be told: what sent the lines sends them
        again."""
        for run, printed in by_run(lines).items():
            watched = await self._watched(*run)
            if watched is not None and watched.policies:
                for policy, line in watched.matches(printed):
                    await self._tell(watched, policy, line)
                    watched.told(policy)

    async def _watched(self, allocation_id: str, task_id: str) -> Watched | None:
        key = allocation_id, task_id
        if key not in self._runs:
            self._runs[key] = await self._look_up(allocation_id, task_id)
            while len(self._runs) > REMEMBERED:
                self._runs.popitem(last=False)
        return self._runs[key]

    async def _look_up(self, allocation_id: str, task_id: str) -> Watched | None:
        row = await self._queries.policies(allocation_id, task_id)
        if row is None:
            await self._read.catch_up()
            row = await self._queries.policies(allocation_id, task_id)
        if row is None:
            return None
        policies = list(usable(row.policies))
        if problem := problem_with_all([policy.pattern for policy in policies]):  # submitted to an older release
            log_.warning("log policies cannot be used", trial_id=row.trial_id, why=problem)
            return None
        return Watched(row.experiment_id, row.trial_id, row.run_id, policies) if policies else None

    async def _tell(self, watched: Watched, policy: Policy, line: LogLine) -> None:
        report = ReportLogPolicyMatch(
            experiment_id=watched.experiment_id,
            trial_id=watched.trial_id,
            run_id=watched.run_id,
            policy=policy.name,
            pattern=policy.pattern,
            action=policy.action,
            line=line.text[:LINE_MOST].replace("\0", "␀"),  # no event has a NUL: Postgres could not store it
            agent_id=line.agent_id,
        )
        name = hashlib.sha256(f"{line.allocation_id}/{policy.name}".encode()).hexdigest()[:32]
        try:
            await self._bus.request(report, Cause(f"log-policy-{name}", actor="log policies"))
        except (Unavailable, Failed):
            raise
        except ResoluteError as error:  # an answer: its experiment is gone, or the trial has ended
            log_.info("nobody minds the match", policy=policy.name, trial_id=watched.trial_id, why=error.message)


def usable(policies: Iterable[Mapping[str, Any]]) -> Iterable[Policy]:
    """Those with a pattern that can be looked for. A policy without one was turned off by name."""
    for policy in policies:
        pattern = policy.get("pattern")
        if not pattern:
            continue
        if problem := problem_with(pattern):  # submitted to an older release
            log_.warning("a log policy cannot be used", pattern=pattern, why=problem)
            continue
        yield Policy(policy.get("name") or pattern, pattern, policy.get("action") or "")
