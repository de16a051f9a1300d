"""The forms of a master's address and the one that is kept."""

from __future__ import annotations

import pytest

from resolute.cli import address
from resolute.cli.errors import CliError


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("localhost", "http://localhost:8080"),
        ("localhost:8080", "http://localhost:8080"),
        ("172.31.91.93:9090", "http://172.31.91.93:9090"),
        ("http://h", "http://h:80"),
        ("http://h:8080", "http://h:8080"),
        ("http://h:8080/", "http://h:8080"),
        ("https://h", "https://h:443"),
        ("https://H.Example:8443/", "https://h.example:8443"),
        ("https://h/det/", "https://h:443/det"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("http://h:0", "http://h:0"),
    ],
)
def test_every_form_of_an_address_has_one_canonical_form(written: str, kept: str) -> None:
    assert address.canonical(written) == kept
    assert address.canonical(kept) == kept


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("ftp://h", "scheme 'ftp'"),
        ("http://me@h", "user name"),
        ("http://me:secret@h", "user name"),
        ("http://h?x=1", "query"),
        ("http://h#top", "fragment"),
        ("http://", "no host"),
        ("h:port", "port is not a number"),
        ("h:99999", "port is not a number"),
    ],
)
def test_an_address_that_cannot_be_meant_is_refused_with_the_reason(written: str, complaint: str) -> None:
    with pytest.raises(CliError, match=complaint):
        address.canonical(written)


def test_the_option_wins_over_the_environment_and_the_environment_over_this_host() -> None:
    environment = {"DET_MASTER": "one", "DET_MASTER_ADDR": "two"}
    assert address.choose("zero", environment) == "http://zero:8080"
    assert address.choose(None, environment) == "http://one:8080"
    assert address.choose(None, {"DET_MASTER_ADDR": "two"}) == "http://two:8080"
    assert address.choose(None, {}) == "http://localhost:8080"
