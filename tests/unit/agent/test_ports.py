"""The port at which a task serves people: one of its range that no other program of the host has."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest

from resolute import codec
from resolute.agent.ledger import Entry
from resolute.agent.ports import is_free, proxied, with_port
from resolute.agent.runtime import CannotStart
from resolute.proto.pool import StartTask
from resolute.proto.tasks import ProxiedPort, ServicePort, proxied_ports
from tests.unit.agent.test_environment import ORDER, of

RANGE = ServicePort("NOTEBOOK_PORT", 2900, 2902)
CONFIG = {
    "environment": {
        "proxy_ports": [
            {"proxy_port": 6006, "default_service_id": True},
            {"proxy_port": 5432, "proxy_tcp": True, "default_service_id": False},
        ]
    }
}


def order(service: ServicePort | None = RANGE, config: object = None) -> StartTask:
    return replace(ORDER, spec=replace(ORDER.spec, service=service, config=config or ORDER.spec.config))


def picked(wanted: StartTask) -> int:
    service = wanted.spec.service
    assert service is not None
    assert service.first == service.last
    return service.first


def test_the_port_is_free_and_no_other_tasks() -> None:
    assert picked(with_port(order(), {2900, 2902}, lambda port: True)) == 2901
    assert picked(with_port(order(), (), lambda port: port == 2900)) == 2900


def test_a_task_finds_the_number_in_its_variable() -> None:
    variables = of(with_port(order(), (), lambda port: port == 2902), NOTEBOOK_PORT="80")
    assert variables["NOTEBOOK_PORT"] == "2902"
    assert "NOTEBOOK_PORT" not in of(with_port(order(None), ()))


def test_a_range_that_is_taken_is_named() -> None:
    with pytest.raises(CannotStart, match="a port from 2900 to 2902, and none of them is free") as found:
        with_port(order(), {2900}, lambda port: False)
    assert not found.value.hopeless, "another agent may have one"


def test_a_port_that_a_program_listens_at_is_not_free() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        assert not is_free(port)
    assert is_free(port)


def test_the_ports_that_may_be_asked_for() -> None:
    named = (ProxiedPort(6006, default=True), ProxiedPort(5432, tcp=True))
    assert proxied_ports(CONFIG) == named
    assert proxied(order(None, CONFIG).spec) == named
    own = ServicePort("SHELL_PORT", 3200, 3200, tcp=True)
    expected = (ProxiedPort(3200, tcp=True, default=True), ProxiedPort(6006), ProxiedPort(5432, tcp=True))
    assert proxied(order(own, CONFIG).spec) == expected
    assert proxied(order(None).spec) == ()


@pytest.mark.parametrize("config", [None, {}, {"environment": None}, {"environment": {"proxy_ports": None}}])
def test_most_configurations_name_no_ports(config: object) -> None:
    assert proxied_ports(config) == ()


def test_the_ledger_keeps_the_ports_and_reads_records_that_have_none() -> None:
    entry = Entry("res-1", "7.f00d.1", "7.f00d", 2, 0, (1,), ports=(ProxiedPort(6006, default=True),))
    assert codec.from_bytes(Entry, codec.to_bytes(entry)) == entry
    earlier = codec.to_bytes(entry).replace(b'"ports"', b'"unknown"')
    assert codec.from_bytes(Entry, earlier).ports == ()
