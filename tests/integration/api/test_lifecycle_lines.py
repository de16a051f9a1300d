"""A trial's log tells of the trial's life, in order, beside what the trial printed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from resolute.bus import subjects
from resolute.proto.pool import AllocationKillRequested, LogBatch, LogLine, LogsStored, StartTask
from tests.integration.api.whole import CONFIG, Agent, Whole, results, whole

NAME = "Trial 1 (Experiment 1)"
CRASHED = f"{NAME} was terminated: allocation failed: crashed: resources failed with non-zero exit code"
ONE_RESTART = CONFIG.replace("max_restarts: 0", "max_restarts: 1")


async def prints(cluster: Whole, agent: Agent, order: StartTask, text: str) -> None:
    line = LogLine(
        order.spec.task_id,
        order.spec.allocation_id,
        0,
        order.spec.run_id << 20,
        datetime(2026, 1, 2, tzinfo=UTC),
        "INFO",
        "stdout",
        text,
        agent.name,
        order.placement.resources_id,
    )
    await cluster.bus.ask(subjects.agent(agent.name, "logs"), LogBatch((line,)), LogsStored)


async def followed(cluster: Whole, **query: Any) -> list[dict[str, Any]]:
    """The whole log, once the trial has ended."""
    return await results(cluster.user, "/api/v1/trials/1/logs", follow="true", **query)


async def has_started(cluster: Whole) -> bool:
    return f"Resources for {NAME} have started" in texts(await results(cluster.user, "/api/v1/trials/1/logs"))


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [str(line["log"]).removesuffix("\n") for line in lines]


async def test_a_log_tells_of_a_failure_a_restart_and_the_success_that_follows(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=ONE_RESTART)
        first, _ = await cluster.task(agent)
        await cluster.until(lambda: has_started(cluster))
        await prints(cluster, agent, first, "hello")
        await agent.report(first, "exited", exit_code=3)
        second, _ = await cluster.task(agent)
        await cluster.stop("api")  # the next gateway has to look the trial up
        await cluster.start_gateway()
        await agent.report(second, "exited", exit_code=0)
        lines = await followed(cluster)
        task = first.spec.task_id
        begins = [
            f"{NAME} was assigned to an agent: agent-0 (1 slot)",
            "Running task container on agent_id=agent-0, hostname=agent-0 with visible GPUs []",
            f"Resources for {NAME} have started",
        ]
        assert texts(lines) == [
            f"Scheduling {NAME} (id: {task}.1)",
            *begins,
            "hello",
            "resources failed with non-zero exit code: the task's process ended by itself (exit code 3)",
            f"{CRASHED} (exit code 3)",
            f"{NAME} failed and is restarted from its latest checkpoint (restarts left: 0)",
            f"Scheduling {NAME} (id: {task}.2)",
            *begins,
            "resources exited successfully with a zero exit code",
            f"{NAME} was terminated: allocation stopped after resources exited successfully with a zero exit code",
            f"{NAME} completed successfully: its training is complete",
        ]
        assert texts(await followed(cluster, sources="task")) == ["hello"]
        assert texts(await followed(cluster, rankIds="0")) == ["hello"]
        [fields] = await results(cluster.user, "/api/v1/trials/1/logs/fields")
        assert (fields["rankIds"], fields["stdtypes"], fields["sources"]) == ([0], ["stdout"], ["master", "task"])


async def test_a_log_policy_does_not_match_what_the_log_says_of_it(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    policies = "log_policies: [{name: greeting, pattern: hello}, {name: any, pattern: 'log policy'}]\n"
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=CONFIG + policies)
        order, _ = await cluster.task(agent)
        await prints(cluster, agent, order, "hello")
        await agent.report(order, "exited", exit_code=0)
        matched = [text for text in texts(await followed(cluster)) if "matched" in text]
        assert matched == ["log policy 'greeting' matched the line 'hello'"]


async def test_a_trial_that_is_killed_says_so(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, _ = await cluster.task(agent)
        await cluster.user.post("/api/v1/trials/1/kill", {})
        await cluster.until_told(AllocationKillRequested)  # else the exit below would be one of its own accord
        await agent.report(order, "exited", exit_code=137)
        told = texts(await followed(cluster))
        assert "forcibly terminating allocation's remaining resources (reason: it was killed)" in told
        assert f"{NAME} was terminated: allocation killed after it was killed" in told
