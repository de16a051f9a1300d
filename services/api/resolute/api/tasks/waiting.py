"""What a running task waits for: its peers, what they bring, and the request to give its slots back."""

from __future__ import annotations

from collections.abc import Sequence

import orjson
from aiohttp import web

from resolute.api.call import Call
from resolute.api.kernel.long_polls import changed_since, deadline_in, newest_position
from resolute.api.measures.gathering import PEERS_MAX, UUID_MAX
from resolute.api.tasks import lookup
from resolute.api.tasks.messages import (
    AllGather,
    AllGatherAnswer,
    Contribution,
    GetPreemptionSignal,
    GetRendezvous,
    PreemptionSignalAnswer,
    Rendezvous,
    RendezvousAnswer,
)
from resolute.api.tasks.queries import PlacementRow
from resolute.proto.errors import InvalidConfig, refuse

RENDEZVOUS_S = 600


async def rendezvous(call: Call, request: GetRendezvous) -> RendezvousAnswer:
    """Wait until every share of the allocation runs; then tell each the others' addresses, in rank order."""
    allocation_id, deadline = request.allocation_id, deadline_in(RENDEZVOUS_S)
    while True:
        seen = await newest_position(call, allocation_id)
        allocation = await lookup.allocation(call.gateway, allocation_id)
        placements = await lookup.placements(call.gateway, allocation_id, request.resources_id)
        if allocation.ended:
            raise refuse(f"meet in allocation {allocation_id}", "it has exited")
        if allocation.started:
            return RendezvousAnswer(rendezvous_info=_rendezvous_of(placements, request.resources_id))
        if not await changed_since(call, seen, allocation_id, deadline=deadline):
            raise refuse(f"meet in allocation {allocation_id}", f"not all of it started within {RENDEZVOUS_S} s")


def _rendezvous_of(placements: Sequence[PlacementRow], resources_id: str) -> Rendezvous:
    return Rendezvous(
        addresses=tuple(one.address for one in placements),
        rank=[one.resources_id for one in placements].index(resources_id),
        slots=tuple(len(one.slot_ids) for one in placements),
    )


async def all_gather(call: Call, request: AllGather) -> AllGatherAnswer | web.StreamResponse:
    """Answer every peer, once all have called, with what each of them brought, in the order of their coming."""
    allocation_id, gathering = request.allocation_id, call.gateway.gathering
    peers, request_uuid = _peers(request.body), _request_uuid(request.body)
    if (await lookup.allocation(call.gateway, allocation_id)).ended:
        raise refuse(f"gather in allocation {allocation_id}", "it has exited")
    data = orjson.dumps(request.body.data)
    first = await gathering.bring(allocation_id, request_uuid, peers, data)
    call.forget_body()
    del data, request  # what a peer brought is in the database now, and a thousand of them may wait here
    async with gathering.answer(allocation_id, first, peers) as answer:
        return await call.send_bytes(answer)


def _request_uuid(body: Contribution) -> str:
    if not 0 < len(body.request_uuid) <= UUID_MAX:
        raise InvalidConfig(
            f"requestUuid: expected a name that only this call uses, of at most {UUID_MAX} characters; found "
            f"{body.request_uuid!r:.60}"
        )
    return body.request_uuid


def _peers(body: Contribution) -> int:
    if body.num_peers > PEERS_MAX:
        raise InvalidConfig(f"numPeers: expected how many call, from 1 to {PEERS_MAX}; found {body.num_peers}")
    return body.num_peers or 1


async def preemption_signal(call: Call, request: GetPreemptionSignal) -> PreemptionSignalAnswer:
    """Whether the allocation is asked to checkpoint and leave; waits up to timeoutSeconds for a yes.

    A run that is given up meanwhile is refused like any other call of it, so that its task ends at once.
    """
    allocation_id, deadline = request.allocation_id, deadline_in(request.timeout_seconds)
    while True:
        seen = await newest_position(call, allocation_id)
        allocation = await lookup.allocation(call.gateway, allocation_id)
        if allocation.ended:
            await call.check_still_believed()
        if allocation.preempting or allocation.ended:
            return PreemptionSignalAnswer(preempt=True)
        if not await changed_since(call, seen, allocation_id, deadline=deadline):
            return PreemptionSignalAnswer(preempt=False)
