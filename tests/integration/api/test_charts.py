"""The charts of a search over REST: each stream sends what is new, and ends with the experiment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.api.running import Client
from tests.integration.api.test_following_a_search import told_by, trial_of
from tests.integration.api.test_measuring_reports import report
from tests.integration.api.whole import Whole, results, whole

RANDOM = """
name: charted
entrypoint: python3 train.py
hyperparameters: {x: {type: double, minval: 0, maxval: 1}}
searcher: {name: random, metric: loss, max_trials: 2, max_concurrent_trials: 2, max_length: {batches: 100}}
resources: {slots_per_trial: 1}
"""
STREAM = "/api/v1/experiments/1/metrics-stream"


async def tell(
    cluster: Whole, trial: Client, trial_id: int, steps: int, group: str = "validation", **metrics: Any
) -> None:
    await trial.post(
        f"/api/v1/trials/{trial_id}/metrics", {**told_by(trial_id, report(steps, **metrics)), "group": group}
    )


async def test_a_search_is_charted_and_each_stream_ends_with_it(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent(slots=2)
        await cluster.submit(config=RANDOM)
        tasks = [await cluster.task(agent) for _ in range(2)]
        trials = {trial_of(order): client for order, client in tasks}
        for trial_id, client in trials.items():
            await tell(cluster, client, trial_id, 10, "training", loss=2.0 * trial_id)
            await tell(cluster, client, trial_id, 20, loss=1.0 * trial_id, accuracy=0.5)
        await tell(cluster, trials[1], 1, 40, loss=5.0)
        user = cluster.user
        await user.post("/api/v1/experiments/1/kill")
        for order, _ in tasks:
            await agent.report(order, "exited", 137)

        names, *_ = await results(user, "/api/v1/experiments/metrics-stream/metric-names", ids=1, period_seconds=1)
        assert names["searcherMetrics"] == ["loss"]
        assert (names["trainingMetrics"], names["validationMetrics"]) == (["loss"], ["accuracy", "loss"])
        assert {"group": "training", "name": "loss"} in names["metricNames"]

        of_loss = {"metric_name": "loss", "group": "validation", "period_seconds": 1}
        batches, *_ = await results(user, f"{STREAM}/batches", **of_loss)
        assert batches == {"batches": [20, 40]}

        sample, *later = await results(user, f"{STREAM}/trials-sample", **of_loss)
        assert sample["promotedTrials"] == [1, 2]
        assert [[point["values"] for point in one["data"]] for one in sample["trials"]] == [
            [{"loss": 1.0}, {"loss": 5.0}],
            [{"loss": 2.0}],
        ]
        assert all(one == {"trials": [], "promotedTrials": [], "demotedTrials": []} for one in later)

        snapshot, *_ = await results(
            user, f"{STREAM}/trials-snapshot", batches_processed=25, batches_margin=5, **of_loss
        )
        assert [(one["trialId"], one["metric"], one["batchesProcessed"]) for one in snapshot["trials"]] == [
            (1, 1.0, 20),
            (2, 2.0, 20),
        ]

        wrong = await user.call("GET", f"{STREAM}/batches?metric_name=loss&group=own&metric_type=TRAINING")
        assert wrong.status == 400
        assert "group, metricType: expected one of them" in str(wrong.body)
        unknown = await user.call("GET", "/api/v1/experiments/9/metrics-stream/batches?metric_name=loss&group=own")
        assert unknown.status == 404
