"""Asking a gateway everything that can be asked with GET: the routes, filled in with what there is."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from random import Random
from urllib.parse import quote

import aiohttp
from aiohttp import web

from resolute.api.answering import application
from resolute.api.gateway import Gateway
from resolute.api.kernel.idents import PostgresIdents
from resolute.api.kernel.readmodel import ReadModel
from resolute.api.routing import Principal, Route
from resolute.api.table import ROUTES
from resolute.api.vault import Shut

NOT_TOLD_BY_THE_LOG = frozenset(
    {
        "AllocationPreemptionSignal",  # waits for what has not happened yet
        "AllocationRendezvousInfo",
        "GetLogAsides",  # notes beside the log
        "GetLogEvents",  # the log itself
        "Health",  # of this moment
        "MasterLogs",  # of this process, since it began
        "MetricsDiscovery",  # of the processes that run now
        "PreviewGC",  # asks another service
        "ProcessMetrics",  # of this process, since it began
        "StateMetrics",  # of what lives now, or did ten minutes ago
    }
)

PLURAL = {
    "experiments": "experimentId",
    "trials": "trialId",
    "workspaces": "workspaceId",
    "projects": "projectId",
}
"""What a parameter called only `id` means, by the word before it."""


class _Trusting(Gateway):
    """Takes whoever reaches it for the administrator: it listens where only this process can."""

    async def who(self, request: web.Request) -> Principal:
        return Principal(1, "admin", admin=True)


@dataclass(frozen=True, slots=True)
class Asking:
    gateway: Gateway
    http: aiohttp.ClientSession

    async def get(self, path: str) -> bytes:
        """Status and body of one answer."""
        async with self.http.get(f"http://gateway{path}") as response:
            return b"%d " % response.status + await response.read()


@asynccontextmanager
async def asking(gateway: Gateway) -> AsyncIterator[Asking]:
    trusting = _Trusting(gateway.context, gateway.settings, gateway.pool, gateway.read)
    # The keys of secrets stand beside the log: a replay has none, and shows masks on both sides.
    trusting.vault = Shut(gateway.pool, gateway.vault.keyring)
    with tempfile.TemporaryDirectory(prefix="resolute-replay-") as folder:  # its mode lets nobody else in
        runner = web.AppRunner(application(trusting, ROUTES), access_log=None)
        await runner.setup()
        try:
            socket = str(Path(folder) / "gateway")
            await web.UnixSite(runner, socket).start()
            async with aiohttp.ClientSession(connector=aiohttp.UnixConnector(socket)) as http:
                yield Asking(trusting, http)
        finally:
            await runner.cleanup()


async def answers(gateway: Gateway) -> dict[str, bytes]:
    """Every GET of the gateway, answered now, by path."""
    async with asking(gateway) as ask:
        return {path: await ask.get(path) for paths in await paths_of(gateway.read) for path in paths}


async def paths_of(read: ReadModel) -> list[list[str]]:
    """Every GET there is, for every entity there is, by route."""
    ids = await PostgresIdents(read, [one.projection for one in read.tables]).idents()
    told = [route for route in ROUTES if route.method == "GET" and route.operation not in NOT_TOLD_BY_THE_LOG]
    return [list(_filled(route, ids)) for route in told]


def chosen(paths: Sequence[Sequence[str]], most: int, seed: int) -> list[str]:
    """About `most` of these paths, of each route as many: routes that have fewer are asked all of theirs."""
    chance, taken = Random(seed), list[str]()
    fewest_first = sorted(filter(None, paths), key=len)
    for place, of_route in enumerate(fewest_first):
        share = max(1, (most - len(taken)) // (len(fewest_first) - place))
        taken += of_route if len(of_route) <= share else chance.sample(of_route, share)
    return taken


def _filled(route: Route, ids: Mapping[str, Sequence[str]]) -> Iterator[str]:
    parts = route.documented_path.split("/")
    choices = [
        [quote(value, safe="") for value in ids.get(_meaning(parts, place), ())] if part.startswith("{") else [part]
        for place, part in enumerate(parts)
    ]
    return ("/".join(chosen) for chosen in product(*choices))


def _meaning(parts: Sequence[str], place: int) -> str:
    name = parts[place].strip("{}")
    return PLURAL.get(parts[place - 1], name) if name == "id" else name
