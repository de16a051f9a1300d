"""The round trip of a command: REST, gateway, bus, searcher, log, read model, answer.

One client after another, as a person at a terminal waits. Everything is durable when the answer comes, and the answer
shows it. All services run in one process, as in the embedded cluster; NATS and Postgres are processes of their own.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator
from functools import partial

import orjson
import uvloop

from bench.figures import Figure, tell
from bench.raw_http import connect, load, request
from bench.stage import all_services, servers

YAML = """
name: bench
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
"""


async def login(port: int, username: str = "determined") -> str:
    """The token of a new session."""
    body = {"username": username, "password": "", "isHashed": False}
    return str((await ask(port, "POST", "/api/v1/auth/login", body))["token"])


async def ask(port: int, method: str, path: str, body: object = None, token: str = "") -> dict[str, object]:
    connection = await connect("127.0.0.1", port)
    answer = await connection.ask(request(method, path, token, orjson.dumps(body) if body is not None else b""))
    connection.close()
    assert answer.startswith(b"HTTP/1.1 200"), answer
    found: dict[str, object] = orjson.loads(answer.partition(b"\r\n\r\n")[2])
    return found


async def submit(port: int, token: str) -> int:
    file = {"path": "train.py", "type": 48, "content": "cHJpbnQoKQ==", "mode": 420}
    body = {"config": YAML, "modelDefinition": [file], "activate": False}
    answer = await ask(port, "POST", "/api/v1/experiments", body, token)
    experiment = answer["experiment"]
    assert isinstance(experiment, dict)
    return int(experiment["id"])


def renaming(experiment_id: int, token: str, client: int) -> Iterator[bytes]:
    for n in itertools.count():
        yield request("PATCH", f"/api/v1/experiments/{experiment_id}", token, orjson.dumps({"name": f"name {n}"}))


def pausing(experiment_id: int, token: str, client: int) -> Iterator[bytes]:
    """Activating starts a trial: the searcher asks for slots, and takes the wish back when it is paused again."""
    for verb in itertools.cycle(("activate", "pause")):
        yield request("POST", f"/api/v1/experiments/{experiment_id}/{verb}", token)


async def measure(seconds: float) -> list[Figure]:
    figures = []
    with servers() as (postgres, nats), all_services(postgres.fresh_database(), nats.url) as served:
        token = await login(served.port)
        experiment_id = await submit(served.port, token)
        for what, requests in (("PATCH experiment", renaming), ("pause and activate", pausing)):
            trips = await load(
                "127.0.0.1",
                served.port,
                partial(requests, experiment_id, token),
                connections=1,
                seconds=seconds,
            )
            figures += [
                Figure(f"{what}, p50", trips.percentile_ms(50), "ms", 5, at_most=True),
                Figure(f"{what}, p99", trips.percentile_ms(99), "ms", 20, at_most=True),
                Figure(f"{what}, one after another", trips.per_s, "commands/s"),
            ]
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    tell("commands", uvloop.run(measure(parser.parse_args().seconds)))


if __name__ == "__main__":
    main()
