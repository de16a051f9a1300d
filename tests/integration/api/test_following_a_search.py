"""What a trial hears of its search over REST: how far to train next, and when there is no more to do."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

from resolute.proto.experiment import (
    PostOperations,
    TrialEarlyExitReported,
    TrialTargetReached,
    TrialTargetSet,
    TrialValidated,
)
from resolute.proto.pool import PreemptAllocation, StartTask
from tests.integration.api.running import PATIENCE_S
from tests.integration.api.test_measuring_reports import read_back, report
from tests.integration.api.whole import POOL, whole

ASHA = """
name: halved
entrypoint: python3 train.py
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: async_halving, metric: loss, num_rungs: 3, divisor: 2, max_trials: 4, max_concurrent_trials: 2,
           max_length: {batches: 16}}
resources: {slots_per_trial: 1}
"""

TIMED = ASHA.replace("max_length: {batches: 16}", "time_metric: epochs, max_time: 16")


CUSTOM = """
name: driven
entrypoint: python3 train.py
searcher: {name: custom, metric: loss, unit: epochs}
resources: {slots_per_trial: 1}
"""

REQUEST = "11111111-1111-4111-8111-111111111111"


def trial_of(order: StartTask) -> int:
    assert order.spec.trial_id is not None
    return order.spec.trial_id


def operation(trial_id: int, after: int = 0, timeout_s: int = 0) -> str:
    return f"/api/v1/trials/{trial_id}/searcher/operation?after={after}&timeout_seconds={timeout_s}"


def completed(trial_id: int, length: int | str, metric: Any = 0.5) -> tuple[str, dict[str, Any]]:
    body = {"op": {"length": str(length)}, "searcherMetric": metric}
    return f"/api/v1/trials/{trial_id}/searcher/completed_operation", body


async def test_a_single_trial_trains_to_its_length_and_is_done(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        told = await trial.get(operation(1))
        assert told["op"] == {"validateAfter": {"length": "100"}}
        assert (told["completed"], told["finished"], told["preempt"]) == (False, False, False)
        for _ in range(2):
            await trial.post(*completed(1, 100))
        told = await asyncio.wait_for(trial.get(operation(1, after=100, timeout_s=60)), PATIENCE_S)
        assert (told["completed"], told["finished"]) == (True, True)
        assert [(one.run_id, one.length, one.metric) for one in await cluster.told(TrialTargetReached)] == [
            (1, 100, 0.5)
        ]


async def test_of_two_trials_the_better_is_told_to_go_on_and_the_other_to_give_its_slots_back(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        await cluster.submit(config=ASHA)
        trials: dict[Any, Any] = {}
        for _ in range(2):
            order, client = await cluster.task(agent)
            trials[order.spec.trial_id] = client
        (first, one), (second, other) = sorted(trials.items())
        assert (await one.get(operation(first)))["op"] == {"validateAfter": {"length": "4"}}
        await one.post(f"/api/v1/trials/{first}/metrics", told_by(first, report(4, loss=0.9)))
        told = await asyncio.wait_for(one.get(operation(first, after=4, timeout_s=60)), PATIENCE_S)
        assert (told["completed"], told["finished"], told["preempt"]) == (True, False, True)
        await other.post(f"/api/v1/trials/{second}/metrics", told_by(second, report(4, loss=0.5)))
        told = await asyncio.wait_for(other.get(operation(second, after=4, timeout_s=60)), PATIENCE_S)
        assert (told["op"], told["completed"]) == ({"validateAfter": {"length": "8"}}, False)


@pytest.mark.alone
async def test_a_trial_that_waits_for_its_target_hears_of_it_at_once(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        experiment_id = await cluster.submit(config=CUSTOM)
        create = {"type": "create_trial", "request_id": REQUEST, "hparams": {}}
        await cluster.ask(PostOperations(experiment_id, (create,)), "create")
        order, trial = await cluster.task(agent)
        took_s = list[float]()
        for done, length in ((0, 5), (5, 10), (10, 15)):
            waiting = asyncio.create_task(trial.get(operation(trial_of(order), after=done, timeout_s=60)))
            await asyncio.sleep(0.1)
            assert not waiting.done(), "nobody has said yet how far it shall train"
            asked_at = time.perf_counter()
            train = {"type": "train_to", "request_id": REQUEST, "length": length}
            await cluster.ask(PostOperations(experiment_id, (train,)), f"train to {length}")
            assert (await asyncio.wait_for(waiting, PATIENCE_S))["op"] == {"validateAfter": {"length": str(length)}}
            took_s.append(time.perf_counter() - asked_at)
        # Milliseconds; a machine that is busy with other things holds some of them up. Who heard no news would look by
        # himself after 5 s.
        assert min(took_s) < 2, took_s


def told_by(trial_id: int, body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "metrics": {**body["metrics"], "trialId": trial_id}}


async def test_a_trial_that_waits_hears_that_its_slots_are_wanted(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        waiting = asyncio.create_task(trial.get(operation(1, after=100, timeout_s=60)))
        await asyncio.sleep(0.1)
        await cluster.ask(PreemptAllocation(POOL, order.spec.allocation_id, "a test wants the slot"), "preempt")
        told = await asyncio.wait_for(waiting, PATIENCE_S)
        assert (told["preempt"], told["finished"]) == (True, False)


async def test_a_wait_that_ends_without_news_says_how_things_stand(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        began = time.perf_counter()
        told = await trial.get(operation(1, after=100, timeout_s=1))
        assert 0.9 < time.perf_counter() - began < 30
        assert (told["completed"], told["finished"], told["preempt"]) == (False, False, False)


async def test_a_completion_that_makes_no_sense_names_the_field(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        _, trial = await cluster.task(agent)
        for (path, body), status, said in (
            (completed(1, "far"), 400, "op.length: expected"),
            (completed(1, 100, None), 400, "searcherMetric: expected"),
            (completed(1, 100, "good"), 400, "searcherMetric: the searcher's metric must be a number"),
            (completed(1, 101), 409, "its target is 100"),
        ):
            answer = await trial.call("POST", path, body)
            assert answer.status == status, answer.body
            assert said in answer.error
        assert await cluster.told(TrialTargetReached) == []
        await trial.post(*completed(1, 100, float("nan")))
        assert [one.metric for one in await cluster.told(TrialTargetReached)] == [None]


async def test_a_trial_speaks_for_itself_only(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        await cluster.submit()
        await cluster.submit()
        one, trial = await cluster.task(agent)
        other, _ = await cluster.task(agent)
        assert (await trial.call("GET", operation(trial_of(other)))).status == 403
        assert (await trial.call("POST", *completed(trial_of(other), 100))).status == 403
        assert (await cluster.nobody.call("GET", operation(trial_of(one)))).status == 401
        assert (await cluster.user.call("POST", *completed(trial_of(one), 100))).status == 403
        await trial.post(*completed(trial_of(one), 100))
        assert [reached.trial_id for reached in await cluster.told(TrialTargetReached)] == [one.spec.trial_id]


async def test_a_search_by_time_is_told_the_time_of_each_validation(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=TIMED)
        order, trial = await cluster.task(agent)
        number = trial_of(order)
        path = f"/api/v1/trials/{number}/metrics"
        await trial.post(path, told_by(number, report(40, loss=0.5, epochs=1.5)))
        assert [(told.steps_completed, told.metric, told.time) for told in await cluster.told(TrialValidated)] == [
            (40, 0.5, 1.5)
        ]
        assert await cluster.told(TrialTargetSet) == []
        told = await trial.get(operation(number))
        assert "op" not in told


async def test_a_validation_that_trials_cannot_be_compared_by_is_refused_and_says_what_is_missing(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        await cluster.submit(config=TIMED)
        order, trial = await cluster.task(agent)
        number = trial_of(order)
        path = f"/api/v1/trials/{number}/metrics"
        for metrics, said in (
            (
                {"acc": 0.5, "epochs": 1},
                "metrics.avgMetrics.loss: missing. searcher.metric is 'loss', and async_halving compares trials by it, "
                "but this validation reported acc, epochs.",
            ),
            ({"loss": 0.5}, "metrics.avgMetrics.epochs: missing. searcher.time_metric is 'epochs'"),
            ({"loss": 0.5, "epochs": "late"}, "metrics.avgMetrics.epochs: the searcher's metric must be a number"),
            ({"loss": 0.5, "epochs": float("nan")}, "metrics.avgMetrics.epochs: expected how far training has come"),
        ):
            answer = await trial.call("POST", path, told_by(number, report(40, **metrics)))
            assert answer.status == 400
            assert said in answer.error
        batch = {"reports": [report(20, loss=0.5, epochs=1), report(40, epochs=1)]}
        answer = await trial.call("POST", f"{path}/batch", batch)
        assert (answer.status, answer.error.partition(":")[0]) == (400, "reports[1].metrics.avgMetrics.loss")
        assert await read_back(cluster.user, "validation", number) == []
        assert await cluster.told(TrialValidated) == []


async def test_a_trial_may_say_why_it_ends_before_its_length(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=3)
        for reason in ("INVALID_HP", "USER_REQUESTED_STOP", "MISCONFIGURED"):
            await cluster.submit()
            order, trial = await cluster.task(agent)
            path = f"/api/v1/trials/{order.spec.trial_id}/early_exit"
            for _ in range(2):
                await trial.post(path, {"reason": f"EXITED_REASON_{reason}"})
            assert (await trial.call("POST", path, {"reason": "BORED"})).status == 400
        told = [event.reason for event in await cluster.told(TrialEarlyExitReported)]
        assert told == ["INVALID_HP", "USER_REQUESTED_STOP", "MISCONFIGURED"]
