"""The web UI's files over HTTP, and the session of the page: by cookie, out of the reach of other pages."""

from __future__ import annotations

import gzip
from http.cookies import SimpleCookie
from typing import Any

import orjson
import pytest

from resolute.api.edge.origins import TOKEN_HEADER
from resolute.api.web.routes import FOR_EVER, POLICY
from resolute.api.web.site import packaged
from tests.integration.api.running import Answer, Client, running

SESSION = "/det/session"
CREDENTIALS = {"username": "determined", "password": ""}
SETTING = {"settings": [{"key": "theme", "storagePath": "page", "value": '"dark"'}]}


async def signed_in(nobody: Client, **credentials: str) -> tuple[Answer, dict[str, str]]:
    """The answer, and the headers of a page that is signed in by it."""
    answer = await nobody.call("POST", SESSION, {**CREDENTIALS, **credentials})
    assert answer.status == 200, answer.body
    cookies = SimpleCookie()
    for value in answer.headers.getall("Set-Cookie"):
        cookies.load(value)
    return answer, {"Cookie": f"auth={cookies['auth'].value}", TOKEN_HEADER: answer.headers[TOKEN_HEADER]}


@pytest.mark.parametrize(
    "path", ["/det/", "/det/login?redirect=%2Fdet", "/det/experiments/7/trials/9/logs", "/det/clusters", "/det/assets"]
)
async def test_every_old_link_answers_the_page(postgres_dsn: str, path: str) -> None:
    async with running(postgres_dsn) as cluster:
        answer = await cluster.nobody.call("GET", path)
        assert (answer.status, answer.body) == (200, packaged().entrance.plain)
        assert answer.headers["Content-Security-Policy"] == POLICY
        assert answer.headers["Cache-Control"] == "no-cache"
        known = await cluster.nobody.call("GET", path, headers={"If-None-Match": answer.headers["ETag"]})
        assert (known.status, known.body) == (304, b"")


