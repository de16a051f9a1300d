"""Which requests of browsers a cookie signs, and by which names a gateway answers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pydantic import ValidationError

from resolute.api.edge.origins import Asked, check_host, check_page, cookie_counts, csrf_token, from_another_page
from resolute.api.settings import ApiSettings
from resolute.api.wire import WireError

POST = Asked("POST", "gateway:8080", secure=False)
PUBLIC = ("https://cluster.example",)


@pytest.mark.parametrize(
    ("own", "asked"),
    [
        (True, POST),
        (True, replace(POST, origin="http://gateway:8080")),
        (True, replace(POST, origin="http://gateway:8080", site="same-origin")),
        (True, replace(POST, origin="https://gateway:8080")),
        (True, replace(POST, host="gateway", origin="https://gateway")),
        (True, replace(POST, host="[::1]:8080", origin="http://[::1]:8080")),
        (True, replace(POST, origin="https://cluster.example")),
        (True, replace(POST, site="none")),
        (False, replace(POST, origin="http://gateway:6006")),
        (False, replace(POST, origin="http://evil.example")),
        (False, replace(POST, origin="http://gateway.evil.example:8080")),
        (False, replace(POST, origin="null")),
        (False, replace(POST, origin="http://[")),
        (False, replace(POST, secure=True, origin="http://gateway:8080")),
        (False, replace(POST, site="same-site")),
        (False, replace(POST, site="cross-site")),
        (False, replace(POST, site="cross-site", mode="navigate")),
        (False, replace(POST, origin="http://evil.example", site="same-origin")),
        (False, replace(POST, method="GET", site="cross-site", mode="no-cors")),
        (True, replace(POST, method="GET", site="cross-site", mode="navigate")),
        (False, replace(POST, method="GET", site="cross-site", mode="navigate", upgrades=True)),
    ],
)
def test_a_request_of_another_page_is_known_by_what_the_browser_says(own: bool, asked: Asked) -> None:
    assert (from_another_page(asked, PUBLIC) == "") is own


def test_a_cookie_signs_a_change_only_beside_the_token_that_answers_carry() -> None:
    token = csrf_token(b"secret", "the cookie")
    assert cookie_counts(POST, (), token, token)
    for wrong in ("", "é", csrf_token(b"secret", "another cookie"), csrf_token(b"another secret", "the cookie")):
        with pytest.raises(WireError, match="X-CSRF-Token"):
            cookie_counts(POST, (), wrong, token)
    assert not cookie_counts(replace(POST, origin="http://evil.example"), (), token, token)


def test_looking_needs_no_token() -> None:
    assert cookie_counts(replace(POST, method="GET"), (), "", "token")


def test_a_socket_is_opened_by_the_gateways_own_pages_alone() -> None:
    socket = replace(POST, method="GET", upgrades=True)
    assert cookie_counts(replace(socket, origin="http://gateway:8080"), (), "", "token")
    assert not cookie_counts(replace(socket, origin="http://gateway:6006"), (), "", "token")
    assert not cookie_counts(socket, (), "", "token"), "a browser always says where a socket comes from"


def test_a_page_of_another_origin_signs_nobody_in() -> None:
    check_page(POST, ())
    check_page(replace(POST, method="GET", origin="http://evil.example"), ())
    with pytest.raises(WireError, match=r"http://evil\.example.*api\.public_urls"):
        check_page(replace(POST, origin="http://evil.example"), ())


@pytest.mark.parametrize(
    "host", ["localhost:8080", "127.0.0.1", "[::1]:8080", "172.17.0.1:8080", "a.localhost", "cluster.example", ""]
)
def test_a_gateway_of_one_machine_answers_to_its_own_names(host: str) -> None:
    check_host(replace(POST, host=host), PUBLIC)


@pytest.mark.parametrize("host", ["evil.example:8080", "localhost.evil.example", "[::1", "cluster.example.evil"])
def test_it_does_not_answer_to_names_that_a_page_of_the_web_may_have_given_its_address(host: str) -> None:
    with pytest.raises(WireError, match="RESOLUTE_API_PUBLIC_URLS"):
        check_host(replace(POST, host=host), PUBLIC)


def test_public_urls_are_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESOLUTE_API_PUBLIC_URLS", "https://Cluster.example/, https://ml.example:8443")
    assert ApiSettings(database_url="").public_urls == ("https://cluster.example", "https://ml.example:8443")
    for wrong in ("cluster.example", "ftp://cluster.example", "https://cluster.example/ui"):
        monkeypatch.setenv("RESOLUTE_API_PUBLIC_URLS", wrong)
        with pytest.raises(ValidationError, match="without a path"):
            ApiSettings(database_url="")
