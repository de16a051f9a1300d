"""Experiments with their environment variables, for those who may read them: the owner, administrators, and the
experiment's own tasks. Everybody else is shown masks; every other secret is masked for everybody."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg
import orjson

from resolute.api.call import Call
from resolute.api.routing import READS_VARIABLES, Owned
from resolute.api.vault import only_variables
from resolute.api.views.experiments import experiment_of
from resolute.api.views.shown import HAS_VARIABLES, Shown, for_wire
from resolute.config import changed, changed_yaml


async def experiment_for(call: Call, experiment_id: int) -> dict[str, Any]:
    """The experiment as the caller may see it. Raises NotFound."""
    return await experiment_of(call.gateway.read, experiment_id, lambda row: _revealed(call, row))


async def _revealed(call: Call, row: asyncpg.Record) -> Shown | None:
    document, text = row["config"], row["original_config"]
    experiment = Owned("experiment", str(row["id"]), owner_id=row["owner_id"])
    if not call.may(READS_VARIABLES, experiment) or not HAS_VARIABLES.search(document):
        return None
    keys = await call.gateway.vault.keys_in(document + text)
    change = only_variables(keys.opened)
    config = for_wire(changed(orjson.loads(document), change))
    return orjson.Fragment(orjson.dumps(config)), await asyncio.to_thread(changed_yaml, text, change)
