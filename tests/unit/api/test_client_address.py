"""Which address a request comes from, with and without proxies."""

from ipaddress import ip_network

import pytest
from pydantic import ValidationError

from resolute.api.client_address import address_of, counted_as
from resolute.api.settings import ApiSettings

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.5", [], "203.0.113.5"),
        ("203.0.113.5", ["198.51.100.9"], "203.0.113.5"),
        ("10.0.0.1", ["198.51.100.9"], "198.51.100.9"),
        ("10.0.0.1", ["1.2.3.4, 198.51.100.9"], "198.51.100.9"),
        ("10.0.0.1", ["1.2.3.4", "198.51.100.9, 10.0.0.7"], "198.51.100.9"),
        ("10.0.0.1", ["198.51.100.9:4711"], "198.51.100.9"),
        ("fd00::1", ["[2001:db8::7]:4711"], "2001:db8::7"),
        ("::ffff:10.0.0.1", ["198.51.100.9"], "198.51.100.9"),
        ("10.0.0.1", ["198.51.100.9, unknown"], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["10.0.0.2, 10.0.0.3"], "10.0.0.2"),
        ("", ["198.51.100.9"], ""),
    ],
)
def test_the_client_is_the_last_address_that_is_not_a_trusted_proxy(
    peer: str, forwarded: list[str], client: str
) -> None:
    assert address_of(peer, forwarded, PROXIES) == client


def test_without_trusted_proxies_no_header_changes_the_address() -> None:
    assert address_of("10.0.0.1", ["198.51.100.9"], ()) == "10.0.0.1"


def test_limits_count_a_whole_ipv6_network_as_one_client() -> None:
    assert counted_as("2001:db8:1:2:3:4:5:6") == counted_as("2001:db8:1:2::1") == "2001:db8:1:2::/64"
    assert counted_as("203.0.113.5") == "203.0.113.5"


def test_trusted_proxies_are_networks_and_never_every_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_API_TRUSTED_PROXIES", "10.0.0.0/8, fd00::/8")
    assert ApiSettings(database_url="").trusted_proxies == PROXIES
    for wrong in ("0.0.0.0/0", "10.0.0.0/99", "a proxy"):
        monkeypatch.setenv("RESOLUTE_API_TRUSTED_PROXIES", wrong)
        with pytest.raises(ValidationError):
            ApiSettings(database_url="")