async def test_the_clusters_address_leads_to_the_page(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        for path in ("/", "/det"):
            answer = await cluster.nobody.call("GET", path, allow_redirects=False)
            assert (answer.status, answer.headers["Location"]) == (302, "/det/")


async def test_files_are_kept_for_ever_and_sent_packed_to_those_who_can_unpack(postgres_dsn: str) -> None:
    site = packaged()
    async with running(postgres_dsn) as cluster:
        for path, file in site.files.items():
            plain = await cluster.nobody.call("GET", f"{site.assets}/{path}", headers={"Accept-Encoding": "identity"})
            assert (plain.status, plain.headers["Cache-Control"]) == (200, FOR_EVER), path
            assert plain.headers["Content-Type"].partition(";")[0] == file.media_type
            assert "Content-Encoding" not in plain.headers
        path, file = next((path, file) for path, file in site.files.items() if file.packed)
        packed = await cluster.nobody.call("GET", f"{site.assets}/{path}", headers={"Accept-Encoding": "br, gzip"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert int(packed.headers["Content-Length"]) == len(file.packed or b"") == len(gzip.compress(file.plain, 9))


@pytest.mark.parametrize(
    "path",
    [
        "/det/assets/0123456789abcdef/app/main.js",
        "{assets}/app/no-such.js",
        "/det/assets/%7Bversion%7D/app/main.js",
        "{assets}/vendor/vendor.toml",
        "{assets}/..%2F..%2Fsite.py",
        "{assets}/%2e%2e/%2e%2e/routes.py",
        "{assets}//etc/passwd",
        "{assets}/" + "x" * 301,
    ],
)
async def test_nothing_but_the_files_of_this_version_is_served(postgres_dsn: str, path: str) -> None:
    async with running(postgres_dsn) as cluster:
        answer = await cluster.nobody.call("GET", path.replace("{assets}", packaged().assets))
        assert answer.status in (400, 404)
        assert answer.headers["Cache-Control"] == "no-store"


async def test_signing_in_puts_the_token_into_the_cookie_and_nowhere_else(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        assert (await cluster.nobody.get(SESSION)) == {"user": None, "weakPassword": False}
        answer, page = await signed_in(cluster.nobody)
        assert (answer.body["user"]["username"], answer.body["weakPassword"]) == ("determined", True)
        cookie = next(value for value in answer.headers.getall("Set-Cookie") if value.startswith("auth="))
        assert {"HttpOnly", "SameSite=Lax", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        token = cookie.partition("=")[2].partition(";")[0]
        assert token not in str(answer.body)
        again = await cluster.nobody.call("GET", SESSION, headers=page)
        assert again.body["user"]["username"] == "determined"
        assert again.headers[TOKEN_HEADER] == page[TOKEN_HEADER], "a page that is loaded again learns what to repeat"


async def test_signing_out_ends_the_session_everywhere(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        _, page = await signed_in(cluster.nobody)
        gone = await cluster.nobody.call("DELETE", SESSION, headers=page)
        assert gone.status == 200
        assert any(value.startswith('auth="";') for value in gone.headers.getall("Set-Cookie"))
        assert (await cluster.nobody.call("GET", "/api/v1/me", headers=page)).status == 401
        assert (await cluster.nobody.call("GET", SESSION, headers=page)).body["user"] is None
        assert (await cluster.nobody.call("DELETE", SESSION)).status == 200, "who is not signed in signs out as well"


async def test_a_wrong_password_is_refused_in_the_words_of_the_login(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        answer = await cluster.nobody.call("POST", SESSION, {**CREDENTIALS, "password": "wrong"})
        login = await cluster.nobody.call("POST", "/api/v1/auth/login", {**CREDENTIALS, "password": "wrong"})
        assert (answer.status, answer.body["message"]) == (login.status, login.error)
        assert "Set-Cookie" not in answer.headers


ELSEWHERE: list[dict[str, str]] = [
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
]


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
async def test_a_page_of_another_origin_can_neither_sign_in_nor_act_nor_sign_out(
    postgres_dsn: str, headers: dict[str, str]
) -> None:
    async with running(postgres_dsn) as cluster:
        _, page = await signed_in(cluster.nobody)
        calls: list[tuple[str, str, Any]] = [
            ("POST", SESSION, CREDENTIALS),
            ("DELETE", SESSION, None),
            ("POST", "/api/v1/users/setting", SETTING),
        ]
        for method, path, body in calls:
            answer = await cluster.nobody.call(method, path, body, headers={**page, **headers})
            assert (answer.status, b"a page of" in orjson.dumps(answer.body)) == (403, True), path
        assert (await cluster.nobody.call("GET", SESSION, headers=page)).body["user"], "the session goes on"


async def test_a_form_of_another_page_that_reaches_the_gateway_lacks_what_must_be_repeated(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        _, page = await signed_in(cluster.nobody)
        cookie_alone = {"Cookie": page["Cookie"]}
        for wrong in (cookie_alone, {**cookie_alone, TOKEN_HEADER: "0" * 64}):
            answer = await cluster.nobody.call("POST", "/api/v1/users/setting", SETTING, headers=wrong)
            assert (answer.status, TOKEN_HEADER in answer.error) == (403, True)
        assert (await cluster.nobody.call("POST", "/api/v1/users/setting", SETTING, headers=page)).status == 200


async def test_a_cookie_whose_session_has_expired_opens_nothing_and_is_no_hindrance_to_signing_in(
    postgres_dsn: str,
) -> None:
    async with running(postgres_dsn) as cluster:
        _, page = await signed_in(cluster.nobody)
        await cluster.gateway.pool.execute("UPDATE api.sessions SET expires_at = now() - interval '1 second'")
        cluster.gateway.sessions.forget()
        assert (await cluster.nobody.call("GET", "/api/v1/me", headers=page)).status == 401
        assert (await cluster.nobody.call("POST", "/api/v1/users/setting", SETTING, headers=page)).status == 401
        found = await cluster.nobody.call("GET", SESSION, headers=page)
        assert (found.status, found.body["user"]) == (200, None)
        reloaded = {"Cookie": page["Cookie"], TOKEN_HEADER: found.headers[TOKEN_HEADER]}
        again = await cluster.nobody.call("POST", SESSION, CREDENTIALS, headers=reloaded)
        assert (again.status, again.body["user"]["username"]) == (200, "determined")


async def test_the_page_is_shown_in_no_frame(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        for path in ("/det/", "/det/login", SESSION):
            answer = await cluster.nobody.call("GET", path)
            assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"], path
            assert answer.headers["X-Frame-Options"] == "DENY", path


@pytest.mark.parametrize("path", ["/det/" + "x" * 100_000, "/det/" + "a/" * 20_000, "/det/%00", "/det/%ff%fe"])
async def test_an_address_that_nobody_would_type_does_no_harm(postgres_dsn: str, path: str) -> None:
    async with running(postgres_dsn) as cluster:
        answer = await cluster.nobody.call("GET", path)
        assert answer.status in (200, 400, 404, 414), answer.body
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
        assert (await cluster.nobody.call("GET", "/det/")).status == 200
