"""Signing in, being someone, and ceasing to be."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import SecretStr

from resolute.api.settings import ApiSettings
from resolute.api.shell import SEEDED, connect, prepare, refuse_blank_passwords
from resolute.bus import MemoryBus
from resolute.directory.shell import Directory
from resolute.eventlog import MemoryEventLog
from resolute.proto.errors import Refused
from resolute.proto.identity import CreateUser
from resolute.proto.message import Cause
from resolute.service import Context
from tests.integration.api.running import SECRET, Answer, Client, running


async def test_a_fresh_cluster_knows_two_people_and_the_first_workspace(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        users = (await someone.get("/api/v1/users"))["users"]
        assert [(user["id"], user["username"], user["admin"]) for user in users] == [
            (1, "admin", True),
            (2, "determined", False),
        ]
        assert (await someone.get("/api/v1/me"))["user"]["username"] == "determined"
        [workspace] = (await someone.get("/api/v1/workspaces"))["workspaces"]
        assert (workspace["name"], workspace["numProjects"]) == ("Uncategorized", 1)
        assert (await someone.get("/api/v1/projects/1"))["project"]["workspaceName"] == "Uncategorized"


async def test_starting_twice_seeds_once(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log):
        pass
    seeded = await log.head()
    async with running(postgres_dsn, log):
        assert await log.head() == seeded


async def test_a_token_ends_with_logging_out_at_once(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        await someone.get("/api/v1/me")
        await someone.post("/api/v1/auth/logout")
        assert (await someone.call("GET", "/api/v1/me")).status == 401


async def test_wrong_credentials_say_no_more_than_that(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        for username in ("determined", "nobody"):
            answer = await cluster.nobody.call(
                "POST", "/api/v1/auth/login", {"username": username, "password": "x", "isHashed": False}
            )
            assert (answer.status, answer.error) == (401, "invalid credentials")


async def test_guessing_is_slowed_down(postgres_dsn: str) -> None:
    async with running(postgres_dsn, login_failures_max=3) as cluster:
        wrong = {"username": "admin", "password": "x", "isHashed": False}
        answers = [await cluster.nobody.call("POST", "/api/v1/auth/login", wrong) for _ in range(5)]
        assert [answer.status for answer in answers] == [401, 401, 401, 429, 429]
        await cluster.nobody.login("determined")


async def test_guesses_made_at_once_are_slowed_down_too(postgres_dsn: str) -> None:
    async with running(postgres_dsn, login_failures_max=3) as cluster:
        wrong = {"username": "admin", "password": "x", "isHashed": False}
        guesses = (cluster.nobody.call("POST", "/api/v1/auth/login", wrong) for _ in range(12))
        answers = await asyncio.gather(*guesses)
        assert sorted(answer.status for answer in answers) == [401] * 3 + [429] * 9


async def test_a_blank_password_does_not_open_the_gateway_to_a_page_of_the_web(postgres_dsn: str) -> None:
    """A page's own name may be made to lead to 127.0.0.1: the browser then tells that name."""
    async with running(postgres_dsn, public_urls=("https://cluster.example",)) as cluster:
        blank = {"username": "admin", "password": ""}
        for host in ("evil.example:8080", "evil.example", "[::1", "10.0.0.7:8080"):
            answer = await cluster.nobody.call("POST", "/api/v1/auth/login", blank, headers={"Host": host})
            assert answer.status in (400, 403, 421), host
            assert "token" not in (answer.body if isinstance(answer.body, dict) else {})
        for host in ("localhost:8080", "127.0.0.1", "[::1]:8080"):
            answer = await cluster.nobody.call("POST", "/api/v1/auth/login", blank, headers={"Host": host})
            assert answer.status == 200, host
        admin = await cluster.nobody.login("admin")
        assert (await admin.call("POST", "/api/v1/users/1/password", data=b'"form"')).status == 200
        real = {"username": "admin", "password": "form", "isHashed": True}
        answer = await cluster.nobody.call("POST", "/api/v1/auth/login", real, headers={"Host": "cluster.example"})
        assert answer.status == 200


