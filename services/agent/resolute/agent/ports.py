"""The port at which a task serves people: which one the agent gives it, and which ports of a task may be asked for."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection
from dataclasses import replace

from resolute.agent.runtime import CannotStart
from resolute.proto.pool import StartTask
from resolute.proto.tasks import ProxiedPort, TaskSpec, proxied_ports


def is_free(port: int) -> bool:
    """Whether no program of this host listens at the port, at any address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError:
            return False
    return True


def with_port(order: StartTask, taken: Collection[int], is_free: Callable[[int], bool] = is_free) -> StartTask:
    """The order with a range of one port, which is free. `taken`: the ports of tasks that may not have opened them yet.

    The tasks of one host share its ports; a container that has a network of its own could use any port. The search
    starts at a place that depends on the task, so that a new task seldom has the port of one that just ended, at which
    an old connection could still arrive. Raises CannotStart where no port of the range is free.
    """
    service = order.spec.service
    if service is None:
        return order
    count = service.last - service.first + 1
    start = sum(order.placement.resources_id.encode()) % count
    for i in range(count):
        port = service.first + (start + i) % count
        if port not in taken and is_free(port):
            return replace(order, spec=replace(order.spec, service=replace(service, first=port, last=port)))
    raise CannotStart(
        f"the task needs a port from {service.first} to {service.last}, and none of them is free on this agent's host; "
        "end another task there, or start this one on another agent"
    )


def proxied(spec: TaskSpec) -> tuple[ProxiedPort, ...]:
    """The ports of a task whose service port has been picked. The service is the default, whatever else says so."""
    service, named = spec.service, proxied_ports(spec.config)
    if service is None:
        return named
    own = ProxiedPort(service.first, service.tcp, default=True)
    return (own, *(replace(port, default=False) for port in named if port.number != own.number))
