"""Which task a request is for, where it runs, and what must be granted to whoever wants to enter."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

from resolute.api.kernel.ports import Ports
from resolute.api.kernel.rows import Place
from resolute.api.places import Places
from resolute.api.proxy.dials import Door
from resolute.api.tasks.queries import QUERIES, AllocationRow
from resolute.proto.errors import NotFound

KNOWN_S = 1.0
"""For how long what the tables say of a task is used again. Who the caller is, and what they hold, is looked up for
every request."""
KNOWN_MAX = 4_096

VIEW_TRIAL, VIEW_TASK = "experiment.view", "interactive.view"

_SERVICE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]{0,99})(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Service:
    """What the first part of the path names: `<task>`, or `<task>:<port>`."""

    name: str
    task_id: str
    port: int | None


@dataclass(frozen=True, slots=True)
class Target:
    """A task as it is now."""

    kind: str
    workspace_id: int | None
    agent_id: str = ""
    """Empty until it runs."""
    resources_id: str = ""
    ended: bool = False
    why: str = ""
    """Why it waits, or how it ended, as far as that is known."""

    @property
    def permission(self) -> str:
        """What the caller must hold in the task's workspace."""
        return VIEW_TRIAL if self.kind == "TRIAL" else VIEW_TASK

    def door(self, service: Service) -> Door:
        assert self.agent_id, "a task that runs has an agent"
        return Door(self.agent_id, self.resources_id, service.port)


def service_of(name: str) -> Service:
    """Raises NotFound for what cannot be a service."""
    found = _SERVICE.fullmatch(name)
    if found is None or not 0 < int(found[2] or 1) <= 65_535:
        raise not_found(name)
    return Service(name, found[1], int(found[2]) if found[2] else None)


def not_found(name: str) -> NotFound:
    """Said of what does not exist, and of what the caller may not see."""
    return NotFound(f"service not found: {name[:200]}")


class Targets:
    def __init__(self, places: Places, ports: Ports) -> None:
        self._places, self._ports = places, ports
        self._known: dict[str, tuple[float, Target]] = {}

    async def find(self, service: Service) -> Target:
        """Raises NotFound for a task that does not exist."""
        until, target = self._known.get(service.task_id, (0.0, None))
        now = time.monotonic()
        if target is not None and now < until:
            return target
        target = await self._look(service)
        if len(self._known) >= KNOWN_MAX:
            self._known.clear()
        if target.agent_id:  # others change soon
            self._known[service.task_id] = (now + KNOWN_S, target)
        return target

    def forget(self, service: Service) -> None:
        """For a task that was not where the tables said."""
        self._known.pop(service.task_id, None)

    async def _look(self, service: Service) -> Target:
        queries = self._ports.of(QUERIES)
        try:
            place = await self._places.of("task", service.task_id)
        except NotFound:
            raise not_found(service.name) from None
        allocations = await queries.of_task(service.task_id)
        if not allocations:
            other = await queries.other(service.task_id)
            return Target(other.kind if other is not None else "TRIAL", place.workspace_id)
        return await self._running(allocations[-1], place)

    async def _running(self, allocation: AllocationRow, place: Place) -> Target:
        queries = self._ports.of(QUERIES)
        if allocation.ended:
            over = await queries.has_ended(allocation.task_id)
            return Target(allocation.task_type, place.workspace_id, ended=over, why=allocation.why)
        if not allocation.started:
            return Target(allocation.task_type, place.workspace_id, why=allocation.why)
        first, *_ = await queries.placements([allocation.allocation_id])
        return Target(allocation.task_type, place.workspace_id, first.agent_id, first.resources_id)
