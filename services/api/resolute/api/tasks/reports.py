"""What a running task reports of itself, and the code that it asks for."""

from __future__ import annotations

from aiohttp import web

from resolute.api.blobs import Content
from resolute.api.call import Call
from resolute.api.kernel.messages import Empty
from resolute.api.tasks import lookup
from resolute.api.tasks import messages as m
from resolute.proto.pool import AcknowledgePreemption


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


async def acknowledge_preemption(call: Call, request: m.AcknowledgePreemption) -> Empty:
    allocation = await lookup.allocation(call.gateway, request.allocation_id)
    await call.send(AcknowledgePreemption(allocation.pool, allocation.allocation_id))
    return Empty()
