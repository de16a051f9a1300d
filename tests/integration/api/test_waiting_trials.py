"""Trials that wait for their search: they hold no slots and want none, come back when promoted, and end with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from resolute.proto.experiment import SearchProgressed, TrialTargetSet
from resolute.proto.pool import StartTask
from tests.integration.api.running import Client
from tests.integration.api.test_following_a_search import ASHA, told_by
from tests.integration.api.test_measuring_reports import report
from tests.integration.api.whole import Agent, Whole, whole


@dataclass(frozen=True)
class Run:
    """A run of a trial, as its own code would speak of it."""

    order: StartTask
    client: Client
    agent: Agent

    @property
    def trial_id(self) -> int:
        assert self.order.spec.trial_id is not None
        return self.order.spec.trial_id

    async def reports(self, steps: int, loss: float) -> None:
        told = told_by(self.trial_id, report(steps, loss=loss))
        told["metrics"]["trialRunId"] = self.order.spec.run_id
        await self.client.post(f"/api/v1/trials/{self.trial_id}/metrics", told)

    async def yields(self) -> None:
        signals = f"/api/v1/allocations/{self.order.spec.allocation_id}/signals"
        assert (await self.client.get(f"{signals}/preemption?timeoutSeconds=20"))["preempt"]
        await self.client.post(f"{signals}/ack_preemption")
        await self.agent.report(self.order, "exited", exit_code=0)


async def next_run(cluster: Whole, agent: Agent) -> Run:
    order, client = await cluster.task(agent)
    return Run(order, client, agent)


async def test_a_trial_waits_without_slots_comes_back_and_is_complete_when_the_search_is(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    config = ASHA.replace("max_trials: 4", "max_trials: 2")
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        await cluster.submit(config=config)

        async def is_shown(trial: Run, state: str) -> bool:
            shown = (await cluster.user.get(f"/api/v1/trials/{trial.trial_id}"))["trial"]
            return bool(shown["state"] == state)

        first, second = sorted([await next_run(cluster, agent) for _ in range(2)], key=lambda run: run.trial_id)
        await first.reports(4, loss=0.1)
        await first.yields()
        await cluster.until(lambda: is_shown(first, "STATE_PAUSED"))  # it waits for the search, and is in no queue

        await second.reports(4, loss=0.9)
        (promoted,) = [target for target in await cluster.told(TrialTargetSet) if target.why]
        assert (promoted.trial_id, promoted.length) == (first.trial_id, 8)
        assert promoted.why == "it is number 1 of 2 at rung 0 (at 4), from which the best 1 train on"
        await second.yields()
        again = await next_run(cluster, agent)
        assert (again.trial_id, again.order.spec.run_id, again.order.spec.target) == (first.trial_id, 2, 8)

        await again.reports(8, loss=0.1)
        await again.yields()
        await cluster.until(lambda: is_shown(first, "STATE_COMPLETED"))
        await cluster.until(lambda: is_shown(second, "STATE_COMPLETED"))
        assert await cluster.told(SearchProgressed)
