"""Logs are kept for as long as was asked for, then removed; the log of events and whoever reads them are told so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import resolute.api.measures.removals as removals_module
from resolute.api.log_removal import ACTOR, LogRemoval
from resolute.api.logs.queries import QUERIES as LOGS
from resolute.api.measures.removals import Due, Removals
from resolute.config.retention import RetentionPolicy
from resolute.proto.errors import Unavailable
from resolute.proto.experiment import TrialEnded, TrialLogRemoved
from resolute.proto.pool import LogLine
from tests.integration.api.running import Client, Running, running
from tests.integration.api.test_experiments import submit
from tests.integration.api.whole import results

KEPT_3_DAYS = "retention_policy: {log_retention_days: 3}\n"
DAY = timedelta(days=1)


@dataclass
class Retained:
    """A cluster with one experiment, and a removal of logs that goes by a clock of the test's own."""

    cluster: Running
    user: Client
    removal: LogRemoval
    now: datetime = datetime(2026, 1, 1, tzinfo=UTC)

    async def ended_trial(self, config: str = "") -> int:
        """A trial that printed 12 lines and has ended."""
        submitted = await submit(self.user, CONFIG + config)
        experiment_id = int(submitted["experiment"]["id"])
        trial_id = int(await self.cluster.gateway.read.value("SELECT max(id) FROM read_trials.trials"))
        await self.user.post(f"/api/v1/experiments/{experiment_id}/kill")
        await self.cluster.until(lambda: self.has_ended(trial_id), True)
        await self.print(trial_id, 12)
        [ended] = [r for r in await self.recorded(TrialEnded) if r.event.trial_id == trial_id]
        self.now = ended.recorded_at
        return trial_id

    async def has_ended(self, trial_id: int) -> bool:
        return (await self.user.get(f"/api/v1/trials/{trial_id}"))["trial"].get("endTime") is not None

    async def print(self, trial_id: int, lines: int) -> None:
        task_id = await self.cluster.gateway.read.value(
            "SELECT task_id FROM read_trials.trials WHERE id = $1", trial_id
        )
        said = [LogLine(task_id, f"{task_id}.1", 0, n, self.now, "INFO", "stdout", f"line {n}") for n in range(lines)]
        await self.cluster.gateway.logs.add(said)

    async def recorded(self, kind: type[Any]) -> list[Any]:
        return [r for r in await self.cluster.log.read_all(0, 10_000) if isinstance(r.event, kind)]

    async def texts(self, trial_id: int, **query: Any) -> list[str]:
        lines = await results(self.user, f"/api/v1/trials/{trial_id}/logs", **query)
        return [line["log"].removesuffix("\n") for line in lines]

    async def shown(self) -> None:
        await self.cluster.gateway.read.catch_up()


CONFIG = """
name: kept
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: 1}
"""


@asynccontextmanager
async def retained(dsn: str, **policy: Any) -> AsyncIterator[Retained]:
    async with running(dsn, services=True) as cluster:
        gateway = cluster.gateway
        user = await cluster.nobody.login("determined")
        made: list[Retained] = []
        removal = LogRemoval(
            Removals(gateway.pool, gateway.measured),
            gateway.logs,
            gateway.ports.of(LOGS),
            gateway.context.bus,
            RetentionPolicy(**policy),
            lambda: made[0].now if made else datetime(2026, 1, 1, tzinfo=UTC),
        )
        made.append(Retained(cluster, user, removal))
        yield made[0]


