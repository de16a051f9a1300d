"""What is large is refused by its kind's limit, and what is allowed to be large holds nobody up."""

from __future__ import annotations

import asyncio
import base64
import gc
import http.client
import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest

from resolute.api.body_kinds import CONFIGURATION, CONTAINERS_MAX, METRICS, ORDINARY, SUBMISSION
from resolute.config import OPEN_TRIALS_MAX
from resolute.service.loop_watchdog import LoopWatch
from tests.integration.api.running import Client, running
from tests.integration.api.whole import whole

pytestmark = pytest.mark.alone

HELD_S_MAX = 0.1
YARDSTICK = b"[" + b"[]," * (CONTAINERS_MAX - 2) + b"[]]"
"""The most that the gateway parses at once. On a slow machine the loop may be held for as long as parsing this takes
six times."""
TRIES = 3
"""A machine that is busy with other things makes any piece of work long now and then, and none three times in a row."""

CONFIG = """
name: sizes
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
resources: {slots_per_trial: 0}
"""


def post(
    client: Client, path: str, body: bytes, kept: Path | None = None, **headers: str
) -> tuple[int, dict[str, Any]]:
    """Over a socket of its own, on a thread: the event loop under test is only the gateway's.

    A large answer goes into the file `kept`: parsing it would hold the interpreter, and so the loop.
    """
    where = urlsplit(client.base)
    assert where.hostname
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=120)
    try:
        connection.request("POST", path, body, {"Authorization": f"Bearer {client.token}", **headers})
        answer = connection.getresponse()
        if kept is None:
            return answer.status, json.loads(answer.read())
        with kept.open("wb") as file:
            shutil.copyfileobj(answer, file)
        return answer.status, {}
    finally:
        connection.close()


def held_s_max() -> float:
    """How long the loop may be held on this machine, as it is now."""
    began_at = time.process_time()
    orjson.loads(YARDSTICK)
    return max(HELD_S_MAX, 6 * (time.process_time() - began_at))


async def unheld(work: Callable[..., tuple[int, dict[str, Any]]], *args: Any) -> tuple[int, dict[str, Any]]:
    """The outcome of `work`, during which the event loop was free."""
    gc.freeze()  # as a service does when it is ready: what the tests have loaded is no part of what is measured
    held: list[tuple[float, float]] = []
    try:
        for _ in range(TRIES):
            with LoopWatch(beat_s=0.005) as watch:
                outcome = await asyncio.to_thread(work, *args)
            held.append((watch.longest_cpu_s, held_s_max()))
            if held[-1][0] < held[-1][1]:
                return outcome
    finally:
        gc.unfreeze()
    raise AssertionError(f"held for (s, at most) {held}; {outcome}")


def submission(config: str, files: dict[str, bytes] | None = None) -> bytes:
    definition = [
        {"path": path, "type": 48, "content": base64.b64encode(content).decode(), "mode": 0o644, "mtime": "0"}
        for path, content in (files or {}).items()
    ]
    return json.dumps({"config": config, "modelDefinition": definition, "activate": False}).encode()


async def test_a_context_directory_of_95_mib_goes_in_and_comes_out_and_holds_nobody_up(
    postgres_dsn: str, tmp_path: Path
) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        data = os.urandom(94 * 2**20)
        body = await asyncio.to_thread(submission, CONFIG, {"train.py": b"pass", "data": data})
        status, created = await unheld(post, someone, "/api/v1/experiments", body)
        assert status == 200, created
        experiment = created["experiment"]["id"]
        path, kept = f"/api/v1/experiments/{experiment}/file", tmp_path / "answer"
        status, _ = await unheld(lambda: post(someone, path, b'{"path": "data"}', kept))
        assert status == 200
        file = await asyncio.to_thread(lambda: orjson.loads(kept.read_bytes())["file"])
        assert await asyncio.to_thread(base64.b64decode, file) == data
        again, _ = await unheld(post, someone, "/api/v1/experiments", body)
        assert again == 200, "the same directory is stored once, and may come twice"
        stored = await cluster.gateway.pool.fetchval("SELECT count(*) FROM api.blobs")
        assert stored == 1


