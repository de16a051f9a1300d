"""What a running task reports of itself, and the code that it asks for."""

from __future__ import annotations

from aiohttp import web

from resolute.api.blobs import Content
from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.tasks import lookup
from resolute.api.tasks import messages as m
from resolute.proto.errors import InvalidConfig
from resolute.proto.interactive import MarkTaskReady
from resolute.proto.pool import AcknowledgePreemption, MarkServing, PreemptAllocation


async def context_directory(
    call: Call, request: m.GetTaskContextDirectory
) -> m.ContextDirectoryAnswer | web.StreamResponse:
    """The code of the task, a tar.gz in base64; empty when it has none."""
    await lookup.task(call.gateway, request.task_id)
    address = await lookup.queries_of(call.gateway).context_directory(request.task_id)
    if address is None:
        return m.ContextDirectoryAnswer(b64_tgz="")
    content = await Content.stored(call.gateway.blobs, address)
    return await content.answer_in_base64(call.request, b'{"b64Tgz":"', b'"}')


async def post_accelerator_data(call: Call, request: m.PostAcceleratorData) -> Empty:
    await call.gateway.accelerators.note(request.allocation_id, request.body.accelerator_data)
    return Empty()


async def check_allocation(call: Call, request: m.OfAllocation) -> Empty:
    """The agent reports starts and addresses itself; older harnesses say it again, and hear that all is well."""
    await lookup.allocation(call.gateway, request.allocation_id)
    return Empty()


async def note_ready(call: Call, request: m.PostReady) -> Empty:
    """What runs in a task that is no trial's serves people from now on. A trial has nobody to tell."""
    allocation = await lookup.allocation(call.gateway, request.allocation_id)
    if allocation.ready is not None:
        await call.send(MarkTaskReady(allocation.task_id, allocation.allocation_id))
    return Empty()


async def acknowledge_preemption(call: Call, request: m.AcknowledgePreemption) -> Empty:
    allocation = await lookup.allocation(call.gateway, request.allocation_id)
    await call.send(AcknowledgePreemption(allocation.pool, allocation.allocation_id))
    return Empty()


async def notify_container_running(call: Call, request: m.NotifyRunning) -> m.RunningAnswer:
    """For containers that another scheduler started. Agents report starts themselves: the answer only says that the
    allocation is known."""
    peers, rank = request.body.num_peers or 1, request.body.rank
    if rank >= peers:
        raise InvalidConfig(f"rank: expected a number below numPeers ({peers}); found {rank}")
    await lookup.allocation(call.gateway, request.allocation_id)
    return m.RunningAnswer()


async def mark_daemon(call: Call, request: m.MarkDaemon) -> Empty:
    """Let a part of the allocation only serve the others: it is stopped when all others have exited, and its exit code
    then counts for nothing."""
    allocation = await lookup.allocation(call.gateway, request.allocation_id)
    await lookup.placements(call.gateway, request.allocation_id, request.resources_id)
    await call.send(MarkServing(allocation.pool, allocation.allocation_id, request.resources_id))
    return Empty()


async def signal_pending_preemption(call: Call, request: m.SignalPendingPreemption) -> Empty:
    """Ask for one's own preemption, because the host takes its slots away: the task saves, gives them back, and goes on
    elsewhere, as if the scheduler had asked."""
    allocation = await lookup.allocation(call.gateway, request.allocation_id)
    if not allocation.ended:
        why = "the task was told by its host that its slots are taken away"
        await call.send(PreemptAllocation(allocation.pool, allocation.allocation_id, why))
    return Empty()