async def test_a_log_is_removed_when_it_was_kept_for_long_enough_and_says_so_itself(postgres_dsn: str) -> None:
    async with retained(postgres_dsn) as cluster:
        trial_id = await cluster.ended_trial(KEPT_3_DAYS)
        cluster.now += 3 * DAY - timedelta(seconds=1)
        assert await cluster.removal.remove_expired(ACTOR) == 0
        assert len(await cluster.texts(trial_id)) == 12
        cluster.now += timedelta(seconds=1)
        assert await cluster.removal.remove_expired(ACTOR) == 12
        await cluster.shown()
        [recorded] = await cluster.recorded(TrialLogRemoved)
        assert recorded.event == TrialLogRemoved(trial_id, lines=12, retention_days=3)
        assert recorded.cause.actor == ACTOR
        note = (
            f"12 lines were removed from this log on {recorded.recorded_at:%Y-%m-%d at %H:%M} UTC: it was to be kept "
            "for 3 days after the trial's end (retention_policy.log_retention_days)"
        )
        for query in ({}, {"limit": 1}, {"follow": "true"}, {"orderBy": "ORDER_BY_DESC", "limit": 5}):
            assert await cluster.texts(trial_id, **query) == [note], query
        assert await cluster.texts(trial_id, timestampAfter="2100-01-01T00:00:00Z") == []
        assert await cluster.removal.remove_expired(ACTOR) == 0
        assert len(await cluster.recorded(TrialLogRemoved)) == 1


async def test_lines_that_came_later_stand_behind_the_note(postgres_dsn: str) -> None:
    async with retained(postgres_dsn) as cluster:
        trial_id = await cluster.ended_trial(KEPT_3_DAYS)
        cluster.now += 3 * DAY
        await cluster.removal.remove_expired(ACTOR)
        await cluster.print(trial_id, 2)
        await cluster.shown()
        note, *lines = await cluster.texts(trial_id)
        assert lines == ["line 0", "line 1"]
        assert await cluster.texts(trial_id, limit=2) == [note, "line 0"]
        newest = {"orderBy": "ORDER_BY_DESC"}
        assert await cluster.texts(trial_id, **newest) == ["line 1", "line 0", note]
        assert await cluster.texts(trial_id, **newest, limit=2) == ["line 1", "line 0"]


@pytest.mark.parametrize(
    ("policy", "config", "removed_after"),
    [
        ({}, "", None),
        ({"log_retention_days": 2}, "", 2),
        ({"log_retention_days": 2}, KEPT_3_DAYS, 3),
        ({"log_retention_days": 2}, "retention_policy: {log_retention_days: -1}\n", None),
        ({}, "retention_policy: {log_retention_days: 0}\n", 0),
    ],
)
async def test_the_experiment_decides_before_the_cluster_and_minus_one_is_for_ever(
    postgres_dsn: str, policy: dict[str, Any], config: str, removed_after: int | None
) -> None:
    async with retained(postgres_dsn, **policy) as cluster:
        await cluster.ended_trial(config)
        ended_at, days = cluster.now, (0, 1, 2, 3, 10_000)
        gone = []
        for day in days:
            cluster.now = ended_at + day * DAY
            gone += [day] if await cluster.removal.remove_expired(ACTOR) else []
        assert gone == ([] if removed_after is None else [removed_after])


async def test_what_was_said_last_counts_for_one_trial_or_for_all(postgres_dsn: str) -> None:
    async with retained(postgres_dsn) as cluster:
        trial_id = await cluster.ended_trial(KEPT_3_DAYS)
        path = f"/api/v1/trials/{trial_id}"

        async def kept() -> tuple[Any, Any]:
            trial = (await cluster.user.get(path))["trial"]
            remaining = await cluster.user.get(f"{path}/remaining_log_retention_days")
            return trial.get("logRetentionDays"), remaining.get("remainingDays")

        assert await kept() == (3, 3)
        for days in (9, -1):
            answer = await cluster.user.call("PUT", f"{path}/retain_logs", {"numDays": days})
            assert (answer.status, answer.body) == (200, {})
            assert await kept() == (days, days)
        cluster.now += 100 * DAY
        assert await cluster.removal.remove_expired(ACTOR) == 0
        await cluster.user.call("PUT", "/api/v1/experiments/1/retain_logs", {"numDays": 7})
        assert await kept() == (7, 7)
        assert await cluster.removal.remove_expired(ACTOR) == 12
        for days in (-2, 32768):
            answer = await cluster.user.call("PUT", f"{path}/retain_logs", {"numDays": days})
            assert answer.status == 400
            assert "log_retention_days" in answer.error
        other = await cluster.cluster.nobody.login("admin")
        await other.post("/api/v1/users", {"user": {"username": "bob", "active": True}, "password": "s"})
        stranger = await cluster.cluster.nobody.login("bob", "s")
        assert (await stranger.call("PUT", f"{path}/retain_logs", {"numDays": 0})).status == 403
        assert (await other.call("PUT", "/api/v1/trials/99/retain_logs", {"numDays": 0})).status == 404
        assert (await other.call("GET", "/api/v1/trials/99/remaining_log_retention_days")).status == 404