async def test_someone_who_was_deactivated_is_out_and_stays_out(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin, someone = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        await admin.call("PATCH", "/api/v1/users/2", {"active": False, "admin": None})
        assert (await someone.call("GET", "/api/v1/me")).status == 401
        answer = await cluster.nobody.call("POST", "/api/v1/auth/login", {"username": "determined", "password": ""})
        assert (answer.status, answer.error) == (403, "user is not active")


async def test_a_password_set_by_an_administrator_replaces_the_blank_one(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        made = await admin.post(
            "/api/v1/users",
            {
                "user": {"username": "bob", "active": True, "admin": False, "remote": False},
                "password": "s",
                "isHashed": False,
            },
        )
        bob = await cluster.nobody.login("bob", "s")
        assert (await bob.get("/api/v1/me"))["user"]["id"] == made["user"]["id"]
        assert (await bob.call("POST", "/api/v1/users", {"user": {"username": "eve"}})).status == 403
        assert (await bob.call("POST", "/api/v1/users/1/password", "")).status == 403
        assert (await admin.call("POST", f"/api/v1/users/{made['user']['id']}/password", "a" * 128)).status == 200
        assert (await bob.call("GET", "/api/v1/me")).status == 401, "a new password ends the sessions of the old one"


async def test_a_remote_user_has_no_password_here(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        user = {"username": "carol", "active": True, "admin": False, "remote": True}
        made = (await admin.post("/api/v1/users", {"user": user}))["user"]
        for password in ("", "s"):
            body = {"username": "carol", "password": password, "isHashed": False}
            answer = await cluster.nobody.call("POST", "/api/v1/auth/login", body)
            assert (answer.status, answer.error) == (401, "invalid credentials")
            change = {"password": "s", "isHashed": False}
            assert (await admin.call("PATCH", f"/api/v1/users/{made['id']}", change)).status == 200
        await admin.call("PATCH", f"/api/v1/users/{made['id']}", {"remote": False})
        assert (await (await cluster.nobody.login("carol", "s")).get("/api/v1/me"))["user"]["username"] == "carol"


async def test_a_user_is_made_with_the_user_that_tasks_run_as(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        admin = await cluster.nobody.login("admin")
        group = {"agentUid": 1001, "agentUser": "ada", "agentGid": 2001, "agentGroup": "ml"}
        user = {"username": "ada", "active": True, "admin": False, "agentUserGroup": group}
        assert (await admin.post("/api/v1/users", {"user": user}))["user"]["agentUserGroup"] == group
        nameless = {**user, "username": "bob", "agentUserGroup": {**group, "agentGroup": ""}}
        assert (await admin.call("POST", "/api/v1/users", {"user": nameless})).status == 400
        assert (await admin.call("GET", "/api/v1/users/bob/by-username")).status == 404, "nothing is half done"


async def test_a_user_whose_making_was_cut_off_keeps_no_gateway_from_starting(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        for user_id in SEEDED:
            await cluster.gateway.sessions.set_password(user_id, "s")
        made = await cluster.bus.request(CreateUser("bob", admin=False, active=True), Cause("req-1", "admin", "req-1"))
        await cluster.gateway.read.reached(made.position)
        assert await cluster.gateway.sessions.blank() == []
        answer = await cluster.nobody.call("POST", "/api/v1/auth/login", {"username": "bob", "password": ""})
        assert answer.status == 401, "nor can anybody be that user"


async def test_the_log_tells_who_came_and_no_secret_of_theirs(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        told = repr(await cluster.log.read_all(0))
        assert "SessionOpened" in told
        assert str(someone.token) not in told


async def test_a_gateway_open_to_others_refuses_blank_passwords(postgres_dsn: str) -> None:
    settings = ApiSettings(database_url=postgres_dsn, host="0.0.0.0", secret=SecretStr(SECRET))
    pool = await connect(settings)
    try:
        log = MemoryEventLog()
        await Directory(log).seed()
        gateway = await prepare(Context(log, MemoryBus()), settings, pool)
        with pytest.raises(Refused, match="admin, determined are blank"):
            await refuse_blank_passwords(gateway)
    finally:
        await pool.close()


async def test_without_a_token_only_a_few_doors_are_open(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        assert (await cluster.nobody.get("/info"))["version"] == "0.38.1"
        assert (await cluster.nobody.call("GET", "/api/v1/users")).status == 401
        stranger = Client(cluster.nobody.base, cluster.nobody.http, "not-a-token")
        assert (await stranger.call("GET", "/api/v1/users")).status == 401
        answer = await cluster.nobody.call("GET", "/api/v1/nothing")
        assert (answer.status, answer.body["error"]["reason"]) == (404, "NotFound")


async def test_an_owner_signs_in_while_strangers_guess_at_two_gateways(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    behind: dict[str, Any] = {"trusted_proxies": "127.0.0.1", "login_failures_max": 3}
    async with running(postgres_dsn, log, **behind) as first, running(postgres_dsn, log, **behind) as second:
        nobody, elsewhere = first.nobody, second.nobody
        owner = await nobody.login("determined")
        assert (await owner.call("POST", "/api/v1/users/2/password", data=b'"s"')).status == 200
        right = {"username": "determined", "password": "s", "isHashed": True}
        wrong = {**right, "password": "x"}

        async def login(client: Client, body: dict[str, object], address: str, **headers: str) -> Answer:
            said = {"X-Forwarded-For": address, "Host": "localhost", **headers}
            return await client.call("POST", "/api/v1/auth/login", body, headers=said)

        signed_in = await login(nobody, right, "192.0.2.1")
        assert signed_in.status == 200
        cookie = next(c for c in signed_in.headers.getall("Set-Cookie") if c.startswith("resolute_device="))
        assert all(part in cookie for part in ("HttpOnly", "SameSite=Strict", "Path=/api/v1/auth/login"))

        clients = (nobody, elsewhere)
        guesses = [await login(clients[n % 2], wrong, f"203.0.113.{n}") for n in range(12)]
        assert [guess.status for guess in guesses] == [401] * 9 + [429] * 3, "the gateways count together"
        assert 0 < int(guesses[-1].headers["Retry-After"]) <= 300
        assert (await login(elsewhere, right, "198.51.100.4")).status == 429, "nothing tells this caller from a guesser"
        assert (await login(elsewhere, right, "192.0.2.1")).status == 200, "an address that the account knows"
        device = cookie.partition(";")[0]
        assert (await login(elsewhere, right, "198.51.100.4", Cookie=device)).status == 200, "a browser that it knows"
        assert (await login(elsewhere, right, "192.0.2.1")).status == 200
        bearer = f"Bearer {signed_in.body['token']}"
        assert (await login(elsewhere, right, "198.51.100.9", Authorization=bearer)).status == 200, "a session of it"


async def test_invented_names_push_no_count_out(postgres_dsn: str) -> None:
    async with running(postgres_dsn, login_failures_max=3) as cluster:
        wrong = {"username": "determined", "password": "x", "isHashed": False}
        for _ in range(4):
            answer = await cluster.nobody.call("POST", "/api/v1/auth/login", wrong)
        assert answer.status == 429
        invented = ({"username": f"nobody {n}", "password": ""} for n in range(40))
        answers = [await cluster.nobody.call("POST", "/api/v1/auth/login", body) for body in invented]
        assert {answer.status for answer in answers} == {401, 429}
        assert (await cluster.nobody.call("POST", "/api/v1/auth/login", wrong)).status == 429


async def test_many_guesses_at_once_are_told_to_come_back_and_hold_nobody_up(postgres_dsn: str) -> None:
    """Forty wait for a thread at most; a known caller has a line of its own."""
    async with running(postgres_dsn, login_failures_max=1000) as cluster:
        someone = await cluster.nobody.login("admin")

        async def guess(number: int) -> Answer:
            body = {"username": f"nobody {number}", "password": "x", "isHashed": False}
            return await cluster.nobody.call("POST", "/api/v1/auth/login", body)

        guesses = [asyncio.create_task(guess(number)) for number in range(90)]
        assert (await someone.get("/api/v1/me"))["user"]["username"] == "admin"
        await cluster.nobody.login("admin")
        answers = await asyncio.gather(*guesses)
        assert {answer.status for answer in answers} == {401, 503}
        assert {answer.headers.get("Retry-After") for answer in answers if answer.status == 503} == {"5"}


async def test_budgets_that_are_full_again_leave_no_row(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        await cluster.gateway.logins.budgets.sweep()
        rows = await cluster.gateway.pool.fetchval("SELECT count(*) FROM api.login_budgets")
        known = await cluster.gateway.pool.fetchval("SELECT count(*) FROM api.known_addresses")
        assert (rows, known) == (0, 1)
        assert (await someone.call("POST", "/api/v1/users/2/password", data=b'"s"')).status == 200
        assert await cluster.gateway.pool.fetchval("SELECT count(*) FROM api.known_addresses") == 0


async def test_what_comes_through_a_proxy_that_cannot_say_whose_it_is_has_no_address(postgres_dsn: str) -> None:
    async with running(postgres_dsn, login_failures_max=1, silent_proxies="127.0.0.0/8") as cluster:
        await cluster.nobody.login("admin")
        assert await cluster.gateway.pool.fetchval("SELECT count(*) FROM api.known_addresses") == 0
        wrong = {"username": "admin", "password": "x", "isHashed": False}
        claims = [{"X-Forwarded-For": f"192.0.2.{n}"} for n in range(4)]
        answers = [await cluster.nobody.call("POST", "/api/v1/auth/login", wrong, headers=claim) for claim in claims]
        assert [answer.status for answer in answers] == [401, 401, 401, 429], "all of them strangers of one account"
        await cluster.nobody.login("determined")
