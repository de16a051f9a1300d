"""Lines that tasks print, held against the policies of their experiment: retries that end, nodes that are avoided."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from resolute.bus import subjects
from resolute.proto.experiment import TrialLogPolicyMatched
from resolute.proto.pool import AllocationRequested, LogBatch, LogLine, LogsStored, StartTask
from tests.integration.api.whole import Agent, Whole, whole

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

CONFIG = """
name: watched
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: 1}
max_restarts: 3
log_policies:
"""

HOPELESS = "  - {name: hopeless, pattern: 'no such (file|directory)', action: cancel_retries}\n"
BAD_NODE = "  - {pattern: '^ERROR: Xid \\d+', action: {type: exclude_node}}\n"


async def prints(cluster: Whole, agent: Agent, order: StartTask, *texts: str, level: str = "INFO") -> None:
    lines = tuple(
        LogLine(
            task_id=order.spec.task_id,
            allocation_id=order.spec.allocation_id,
            rank=0,
            sequence=(order.spec.run_id << 20) + number,
            at=AT,
            level=level,
            stdtype="stderr",
            text=text,
            agent_id=agent.name,
            container_id=order.placement.resources_id,
        )
        for number, text in enumerate(texts)
    )
    await cluster.bus.ask(subjects.agent(agent.name, "logs"), LogBatch(lines), LogsStored)


async def trial(cluster: Whole) -> dict[str, Any]:
    shown: dict[str, Any] = (await cluster.user.get("/api/v1/trials/1"))["trial"]
    return shown


async def test_a_line_that_matches_ends_the_retries_and_the_end_says_why(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=CONFIG + HOPELESS)
        order, _ = await cluster.task(agent)
        for _ in range(2):  # an agent that heard no answer sends again
            await prints(cluster, agent, order, "begins", "open: no such file", "open: no such directory")
        await agent.report(order, "exited", exit_code=1)

        async def has_ended() -> bool:
            return bool((await trial(cluster))["state"] == "STATE_ERROR")

        await cluster.until(has_ended)
        shown = await trial(cluster)
        assert (shown["restarts"], shown["logPolicyMatched"]) == (0, "hopeless")
        assert shown["stateReason"] == (
            "run 1 failed with exit code 1; it is not restarted: "
            "the trial failed and matched logs to a don't retry policy: "
            "log policy 'hopeless' matched the line 'open: no such file'"
        )
        [match] = await cluster.told(TrialLogPolicyMatched)
        assert (match.pattern, match.action, match.agent_id) == (
            "no such (file|directory)",
            "cancel_retries",
            "agent-0",
        )


async def test_a_line_with_a_nul_matches_and_is_stored_as_it_was_printed(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=CONFIG + HOPELESS)
        order, _ = await cluster.task(agent)
        await prints(cluster, agent, order, "\0open: no such file\0")
        [match] = await cluster.told(TrialLogPolicyMatched)
        assert match.line == "␀open: no such file␀"


async def test_a_node_that_printed_a_bad_line_is_left_out_of_the_next_placement(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=CONFIG + BAD_NODE)
        order, _ = await cluster.task(agent)
        await prints(cluster, agent, order, "Xid 79: the GPU has fallen off the bus", level="ERROR")
        await agent.report(order, "exited", exit_code=1)

        async def asked_again() -> bool:
            return len(await cluster.told(AllocationRequested)) == 2

        await cluster.until(asked_again)
        requested = await cluster.told(AllocationRequested)
        assert [each.blocked_agents for each in requested] == [(), ("agent-0",)]
        other = await cluster.agent()
        order = await other.given()
        assert (order.spec.run_id, order.placement.agent_id) == (2, "agent-1")


async def test_a_built_in_policy_only_labels(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=CONFIG.replace("log_policies:\n", ""))
        order, _ = await cluster.task(agent)
        await prints(cluster, agent, order, "RuntimeError: CUDA out of memory. Tried to allocate 2 GiB")
        await agent.report(order, "exited", exit_code=1)
        assert (await agent.given()).spec.run_id == 2  # it is restarted all the same

        async def is_labelled() -> bool:
            return (await trial(cluster)).get("logPolicyMatched") == "CUDA OOM"

        await cluster.until(is_labelled)


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("{name: n, pattern: '(a'}", "log_policies[0].pattern: expected a regular expression of RE2; found '(a'"),
        ("{name: n, pattern: x, action: explode}", "log_policies[0].action: expected one of cancel_retries"),
    ],
)
async def test_a_policy_that_cannot_work_is_refused_at_submission(
    policy: str, message: str, postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        body = {"config": f"{CONFIG}  - {policy}\n", "modelDefinition": []}
        answer = await cluster.user.call("POST", "/api/v1/experiments", body)
        assert (answer.status, message in answer.error) == (400, True), answer.body


async def test_the_policies_of_the_cluster_and_of_the_pool_are_watched_for_too(
    postgres_dsn: str, nats_url: str, tmp_path: Path
) -> None:
    of_the_cluster = {"log_policies": [{"name": "hopeless", "pattern": "give up", "action": "cancel_retries"}]}
    async with whole(postgres_dsn, nats_url, tmp_path, task_container_defaults=of_the_cluster) as cluster:
        agent = await cluster.agent()
        await cluster.submit(config=CONFIG.replace("log_policies:\n", ""))
        order, _ = await cluster.task(agent)
        await prints(cluster, agent, order, "I give up")
        [match] = await cluster.told(TrialLogPolicyMatched)
        assert (match.policy, match.line) == ("hopeless", "I give up")
