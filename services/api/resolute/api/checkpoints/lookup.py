"""Finding the experiment of a checkpoint, for commands about the checkpoint."""

from __future__ import annotations

from resolute.api.call import Call
from resolute.proto.errors import NotFound


async def experiment_of(call: Call, uuid: str) -> int:
    """Raises NotFound, after a look at the newest state, when there is no such checkpoint."""
    experiment_id = await call.gateway.places.experiment_of(uuid)
    if experiment_id is None:
        raise NotFound(f"checkpoint {uuid} not found")
    return experiment_id
