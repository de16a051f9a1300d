"""The message that administrators show to everybody: one at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from resolute.api.call import Call
from resolute.api.cluster_message import messages as m
from resolute.api.cluster_message.queries import QUERIES, MessageRow
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.routing import ADMIN
from resolute.config.durations import seconds
from resolute.proto import cluster_message as proto
from resolute.proto.errors import InvalidConfig, Unavailable


async def get_cluster_message(call: Call, request: m.GetClusterMessage) -> m.ClusterMessageAnswer:
    """The message, also one whose time is still to come."""
    row = await call.gateway.ports.of(QUERIES).message()
    over = row is None or row.is_over(call.gateway.context.now())
    return m.ClusterMessageAnswer(cluster_message=None if row is None or over else _shown(row))


async def set_cluster_message(call: Call, request: m.SetClusterMessage) -> Empty:
    """Show everybody a message, in the place of the one before."""
    new, now = request.body, call.gateway.context.now()
    start = new.start_time or now
    await call.send(proto.SetClusterMessage(new.message, now, start, _end(new, start)))
    return Empty()


async def delete_cluster_message(call: Call, request: m.DeleteClusterMessage) -> Empty:
    """Clear the message."""
    await call.send(proto.ClearClusterMessage())
    return Empty()


async def active_message(call: Call) -> m.ClusterMessage | None:
    """The message, while it is to be shown. None too while the database is away: what asks for it, such as GetMaster,
    works without."""
    try:
        row = await call.gateway.ports.of(QUERIES).message()
    except Unavailable:
        return None
    return _shown(row) if row is not None and row.is_active(call.gateway.context.now()) else None


def _end(new: m.NewClusterMessage, start: datetime) -> datetime | None:
    """Raises InvalidConfig."""
    if not new.duration:
        return new.end_time
    if new.end_time is not None:
        raise InvalidConfig("duration: found beside endTime; give one of the two")
    try:
        return start + timedelta(seconds=seconds(new.duration))
    except ValueError as error:
        raise InvalidConfig(f"duration: {error}") from error
    except OverflowError as error:
        raise InvalidConfig(f"duration: expected an end before the year 10000; found {new.duration!r}") from error


def _shown(row: MessageRow) -> m.ClusterMessage:
    return m.ClusterMessage(
        message=row.message, start_time=row.start_at, end_time=row.end_at, created_time=row.created_at
    )


TAG = "Cluster"
PATH = "/api/v1/master/cluster_message"
VIEW = ADMIN.to("cluster.message.view").outside()
EDIT = ADMIN.to("cluster.message.edit").outside()

ROUTES = (
    operation(
        "GetClusterMessage",
        "GET",
        PATH,
        get_cluster_message,
        VIEW,
        request=m.GetClusterMessage,
        response=m.ClusterMessageAnswer,
        tag=TAG,
    ),
    operation(
        "SetClusterMessage",
        "PUT",
        PATH,
        set_cluster_message,
        EDIT,
        request=m.SetClusterMessage,
        response=Empty,
        tag=TAG,
    ),
    operation(
        "DeleteClusterMessage",
        "DELETE",
        PATH,
        delete_cluster_message,
        EDIT,
        request=m.DeleteClusterMessage,
        response=Empty,
        tag=TAG,
    ),
)
