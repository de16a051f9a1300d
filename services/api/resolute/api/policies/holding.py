"""The policies that a submission, or a change of an experiment, is held to."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from resolute.api.call import Call
from resolute.api.policies.queries import QUERIES, PolicyRow
from resolute.config.policies import Policies, Policy
from resolute.proto.policies import CLUSTER, Workload


async def policies_in(call: Call, workspace_id: int | None, workload: Workload = Workload.EXPERIMENT) -> Policies:
    """What holds in a workspace, with the secrets; None for no workspace, where the cluster's hold alone."""
    return Policies([await _opened(call, row) for row in await _rows(call, workspace_id, workload)])


async def check_edits(call: Call, experiment_id: int, edits: Mapping[tuple[str, ...], Any], field: str = "") -> None:
    """Raises InvalidConfig where a policy stands against one of `edits`: new values by where they stand in the
    configuration. `field`: how the request names what it changes, if not as the configuration does."""
    if not edits:
        return
    workspace_id = await call.gateway.ports.of(QUERIES).workspace_of(experiment_id)
    rows = await _rows(call, workspace_id, Workload.EXPERIMENT)
    if rows:
        policies = Policies([Policy(place_named(row), row.invariant_config, row.constraints) for row in rows])
        await asyncio.to_thread(_check, policies, edits, field)


def _check(policies: Policies, edits: Mapping[tuple[str, ...], Any], field: str) -> None:
    for path, value in edits.items():
        policies.check_change(path, value, field or ".".join(path))


async def _rows(call: Call, workspace_id: int | None, workload: Workload) -> list[PolicyRow]:
    places = {CLUSTER, workspace_id or CLUSTER}
    return list(await call.gateway.ports.of(QUERIES).policies(workload, sorted(places)))


async def _opened(call: Call, row: PolicyRow) -> Policy:
    config, _ = await call.gateway.vault.opened(row.invariant_config)
    return Policy(place_named(row), config, row.constraints)


def place_named(row: PolicyRow) -> str:
    return "the cluster" if row.workspace_id == CLUSTER else f"workspace {row.workspace!r}"
