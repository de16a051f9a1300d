"""`-p` of `det experiment create`: what it takes, and which ports the configuration gets."""

from __future__ import annotations

from typing import Any

import pytest

from resolute.cli.commands.publishing import Published, parsed, with_ports
from resolute.cli.errors import CliError


def test_ports_here_and_of_the_trial() -> None:
    assert parsed(["8080", "8000:9000"], True) == (Published(8080, 8080), Published(8000, 9000))
    assert parsed([], False) == ()


@pytest.mark.parametrize("word", ["", ":", "x", "0", "65536", "1:2:3", "-1", ":80:", "80:"])
def test_what_is_no_port(word: str) -> None:
    with pytest.raises(CliError, match="expected PORT or LOCAL:PORT"):
        parsed([word], True)


def test_a_port_is_published_only_where_the_trial_is_followed() -> None:
    with pytest.raises(CliError, match="say -f too"):
        parsed(["80"], False)


def test_ports_that_the_configuration_does_not_name_are_added() -> None:
    plain: dict[str, Any] = {"name": "n"}
    added = with_ports(plain, parsed(["80", "81:80", "90"], True))
    ports = [{"proxy_port": 80, "proxy_tcp": True}, {"proxy_port": 90, "proxy_tcp": True}]
    assert added == {"name": "n", "environment": {"proxy_ports": ports}}
    assert plain == {"name": "n"}
    named = {"environment": {"image": "i", "proxy_ports": [{"proxy_port": 80, "proxy_tcp": True}]}}
    assert with_ports(named, parsed(["80"], True)) is named
    with pytest.raises(CliError, match="write proxy_tcp: true"):
        with_ports({"environment": {"proxy_ports": [{"proxy_port": 80}]}}, parsed(["80"], True))


@pytest.mark.parametrize("environment", ["text", [1], {"proxy_ports": "text"}])
def test_what_is_wrong_with_a_configuration_is_left_to_the_master(environment: Any) -> None:
    config = {"environment": environment}
    assert with_ports(config, parsed(["80"], True)) is config
