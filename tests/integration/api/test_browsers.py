"""What the gateway tells browsers, and what pages of other origins cannot do with somebody's cookie."""

from __future__ import annotations

import base64
import hashlib
import re
from typing import Any

import pytest

from resolute.api.edge import welcome
from resolute.api.edge.headers import ALWAYS
from resolute.api.table import ROUTES
from resolute.api.web.routes import LOOKED_UP, POLICY
from tests.integration.api.running import Answer, Client, Running, running

RESET = "/api/v1/users/setting/reset"


def protected(answer: Answer) -> bool:
    """A page has a policy of its own: that of the web UI, or one that allows no more than one style sheet."""
    expected, given = dict(ALWAYS), answer.headers
    if given.get("Content-Type", "").startswith("text/html"):
        own = given["Content-Security-Policy"] == POLICY
        expected |= {"Content-Security-Policy": POLICY, "Cache-Control": LOOKED_UP} if own else {}
        expected |= {} if own else {"Content-Security-Policy": welcome.POLICY}
    return all(answer.headers.get(name) == value for name, value in expected.items())


async def test_every_route_protects_its_answers(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        for route in ROUTES:
            path = re.sub(r"{[^}]*}", "1", route.documented_path)
            for client in (cluster.nobody, admin) if route.method == "GET" else (cluster.nobody,):
                assert protected(await client.call(route.method, path)), (route.method, path)


async def test_errors_and_what_no_route_knows_are_protected_too(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        for method, path, status in (
            ("GET", "/nothing", 404),
            ("GET", "/api/v1/nothing/%3Cscript%3E", 404),
            ("PUT", "/info", 405),
            ("OPTIONS", "/api/v1/me", 405),
            ("GET", "/api/v1/me", 401),
            ("POST", "/api/v1/auth/login", 401),
        ):
            answer = await cluster.nobody.call(method, path)
            assert (answer.status, protected(answer)) == (status, True), path
            assert answer.headers["Content-Type"].startswith("application/json")
            assert "Access-Control-Allow-Origin" not in answer.headers


async def test_where_nothing_is_a_browser_finds_a_page_that_says_what_to_type(postgres_dsn: str) -> None:
    async with running(postgres_dsn, cluster_name="<tidy & small>") as cluster:
        browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
        for path in ("/nothing", "/experiments/of/old"):
            answer = await cluster.nobody.call("GET", path, headers=browser)
            assert (answer.status, answer.headers["Content-Type"]) == (404, "text/html; charset=utf-8"), path
            assert protected(answer)
            page = answer.body.decode()
            assert '<a href="/det/">' in page
            assert f"export DET_MASTER={cluster.nobody.base}" in page
            assert "&lt;tidy &amp; small&gt;" in page
        assert (await cluster.nobody.call("GET", "/api/v1/nothing", headers=browser)).body["error"]["code"] == 5
        odd = await cluster.nobody.call("GET", "/nothing", headers={**browser, "Host": "$(reboot)"})
        assert b"reboot" not in odd.body


def test_the_page_works_under_its_strict_policy() -> None:
    """No scripts, nothing from elsewhere; the one style sheet is allowed by what it says, and by nothing wider."""
    assert "unsafe" not in welcome.POLICY
    assert ALWAYS["Content-Security-Policy"] in welcome.POLICY
    [style] = re.findall(
        r"<style>(.*?)</style>", welcome.PAGE.format(cluster="", style=welcome.STYLE, address="", version="")
    )
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in welcome.POLICY
    assert not re.search(r"<script|\bon\w+=|style=|src=", welcome.PAGE)


async def test_a_stream_is_protected(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        assert protected(await admin.call("GET", "/api/v1/master/logs?limit=1"))


async def signed_in(cluster: Running) -> tuple[dict[str, str], str]:
    """The header of a browser's cookie, and the token that its page has read from an answer."""
    body = {"username": "determined", "password": "", "isHashed": False}
    answer = await cluster.nobody.call("POST", "/api/v1/auth/login", body)
    cookie = {"Cookie": f"auth={answer.body['token']}"}
    again = await cluster.nobody.call("GET", "/api/v1/me", headers=cookie)
    assert again.headers["X-CSRF-Token"] == answer.headers["X-CSRF-Token"]
    return cookie, answer.headers["X-CSRF-Token"]


async def reset(client: Client, headers: dict[str, str]) -> Answer:
    return await client.call("POST", RESET, {}, headers=headers)


async def test_the_cookie_alone_changes_nothing(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        cookie, token = await signed_in(cluster)
        answer = await reset(cluster.nobody, cookie)
        assert (answer.status, "X-CSRF-Token" in answer.error) == (403, True)
        assert (await reset(cluster.nobody, {**cookie, "X-CSRF-Token": "guessed"})).status == 403
        assert (await reset(cluster.nobody, {**cookie, "X-CSRF-Token": token})).status == 200
        own = {**cookie, "X-CSRF-Token": token, "Origin": cluster.nobody.base, "Sec-Fetch-Site": "same-origin"}
        assert (await reset(cluster.nobody, own)).status == 200


async def test_another_sessions_token_does_not_help(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        cookie, _ = await signed_in(cluster)
        _, of_another = await signed_in(cluster)
        assert (await reset(cluster.nobody, {**cookie, "X-CSRF-Token": of_another})).status == 403


@pytest.mark.parametrize(
    "says",
    [
        {"Origin": "http://127.0.0.1:6006"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
    ],
)
async def test_another_page_neither_acts_nor_looks_nor_signs_in(postgres_dsn: str, says: dict[str, str]) -> None:
    async with running(postgres_dsn) as cluster:
        cookie, token = await signed_in(cluster)
        assert (await reset(cluster.nobody, {**cookie, **says, "X-CSRF-Token": token})).status == 403
        assert (await cluster.nobody.call("GET", "/api/v1/me", headers={**cookie, **says})).status == 401
        body = {"username": "determined", "password": "", "isHashed": False}
        answer = await cluster.nobody.call("POST", "/api/v1/auth/login", body, headers=says)
        assert (answer.status, "Set-Cookie" in answer.headers) == (403, False)
        bearer = {**says, "Authorization": f"Bearer {cookie['Cookie'].removeprefix('auth=')}"}
        assert (await reset(cluster.nobody, bearer)).status == 200, "no browser adds a bearer token by itself"


async def test_a_link_from_elsewhere_may_be_followed(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        cookie, _ = await signed_in(cluster)
        follows = {**cookie, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
        assert (await cluster.nobody.call("GET", "/api/v1/me", headers=follows)).status == 200


async def test_a_name_of_the_web_that_leads_to_this_machine_opens_nothing(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        cookie, token = await signed_in(cluster)
        rebound = {"Host": "evil.example:8080", "Origin": "http://evil.example:8080", "Sec-Fetch-Site": "same-origin"}
        for method, path, headers in (
            ("GET", "/info", rebound),
            ("POST", "/api/v1/auth/login", rebound),
            ("GET", "/api/v1/me", {**rebound, **cookie}),
            ("POST", RESET, {**rebound, **cookie, "X-CSRF-Token": token}),
        ):
            answer = await cluster.nobody.call(method, path, headers=headers)
            assert answer.status == 421, path
    async with running(postgres_dsn, public_urls=("http://cluster.example",)) as cluster:
        assert (await cluster.nobody.call("GET", "/info", headers={"Host": "cluster.example"})).status == 200


async def test_behind_a_trusted_proxy_the_outer_name_and_tls_count(postgres_dsn: str) -> None:
    outer = {"Host": "127.0.0.1:8080", "X-Forwarded-Host": "cluster.example", "X-Forwarded-Proto": "https"}
    body = {"username": "determined", "password": "", "isHashed": False}
    told: dict[str, Any] = {"trusted_proxies": ("127.0.0.0/8",), "public_urls": ("https://cluster.example",)}
    async with running(postgres_dsn, **told) as cluster:

        async def sign_in(**further: str) -> Answer:
            return await cluster.nobody.call("POST", "/api/v1/auth/login", body, headers={**outer, **further})

        assert "Secure" in (await sign_in(Origin="https://cluster.example")).headers["Set-Cookie"]
        assert (await sign_in(Origin="http://cluster.example")).status == 403
        assert (await sign_in(Origin="https://evil.example")).status == 403


async def test_what_a_proxy_that_is_not_trusted_writes_is_not_believed(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        body = {"username": "determined", "password": "", "isHashed": False}
        forwarded = {"X-Forwarded-Host": "evil.example", "X-Forwarded-Proto": "https"}
        answer = await cluster.nobody.call("POST", "/api/v1/auth/login", body, headers=forwarded)
        assert "Secure" not in answer.headers["Set-Cookie"]
        evil = {**forwarded, "Origin": "https://evil.example"}
        assert (await cluster.nobody.call("POST", "/api/v1/auth/login", body, headers=evil)).status == 403
