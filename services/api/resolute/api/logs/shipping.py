"""Storing the lines that tasks ship over REST."""

from __future__ import annotations

import asyncio

from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.logs.batches import BareLineBatch, LegacyTaskLogs, LineBatch, PostTaskLogs, lines_of


async def post_task_logs(call: Call, request: PostTaskLogs) -> Empty:
    return await _store(call, request.body)


async def legacy_task_logs(call: Call, request: LegacyTaskLogs) -> Empty:
    """The older route, a bare array; used by runs outside the cluster."""
    return await _store(call, request.body)


async def _store(call: Call, batch: LineBatch | BareLineBatch) -> Empty:
    assert call.principal.task is not None, "only tasks ship lines over REST"
    sender, now = call.principal.task.allocation_id, call.gateway.context.now()
    await call.gateway.store_lines(await asyncio.to_thread(lines_of, batch, sender, call.cause.id, now))
    return Empty()
