"""What tasks serve, reached through the gateway and the agent's own connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from resolute.proto.proxy import TASK_USED, TaskUsed
from tests.integration.api.running import PATIENCE_S, Answer, Client
from tests.integration.api.served import CSP, Served, served
from tests.ports import free_port

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
async def scene(postgres_dsn: str, tmp_path: Path) -> AsyncIterator[Served]:
    async with served(postgres_dsn, tmp_path, proxy={"dial_s": 5}) as scene:
        yield scene


def said(answer: Answer) -> str:
    return str(answer.body["message"])


async def headers_at_the_task(scene: Served, client: Client, **headers: str) -> dict[str, str]:
    answer = await client.call("GET", f"{scene.path}show", headers=headers)
    assert answer.status == 200, answer.body
    return {name.lower(): value for name, value in answer.body["headers"]}


async def test_requests_reach_the_task_and_its_answers_come_back_as_they_are(scene: Served) -> None:
    await scene.start()
    shown = await scene.user.call("GET", f"{scene.path}a%2Fb/c%20d?x=1&x=%26")
    assert shown.body["path"] == f"{scene.path}a%2Fb/c%20d?x=1&x=%26", "the path is neither cut nor decoded"
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        answer = await scene.user.call(method, f"{scene.path}echo", data=b"\0 any bytes")
        assert (answer.status, answer.body, answer.headers["X-Method"]) == (200, b"\0 any bytes", method)
    assert (await scene.user.call("GET", f"{scene.path}answered?status=418")).status == 418
    bare = await scene.user.call("GET", scene.path[:-1] + "?a=b", allow_redirects=False)
    assert (bare.status, bare.headers["Location"]) == (308, f"{scene.path}?a=b")
    head = await scene.user.call("HEAD", f"{scene.path}file")
    assert (head.status, int(head.headers["Content-Length"])) == (
        200,
        (Path(__file__).parent / "served.py").stat().st_size,
    )


async def test_bodies_stream_in_both_directions_and_parts_of_files_can_be_asked_for(scene: Served) -> None:
    await scene.start()
    large = bytes(range(256)) * 40_000

    async def parts() -> AsyncIterator[bytes]:
        for start in range(0, len(large), 100_000):
            yield large[start : start + 100_000]

    answer = await scene.user.call("POST", f"{scene.path}echo", data=parts())
    assert answer.body == large
    part = await scene.user.call("GET", f"{scene.path}file", headers={"Range": "bytes=4-9"})
    expected = (Path(__file__).parent / "served.py").read_bytes()[4:10]
    assert (part.status, part.body) == (206, expected)
    url = f"{scene.user.base}{scene.path}events"
    async with scene.user.http.get(url, headers={"Authorization": f"Bearer {scene.user.token}"}) as events:
        first = await asyncio.wait_for(events.content.readuntil(b"\n\n"), PATIENCE_S)
        second = await asyncio.wait_for(events.content.readuntil(b"\n\n"), PATIENCE_S)
        assert (first, second) == (b"data: 0\n\n", b"data: 1\n\n"), "each comes when it is sent"
        scene.program.go_on.set()
        assert b"data: 2" in await events.content.read()


async def test_a_slow_reader_holds_the_task_up_and_one_that_leaves_ends_its_request(scene: Served) -> None:
    await scene.start()
    url = f"{scene.user.base}{scene.path}endless"
    async with scene.user.http.get(url, headers={"Authorization": f"Bearer {scene.user.token}"}) as endless:
        await endless.content.readexactly(10)
        before = -1
        async with asyncio.timeout(PATIENCE_S):
            while before != scene.program.sent:
                before = scene.program.sent
                await asyncio.sleep(0.5)
        assert before < 64 * 2**20, "what nobody reads is not gathered in memory"
        endless.close()
    await asyncio.wait_for(scene.program.closed.wait(), PATIENCE_S)


async def test_an_answer_that_breaks_off_does_not_look_whole(scene: Served) -> None:
    await scene.start()
    with pytest.raises(aiohttp.ClientPayloadError):
        await scene.user.call("GET", f"{scene.path}broken")


@pytest.mark.parametrize("size", [0, 1, 125, 126, 70_000, 3_000_000])
async def test_websockets_pass_with_any_subprotocol(scene: Served, size: int) -> None:
    await scene.start()
    url = f"{scene.user.base}{scene.path}socket"
    headers = {"Authorization": f"Bearer {scene.user.token}"}
    async with scene.user.http.ws_connect(
        url, headers=headers, protocols=("other", "v1.kernel.example"), max_msg_size=0
    ) as socket:
        assert socket.protocol == "v1.kernel.example"
        await socket.send_bytes(bytes(size))
        assert await asyncio.wait_for(socket.receive_bytes(), PATIENCE_S) == bytes(size)
        await socket.send_str("שלום")
        assert await asyncio.wait_for(socket.receive_str(), PATIENCE_S) == "שלום"
        await socket.close(code=4001)
    [request] = [one for one in scene.program.seen if one.path.endswith("socket")]
    assert "Authorization" not in request.headers


async def test_a_websocket_that_the_task_refuses_is_answered_with_its_words(scene: Served) -> None:
    await scene.start()
    url = f"{scene.user.base}{scene.path}answered?status=403"
    with pytest.raises(aiohttp.WSServerHandshakeError) as found:
        await scene.user.http.ws_connect(url, headers={"Authorization": f"Bearer {scene.user.token}"})
    assert found.value.status == 403


async def test_a_tcp_port_is_reached_inside_a_websocket(scene: Served) -> None:
    port, received = free_port(), bytearray()
    ended = asyncio.Event()

    async def shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"first, before anything was asked")
        while data := await reader.read(65_536):
            received.extend(data)
            writer.write(data.upper())
            await writer.drain()
        ended.set()
        writer.close()

    async with await asyncio.start_server(shout, "127.0.0.1", port):
        task_id = await scene.start({"proxy_port": port, "proxy_tcp": True})
        headers = {"Authorization": f"Bearer {scene.user.token}"}
        url = f"{scene.user.base}/proxy/{task_id}:{port}/"
        plain = await scene.user.call("GET", f"/proxy/{task_id}:{port}/")
        assert plain.status == 400
        assert "over a WebSocket only" in said(plain)
        async with scene.user.http.ws_connect(url, headers=headers, max_msg_size=0) as socket:
            first = await asyncio.wait_for(socket.receive_bytes(), PATIENCE_S)
            assert first == b"first, before anything was asked"
            await socket.send_str("text has no effect")
            await socket.send_bytes(b"abc" * 100_000)
            got = b""
            while len(got) < 300_000:
                got += await asyncio.wait_for(socket.receive_bytes(), PATIENCE_S)
            assert got == b"ABC" * 100_000
        await asyncio.wait_for(ended.wait(), PATIENCE_S)
        assert bytes(received) == b"abc" * 100_000


# ---------------------------------------------------------------- who, and with which headers


async def test_the_users_session_never_reaches_the_task(scene: Served) -> None:
    await scene.start()
    token = scene.user.token
    assert token is not None
    cookie = f'other=1; auth={token}; "auth"={token}; resolute_device=x; theirs="a b"'
    seen = await headers_at_the_task(
        scene,
        scene.user,
        Cookie=cookie,
        **{
            "Grpc-Metadata-x-user-token": f"Bearer {token}",
            "X-CSRF-Token": "t",
            "X-Forwarded-For": "6.6.6.6",
            "X-Real-IP": "6.6.6.6",
            "Forwarded": "for=6.6.6.6",
            "Connection": "keep-alive, X-Secret",
            "X-Secret": "of this hop",
            "X-Own": "kept",
        },
    )
    assert token not in str(seen)
    assert seen["cookie"] == 'other=1; theirs="a b"'
    assert (seen["x-real-ip"], seen["x-forwarded-for"], seen["x-forwarded-proto"]) == ("127.0.0.1", "127.0.0.1", "http")
    assert seen["host"] == seen["x-forwarded-host"] == scene.user.base.removeprefix("http://")
    assert seen["x-own"] == "kept"
    assert not {"authorization", "x-csrf-token", "forwarded", "x-secret", "grpc-metadata-x-user-token"} & set(seen)


async def test_a_cookie_lets_a_person_in_and_pages_of_others_out(scene: Served) -> None:
    await scene.start()
    person = Client(scene.user.base, scene.user.http)
    own, cookie = scene.user.base, {"Cookie": f"auth={scene.user.token}"}
    assert (await person.call("GET", f"{scene.path}show", headers=cookie)).status == 200
    posted = await person.call("POST", f"{scene.path}echo", data=b"x", headers={**cookie, "Origin": own})
    assert posted.status == 200, "a page of the task posts, and knows of no token"
    for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
        answer = await person.call("POST", f"{scene.path}echo", data=b"x", headers={**cookie, **headers})
        assert answer.status == 403, headers
    assert (await person.call("POST", f"{scene.path}echo", data=b"x", headers=cookie)).status == 401
    image = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert (await person.call("GET", f"{scene.path}show", headers={**cookie, **image})).status == 401
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert (await person.call("GET", f"{scene.path}show", headers={**cookie, **link})).status == 200
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await person.http.ws_connect(f"{own}{scene.path}socket", headers={**cookie, "Origin": "https://evil.example"})
    async with person.http.ws_connect(f"{own}{scene.path}socket", headers={**cookie, "Origin": own}) as socket:
        await socket.send_str("x")
        assert await socket.receive_str() == "x"


async def test_strangers_are_sent_to_the_login_and_programs_are_told(scene: Served) -> None:
    await scene.start()
    nobody = scene.cluster.nobody
    assert (await nobody.call("GET", f"{scene.path}show")).status == 401
    sent = await nobody.call("GET", f"{scene.path}show", headers=BROWSER, allow_redirects=False)
    assert (sent.status, sent.headers["Location"]) == (303, f"/det/login?redirect={scene.path}show")
    assert (await nobody.call("POST", f"{scene.path}echo", data=b"x")).status == 401
    forged = Client(nobody.base, nobody.http, "v2.public.forged")
    assert (await forged.call("GET", f"{scene.path}show")).status == 401
    with pytest.raises(aiohttp.WSServerHandshakeError):
        await nobody.http.ws_connect(f"{nobody.base}{scene.path}socket")
    assert not scene.program.seen


async def test_what_is_not_there_is_said_with_the_hop_that_failed(scene: Served) -> None:
    unused = free_port()
    task_id = await scene.start(
        {"proxy_port": scene.program.port, "default_service_id": True}, {"proxy_port": unused, "proxy_tcp": False}
    )
    for name in ("no-such-task", f"{task_id}:0", f"{task_id}:99999", f"{task_id}:x", "a:b:c", "%2e%2e"):
        answer = await scene.user.call("GET", f"/proxy/{name}/")
        assert answer.status == 404, name
        assert "service not found" in said(answer)
    refused = await scene.user.call("GET", f"/proxy/{task_id}:{unused}/")
    assert refused.status == 502
    assert f"nothing answers at port {unused} of the task" in said(refused)
    assert refused.headers["Retry-After"]
    page = await scene.user.call("GET", f"/proxy/{task_id}:{unused}/", headers=BROWSER)
    assert (page.status, page.headers["Content-Type"]) == (502, "text/html; charset=utf-8")
    assert b"The task does not answer" in page.body
    assert page.headers["Refresh"]
    undeclared = await scene.user.call("GET", f"/proxy/{task_id}:22/")
    assert undeclared.status == 502
    assert "port 22 is not among environment.proxy_ports" in said(undeclared)


async def test_a_task_that_waits_and_one_that_has_ended_say_so(scene: Served) -> None:
    scene.runtime.broken = ""
    await scene.start()
    [resources_id] = scene.runtime.tasks
    scene.runtime.end(resources_id)
    await scene.until_state("STATE_TERMINATED")

    async with asyncio.timeout(PATIENCE_S):
        while (answer := await scene.user.call("GET", scene.path)).status != 410:
            assert answer.status in (200, 502)
            await asyncio.sleep(0.05)
    assert "has ended" in said(answer)
    page = await scene.user.call("GET", scene.path, headers=BROWSER)
    assert b"The task has ended" in page.body
    config = {"entrypoint": ["x"], "resources": {"slots": 2}}
    for _ in range(2):
        task_id = (await scene.user.post("/api/v1/commands", {"config": config}))["command"]["id"]
    waits = await scene.user.call("GET", f"/proxy/{task_id}/")
    assert waits.status == 503
    assert "does not run yet" in said(waits)


async def test_an_agent_that_is_gone_is_named(postgres_dsn: str, tmp_path: Path) -> None:
    async with served(postgres_dsn, tmp_path, proxy={"dial_s": 0.3}) as scene:
        await scene.start()
        scene.cluster.bus.listeners = [one for one in scene.cluster.bus.listeners if not one.subject.endswith(".dial")]
        answer = await scene.user.call("GET", scene.path)
        assert answer.status == 502
        assert "agent a1 did not connect the task within 0.3 s" in said(answer)


async def test_an_agent_that_cannot_reach_the_gateway_says_so(postgres_dsn: str, tmp_path: Path) -> None:
    async with served(postgres_dsn, tmp_path, proxy={"address": "127.0.0.2", "dial_s": 20}) as scene:
        await scene.start()
        answer = await scene.user.call("GET", scene.path)
        assert answer.status == 502
        assert "agent a1 cannot reach this gateway's listener for agents: 127.0.0.2:" in said(answer)


async def test_tasks_of_a_host_never_share_a_port(scene: Served) -> None:
    first = await scene.start()
    second = await scene.start()
    assert first != second
    assert (await scene.user.call("GET", f"/proxy/{first}/show")).status == 200
    answer = await scene.user.call("GET", f"/proxy/{second}/show")
    assert answer.status == 502
    assert f"task {first} on the same host declared that port first" in said(answer)


async def test_a_request_counts_as_use_and_is_said_once_in_a_while(scene: Served) -> None:
    used: list[str] = []

    async def note(message: TaskUsed) -> None:
        used.append(message.task_id)

    await scene.cluster.bus.listen(TASK_USED, TaskUsed, note)
    await scene.start()
    for _ in range(5):
        await scene.user.call("GET", f"{scene.path}show")
    assert used == [scene.task_id]


# ---------------------------------------------------------------- pages of tasks


async def answered(scene: Served, **headers: Any) -> Any:
    return await scene.user.call("GET", f"{scene.path}answered", params=headers, allow_redirects=False)


async def test_pages_of_a_task_are_kept_to_its_own_path(scene: Served) -> None:
    await scene.start()
    answer = await answered(scene, **{CSP: "default-src *", "Cache-Control": "max-age=5"})
    theirs, own = answer.headers.getall(CSP)
    assert theirs == "default-src *"
    rules = dict(rule.strip().split(" ", 1) for rule in own.split(";"))
    host = scene.user.base.removeprefix("http://")
    for name in ("connect-src", "form-action", "frame-src", "worker-src", "default-src", "base-uri"):
        sources = [one for one in rules[name].split() if "://" in one]
        assert sources, name
        assert all(one.partition("://")[2] == f"{host}{scene.path}" for one in sources), rules[name]
        assert not {"*", "'self'", "https:", "http:"} & set(rules[name].split())
    assert answer.headers["Cross-Origin-Opener-Policy"] == "noopener-allow-popups"
    assert answer.headers["Cache-Control"] == "max-age=5"
    assert "X-CSRF-Token" not in answer.headers


@pytest.mark.parametrize(
    "location",
    [
        *("/api/v1/me", "//{host}/api/v1/me", "http://{host}/api/v1/me", "../../api/v1/me", "/proxy/other/"),
        *("\\\\{host}\\api", "/\t/{host}/api", "{own}..%2f..%2fapi", "{own}%2e%2e/x", "javascript:1", "http://[x"),
    ],
)
async def test_a_task_does_not_redirect_into_the_gateway(scene: Served, location: str) -> None:
    await scene.start()
    host = scene.user.base.removeprefix("http://")
    answer = await answered(scene, status="302", Location=location.format(host=host, own=scene.path))
    assert answer.status in (302, 502)
    assert answer.status == 502, answer.headers["Location"]
    assert "Location" not in answer.headers


@pytest.mark.parametrize("location", ["lab?a=b", "{own}lab", "http://{host}{own}lab", "https://example.org/x"])
async def test_a_task_redirects_within_its_path_and_to_other_hosts(scene: Served, location: str) -> None:
    await scene.start()
    wanted = location.format(host=scene.user.base.removeprefix("http://"), own=scene.path)
    answer = await answered(scene, status="302", Location=wanted)
    assert (answer.status, answer.headers["Location"]) == (302, wanted)


async def test_a_task_sets_cookies_for_its_own_path_only(scene: Served) -> None:
    await scene.start()
    for given, expected in (
        ("a=1; Path=/; HttpOnly", f"a=1; HttpOnly; Path={scene.path}"),
        ("a=1; Domain=example.org; Path=/det", f"a=1; Path={scene.path}"),
        (f"a=1; Path={scene.path}lab", f"a=1; Path={scene.path}lab"),
        ("auth=evil; Path=/", None),
        ('"auth"=evil', None),
        ("__Host-a=1; Secure; Path=/", None),
    ):
        answer = await answered(scene, **{"Set-Cookie": given})
        assert answer.headers.get("Set-Cookie") == expected, given
    kept = await answered(
        scene,
        **{"Clear-Site-Data": '"cookies"', "Service-Worker-Allowed": "/", "Strict-Transport-Security": "max-age=9"},
    )
    assert not {"Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security"} & set(kept.headers)


async def test_a_page_of_a_task_cannot_load_the_gateways_data_as_code(scene: Served) -> None:
    person = Client(scene.user.base, scene.user.http)
    cookie = {"Cookie": f"auth={scene.user.token}", "Sec-Fetch-Site": "same-origin"}
    fetched = await person.call("GET", "/api/v1/me", headers={**cookie, "Sec-Fetch-Dest": "empty"})
    assert fetched.status == 200, "the web UI"
    for destination in ("json", "script", "style", "worker", "iframe", "object"):
        answer = await person.call("GET", "/api/v1/me", headers={**cookie, "Sec-Fetch-Dest": destination})
        assert answer.status == 401, destination
