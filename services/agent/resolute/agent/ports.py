"""The port at which a task serves people: which one the agent gives it, and which ports of a task may be asked for."""

from __future__ import annotations

import socket
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from resolute.agent.ledger import Entry
from resolute.agent.runtime import CannotStart
from resolute.proto.errors import NotFound, refuse
from resolute.proto.pool import StartTask
from resolute.proto.tasks import ProxiedPort, TaskSpec, proxied_ports

LOOPBACK = "127.0.0.1"
"""Where programs that use the host's network are reached."""


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


def asked_for(declared: Collection[ProxiedPort], number: int | None) -> ProxiedPort:
    """The port with that number, or the default one. Raises NotFound for a port that the task has not declared."""
    found = next((one for one in declared if (one.default if number is None else one.number == number)), None)
    if found is not None:
        return found
    numbers = ", ".join(str(one.number) for one in declared)
    there_are = f"the task's ports are {numbers}" if declared else "the task has declared no port"
    if number is None:
        raise NotFound(f"the task has no default port; {there_are}, each at /proxy/TASK:PORT/")
    raise NotFound(f"port {number} is not among environment.proxy_ports of the task: {there_are}")


def check_own(port: ProxiedPort, before: Iterable[Entry]) -> None:
    """Tasks that use the host's network share its ports: a port belongs to the first task that declared it, so that a
    request for one task never reaches another. `before`: the tasks that run and were started earlier. Raises Refused.
    """
    for entry in before:
        if any(port.number == one.number for one in entry.ports):
            raise refuse(
                f"reach port {port.number} of the task",
                f"task {entry.task_id} on the same host declared that port first",
                "choose another port in environment.proxy_ports, or run the tasks in containers",
            )
