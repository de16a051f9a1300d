"""Storing the lines that tasks ship over REST."""

from __future__ import annotations

import asyncio

from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.logs.batches import BareLineBatch, LegacyTaskLogs, LineBatch, PostTaskLogs, lines_of
from resolute.api.trials import lookup
from resolute.api.trials.outside import check_reporter


async def post_task_logs(call: Call, request: PostTaskLogs) -> Empty:
    return await _store(call, request.body)


async def legacy_task_logs(call: Call, request: LegacyTaskLogs) -> Empty:
    """The older route, a bare array; used by runs outside the cluster."""
    return await _store(call, request.body)


async def _sender(call: Call, batch: LineBatch | BareLineBatch) -> str:
    """The allocation whose lines they are; empty for lines of trials that run outside of the cluster, which a user
    ships."""
    if call.principal.task is not None:
        return call.principal.task.allocation_id
    for task_id in dict.fromkeys(line.task_id for line in batch.lines):
        if task_id is not None:
            check_reporter(call, await lookup.trial_of_task(call.gateway, task_id))
    return ""


async def _store(call: Call, batch: LineBatch | BareLineBatch) -> Empty:
    sender, now = await _sender(call, batch), call.gateway.context.now()
    await call.gateway.store_lines(await asyncio.to_thread(lines_of, batch, sender, call.cause.id, now))
    return Empty()
