"""Whose something is: what decides where only owners may come in."""

from __future__ import annotations

from collections.abc import Mapping

from resolute.api.readmodel import ReadModel
from resolute.api.wire import whole
from resolute.proto.errors import NotFound

OWNER: Mapping[str, str] = {
    "experiment": "SELECT owner_id FROM read_v1.experiments WHERE id = $1",
    "trial": """SELECT e.owner_id FROM read_v1.trials t JOIN read_v1.experiments e ON e.id = t.experiment_id
        WHERE t.id = $1""",
    "checkpoint": """SELECT e.owner_id FROM read_v1.checkpoints c JOIN read_v1.experiments e ON e.id = c.experiment_id
        WHERE c.uuid = $1""",
    "workspace": "SELECT owner_id FROM read_v1.workspaces WHERE id = $1",
}


async def owner_of(read: ReadModel, kind: str, value: str) -> int:
    """Raises NotFound when there is no such thing, on the newest state too, and InvalidConfig for what is no id."""
    name = value if kind == "checkpoint" else whole(value, f"{kind} id")
    found = await read.value(OWNER[kind], name)
    if found is None:
        await read.catch_up()
        found = await read.value(OWNER[kind], name)
    if found is None:
        raise NotFound(f"{kind} {value} not found")
    return int(found)