async def test_a_trial_that_has_not_ended_keeps_its_log_and_counts_no_days(postgres_dsn: str) -> None:
    async with retained(postgres_dsn, log_retention_days=0) as cluster:
        await submit(cluster.user, CONFIG)
        await cluster.print(1, 3)
        cluster.now += 1000 * DAY
        assert await cluster.removal.remove_expired(ACTOR) == 0
        assert await cluster.user.get("/api/v1/trials/1/remaining_log_retention_days") == {}


async def test_logs_are_removed_when_the_schedule_says_and_by_an_administrator_at_any_time(postgres_dsn: str) -> None:
    async with retained(postgres_dsn, schedule="24h") as cluster:
        await cluster.ended_trial("retention_policy: {log_retention_days: 0}\n")
        ended_at = cluster.now
        await cluster.removal.look()  # its first time, in the year of the test's clock, has passed
        assert len(await cluster.recorded(TrialLogRemoved)) == 1
        second = await cluster.ended_trial("retention_policy: {log_retention_days: 0}\n")
        cluster.now = ended_at + timedelta(minutes=1)
        await cluster.removal.look()
        assert len(await cluster.texts(second)) == 12
        assert (await cluster.user.call("POST", "/api/v1/cleanup_logs")).status == 403
        admin = await cluster.cluster.nobody.login("admin")
        assert await admin.post("/api/v1/cleanup_logs") == {"removedCount": "12"}
        assert (await cluster.recorded(TrialLogRemoved))[-1].cause.actor == "admin"


async def test_a_long_log_goes_in_steps_that_several_gateways_may_take(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sql = removals_module.REMOVE_LINES.replace(f"LIMIT {removals_module.STEP_ROWS}", "LIMIT 5")
    monkeypatch.setattr(removals_module, "REMOVE_LINES", sql)
    monkeypatch.setattr("resolute.api.log_removal.STEP_ROWS", 5)
    async with retained(postgres_dsn) as cluster:
        await cluster.ended_trial(KEPT_3_DAYS)
        cluster.now += 3 * DAY
        removed = await asyncio.gather(*(cluster.removal.remove_expired(ACTOR) for _ in range(3)))
        assert sum(removed) == 12
        [recorded] = await cluster.recorded(TrialLogRemoved)
        assert recorded.event.lines == 12


async def test_a_removal_that_broke_off_is_told_by_whoever_goes_on(postgres_dsn: str) -> None:
    async with retained(postgres_dsn) as cluster:
        trial_id = await cluster.ended_trial(KEPT_3_DAYS)
        task_id = await cluster.cluster.gateway.read.value("SELECT task_id FROM read_trials.trials")
        removals = Removals(cluster.cluster.gateway.pool, cluster.cluster.gateway.measured)
        newest = await cluster.cluster.gateway.logs.newest(task_id)
        assert await removals.step(Due(trial_id, task_id, 1, 3), newest - 4) == 8  # and then its gateway died
        cluster.now += 3 * DAY
        assert await cluster.removal.remove_expired(ACTOR) == 4
        [recorded] = await cluster.recorded(TrialLogRemoved)
        assert recorded.event.lines == 12
        assert await removals.begun(deleted=False) == []


async def test_a_removal_that_nobody_could_be_told_of_is_told_later(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with retained(postgres_dsn) as cluster:
        await cluster.ended_trial(KEPT_3_DAYS)
        cluster.now += 3 * DAY

        async def away(*_: object) -> None:
            raise Unavailable("the searcher is away")

        with monkeypatch.context() as patched:
            patched.setattr(cluster.cluster.gateway.context.bus, "request", away)
            with pytest.raises(Unavailable):
                await cluster.removal.remove_expired(ACTOR)
        assert await cluster.removal.remove_expired(ACTOR) == 0
        [recorded] = await cluster.recorded(TrialLogRemoved)
        assert recorded.event.lines == 12