async def test_a_directory_that_is_too_large_is_refused_as_a_small_one_would_be(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        body = await asyncio.to_thread(submission, CONFIG, {"data": bytes(96 * 2**20)})
        status, answer = await unheld(post, someone, "/api/v1/experiments", body)
        assert status == 400
        assert "expected at most 95 MB of files; found 96.0 MB, the largest data" in answer["error"]["error"]
        body = submission(CONFIG, {"../data": bytes(2 * 2**20)})
        status, answer = await unheld(post, someone, "/api/v1/experiments", body)
        assert (status, answer["error"]["error"]) == (
            400,
            "modelDefinition: expected a path inside the context; found '../data'",
        )


LABELS = "labels: [" + ",".join(f"l{n}" for n in range(500_000)) + "]"
VALUES = "data: {values: [" + "1,\n" * 19_000 + "]}"


@pytest.mark.parametrize(
    ("more", "status", "said"),
    [
        (LABELS, 400, "the configuration has 3,889,040 bytes; the limit is 1,048,576"),
        (LABELS[: 2**20 - 1000] + "]", 400, "holds more than 20,000 keys and values"),
        (LABELS[:120_000] + "]", 400, "labels: expected a list of at most 1,000 items"),
        (VALUES, 200, ""),
        ("data: " + "[" * 140_000, 400, "nested more than 50 deep"),
        ("".join(f"u{n}: 1\n" for n in range(9_900)), 400, "reading stopped after 100 problems"),
    ],
    ids=["500,000 labels", "1 MB of labels", "a tenth of that", "19,000 values", "levels", "unknown fields"],
)
async def test_no_configuration_holds_the_gateway_up(postgres_dsn: str, more: str, status: int, said: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        answered, answer = await unheld(
            post, someone, "/api/v1/experiments", submission(CONFIG + more, {"train.py": b"pass"})
        )
        assert answered == status, answer
        assert said in json.dumps(answer)


async def test_a_paused_search_of_100_000_trials_is_created_with_those_that_may_be_open(postgres_dsn: str) -> None:
    searcher = "{name: random, metric: loss, max_trials: 100000, max_concurrent_trials: 0, max_length: {batches: 1}}"
    text = CONFIG.replace("{name: single, metric: loss, max_length: {batches: 100}}", searcher)
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        began_at, body = time.process_time(), submission(text, {"train.py": b"pass"})
        status, answer = await asyncio.to_thread(post, someone, "/api/v1/experiments", body)
        assert time.process_time() - began_at < 20, "all of them together take half a minute"
        assert (status, answer["experiment"]["numTrials"]) == (200, OPEN_TRIALS_MAX), answer


@pytest.mark.parametrize(
    ("path", "limit_bytes", "kind"),
    [
        ("/api/v1/experiments", SUBMISSION.limit_bytes, SUBMISSION.name),
        ("/api/v1/preview-hp-search", CONFIGURATION.limit_bytes, CONFIGURATION.name),
        ("/api/v1/trials/1/metrics/batch", METRICS.limit_bytes, METRICS.name),
        ("/api/v1/users/setting", ORDINARY.limit_bytes, ORDINARY.name),
    ],
)
async def test_each_kind_of_body_has_a_limit_that_the_refusal_names(
    postgres_dsn: str, path: str, limit_bytes: int, kind: str
) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")

        async def endless() -> Any:
            while True:
                yield b" " * 65_536

        refused = f"the body is larger than {limit_bytes:,} bytes, the limit for {kind}"
        answer = await someone.call("POST", path, data=endless(), headers={"Connection": "close"})
        assert (answer.status, answer.error) == (413, refused)
        told = {"Content-Length": str(limit_bytes + 1), "Connection": "close"}
        status, said = await unheld(lambda: post(someone, path, b"", None, **told))
        assert (status, said["error"]["error"]) == (413, refused)


async def test_batches_of_metrics_and_lines_hold_nobody_up(postgres_dsn: str, nats_url: str, tmp_path: Path) -> None:
    async with whole(postgres_dsn, nats_url, tmp_path) as cluster:
        agent = await cluster.agent()
        await cluster.submit()
        order, trial = await cluster.task(agent)
        steps = iter(range(1, 10**6))

        def report(metrics: int) -> dict[str, Any]:
            values = {f"m{n}": n * 0.123456789 for n in range(metrics)}
            step = next(steps)
            metric = {"trialId": 1, "trialRunId": 1, "stepsCompleted": step, "metrics": {"avgMetrics": values}}
            return {"group": "training", "metrics": metric}

        for count, metrics in ((5_000, 20), (1, 120_000)):
            body = json.dumps({"reports": [report(metrics) for _ in range(count)]}).encode()
            status, answer = await unheld(post, trial, "/api/v1/trials/1/metrics/batch", body)
            assert status == 200, answer
        for count, why in (
            (METRICS.limit_bytes // 3 - 10, "more than 150,000"),
            (149_990, "expected an object"),
        ):
            many_lists = b'{"reports": [' + b"[]," * count + b"[]]}"
            status, answer = await unheld(post, trial, "/api/v1/trials/1/metrics/batch", many_lists)
            assert status == 400
            assert why in answer["error"]["error"]
        task, at = order.spec.task_id, "2026-01-01T00:00:00Z"
        lines = [{"taskId": task, "log": f"{n} {'x' * 350}", "timestamp": at} for n in range(9_000)]
        status, answer = await unheld(post, trial, "/api/v1/task/logs", json.dumps({"logs": lines}).encode())
        assert status == 200, answer


async def test_a_body_that_is_nested_too_deep_is_the_callers_mistake(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        for deep in (b'{"metadata":' + b"[" * 500 + b"]" * 500 + b"}", b"[" * 500_000):
            status, answer = await unheld(post, someone, "/api/v1/runs/1/metadata", deep)
            assert status == 400, answer
