"""Live updates over a WebSocket: a client subscribes, is sent what there is, and then what changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

from resolute.api.edge.limits import ConnectionLimits
from resolute.api.stream.kinds import KINDS
from resolute.api.stream.limits import StreamLimits
from resolute.api.stream.ranges import read_ids
from resolute.eventlog import MemoryEventLog
from resolute.proto.identity import ProjectCreated
from resolute.proto.message import Cause
from resolute.proto.models import ModelVersionRegistered
from resolute.proto.pool import AgentJoined, AgentLost, Slot
from tests.integration.api import a_search
from tests.integration.api.running import PATIENCE_S, Client, Running, running

ALL = {"all": True}
IN_FIRST = {"workspace_ids": [1]}


@pytest.fixture
async def cluster(postgres_dsn: str) -> AsyncIterator[Running]:
    async with running(postgres_dsn) as cluster:
        yield cluster


@pytest.fixture
async def someone(cluster: Running) -> Client:
    return await cluster.nobody.login("determined")


class Listening:
    """A client of `/stream` that keeps what a client needs to come again."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.said: list[dict[str, Any]] = []

    async def subscribe(self, sync_id: str = "first", known: Any = None, /, **subscribe: Any) -> list[dict[str, Any]]:
        """All messages of the sync."""
        await self.socket.send_json({"sync_id": sync_id, "known": known or {}, "subscribe": subscribe})
        messages = [await self.next()]
        while messages[0] != {"sync_id": sync_id, "complete": False}:
            messages = [await self.next()]  # live messages of what was subscribed to before
        while messages[-1] != {"sync_id": sync_id, "complete": True}:
            messages.append(await self.next())
        return messages[1:-1]

    async def next(self) -> dict[str, Any]:
        found = await self.message()
        assert found.type is aiohttp.WSMsgType.TEXT, found
        message: dict[str, Any] = orjson.loads(found.data)
        self.said.append(message)
        return message

    async def message(self) -> aiohttp.WSMessage:
        async with asyncio.timeout(PATIENCE_S):
            return await self.socket.receive()

    def stop_reading(self) -> None:
        connection: Any = self.socket._conn
        connection.transport.pause_reading()

    async def closed(self) -> tuple[int | None, str]:
        while (found := await self.message()).type is aiohttp.WSMsgType.TEXT:
            pass
        assert found.type is aiohttp.WSMsgType.CLOSE, found
        return found.data, found.extra or ""


@asynccontextmanager
async def listening(client: Client, **headers: str) -> AsyncIterator[Listening]:
    if client.token:
        headers.setdefault("Authorization", f"Bearer {client.token}")
    async with client.http.ws_connect(f"{client.base}/stream", headers=headers) as socket:
        yield Listening(socket)


def ids(messages: Sequence[dict[str, Any]], one: str) -> list[Any]:
    return [message[one]["id"] for message in messages if one in message]


async def new_workspace(client: Client, name: str) -> int:
    workspace_id: int = (await client.post("/api/v1/workspaces", {"name": name}))["workspace"]["id"]
    return workspace_id


async def new_project(client: Client, name: str, workspace: int) -> int:
    body = {"name": name, "description": "", "workspaceId": workspace}
    made = await client.post(f"/api/v1/workspaces/{workspace}/projects", body)
    project_id: int = made["project"]["id"]
    return project_id


async def new_model(client: Client, name: str) -> int:
    model_id: int = (await client.post("/api/v1/models", {"name": name}))["model"]["id"]
    return model_id


async def test_a_client_is_sent_what_there_is_and_then_what_changes(someone: Client) -> None:
    first = await new_model(someone, "digits")
    async with listening(someone) as listener:
        deleted, model = await listener.subscribe(models=IN_FIRST)
        assert deleted == {"models_deleted": ""}
        assert model["model"] | {"seq": 0, "creation_time": "", "last_updated_time": ""} == {
            **{"id": first, "name": "digits", "description": "", "archived": False, "creation_time": "", "notes": ""},
            **{"workspace_id": 1, "user_id": 2, "last_updated_time": "", "metadata": {}, "labels": [], "seq": 0},
        }
        second = await new_model(someone, "letters")
        created = (await listener.next())["model"]
        assert (created["id"], created["name"]) == (second, "letters")
        await someone.post("/api/v1/models/letters/archive")
        archived = (await listener.next())["model"]
        assert (archived["id"], archived["archived"]) == (second, True)
        assert archived["seq"] > created["seq"] > model["model"]["seq"] > 0
        await someone.call("DELETE", "/api/v1/models/digits")
        assert await listener.next() == {"models_deleted": str(first)}


async def test_a_message_replaces_all_subscriptions(someone: Client) -> None:
    async with listening(someone) as listener:
        await listener.subscribe("one", models=ALL)
        await listener.subscribe("two", projects=ALL)
        await new_model(someone, "digits")
        project_id = await new_project(someone, "vision", await new_workspace(someone, "a"))
        assert (await listener.next())["project"]["id"] == project_id
        assert await listener.subscribe("three") == []


async def test_an_object_that_leaves_the_filter_is_deleted_for_the_client(someone: Client) -> None:
    first, other = [await new_workspace(someone, name) for name in ("first", "other")]
    project_id = await new_project(someone, "vision", first)
    async with listening(someone) as here, listening(someone) as there:
        await here.subscribe(projects={"workspace_ids": [first]})
        await there.subscribe(projects={"workspace_ids": [other]})
        await someone.post(f"/api/v1/projects/{project_id}/move", {"destinationWorkspaceId": other})
        assert await here.next() == {"projects_deleted": str(project_id)}
        moved = (await there.next())["project"]
        assert (moved["id"], moved["workspace_id"], moved["state"]) == (project_id, other, "UNSPECIFIED")


async def test_a_client_that_comes_again_is_sent_what_it_missed_and_nothing_twice(
    cluster: Running, someone: Client
) -> None:
    kept, archived, gone = [await new_model(someone, name) for name in ("kept", "archived", "gone")]
    async with listening(someone) as listener:
        found = await listener.subscribe(models=ALL)
    since = max(message["model"]["seq"] for message in found if "model" in message)
    await someone.post("/api/v1/models/archived/archive")
    await someone.call("DELETE", "/api/v1/models/gone")
    new = await new_model(someone, "new")
    known = {"models": f"{kept}-{gone}"}
    async with listening(someone) as listener:
        found = await listener.subscribe("again", known, models={**ALL, "since": since})
        assert found[0] == {"models_deleted": str(gone)}
        assert ids(found, "model") == [archived, new]
    known = {"models": f"{kept},{archived},{new}"}
    latest = max(message["model"]["seq"] for message in found if "model" in message)
    async with listening(someone) as listener:
        assert await listener.subscribe("again", known, models={**ALL, "since": latest}) == [{"models_deleted": ""}]
        # A position that the log has not reached: what the client knows may be of another cluster.
        found = await listener.subscribe("ahead", known, models={**ALL, "since": 2**62})
        assert found == [{"models_deleted": ""}]


async def test_a_gateway_that_started_anew_reads_back_what_a_client_missed(cluster: Running, someone: Client) -> None:
    model_id = await new_model(someone, "digits")
    since = await cluster.log.head()
    await someone.post("/api/v1/models/digits/archive")
    fanout = cluster.gateway.streams
    fanout.recent.begin(await cluster.log.head())  # as in a gateway that has just started
    async with listening(someone) as listener:
        found = await listener.subscribe("again", {"models": str(model_id)}, models={**ALL, "since": since})
        assert ids(found, "model") == [model_id]


async def test_versions_of_a_model_go_with_it(cluster: Running, someone: Client) -> None:
    head = len(await cluster.log.read_stream("models-directory"))
    await someone.post("/api/v1/models", {"name": "digits"})
    cause = Cause("a test", actor="a test")
    registered = [ModelVersionRegistered(1, number, number, "uuid", 2) for number in (1, 2)]
    async with listening(someone) as listener:
        await listener.subscribe(modelversions={"model_ids": [1]})
        await cluster.log.append("models-directory", registered, expected_version=head + 1, cause=cause)
        first, second = [(await listener.next())["modelversion"] for _ in registered]
        assert (first["id"], second["id"], first["checkpoint_uuid"]) == (1, 2, "uuid")
        assert first["workspace_id"] == "1"
        assert first["seq"] < second["seq"]
        await someone.call("DELETE", "/api/v1/models/digits")
        assert await listener.next() == {"modelversions_deleted": "1-2"}


async def test_what_live_messages_come_to_is_what_a_new_client_is_sent(postgres_dsn: str, tmp_path: Path) -> None:
    """Of a whole search: experiments, trials, tasks, checkpoints and agents."""
    everything = dict.fromkeys(KINDS, ALL)
    async with running(postgres_dsn) as cluster:
        someone = await cluster.nobody.login("determined")
        async with listening(someone) as listener:
            found = shown({}, await listener.subscribe(**everything))
            a_search.keep_files(tmp_path)
            await a_search.tell(cluster, tmp_path)
            await cluster.tell(
                "pool-default", AgentJoined("a", (Slot(0, "cpu"),), "host", "1"), AgentJoined("b", (), "", "")
            )
            await cluster.tell("pool-default", AgentLost("b", "gone"))
            await someone.call("PATCH", "/api/v1/experiments/1", {"name": "renamed"})
            async with listening(someone) as later:
                wanted = shown({}, await later.subscribe(**everything))
            assert {kind for kind, _ in wanted} == {"project", "experiment", "trial", "checkpoint", "task", "agent"}
            async with asyncio.timeout(PATIENCE_S):
                while found != wanted:
                    found = shown(found, [await listener.next()])


def shown(before: Mapping[tuple[str, Any], Any], messages: Sequence[dict[str, Any]]) -> dict[tuple[str, Any], Any]:
    """All objects that a client knows, without their `seq`."""
    found = dict(before)
    for (name, value), *_ in (list(message.items()) for message in messages):
        kind = KINDS.get(name.removesuffix("_deleted"))
        if kind is None:
            found[name, value["id"]] = {**value, "seq": 0}
            continue
        for id_ in read_ids("", value, numbered=kind.numbered, most=1_000):
            del found[kind.one, id_]
    return found


async def test_an_open_stream_is_no_idle_connection(postgres_dsn: str) -> None:
    limits = ConnectionLimits(header_timeout_s=0.3, rate_window_s=0.3, stranger_idle_timeout_s=0.3, idle_timeout_s=0.3)
    async with running(postgres_dsn, connections=limits) as cluster:
        someone = await cluster.nobody.login("determined")
        async with listening(someone) as listener:
            await listener.subscribe(models=ALL)
            host, port = cluster.nobody.base.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""  # the gateway looked at its connections, and ended the idle one
            writer.close()
            model_id = await new_model(someone, "digits")
            assert (await listener.next())["model"]["id"] == model_id


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("{", "the message is no JSON"),
        ("[]", "the message: expected an object"),
        ('{"subscribe": {"models": {}}}', "subscribe.models: no filter is given"),
        ('{"subscribe": {"models": {"model_ids": []}}}', "subscribe.models: no filter is given"),
        ('{"subscribe": {"model": {"model_ids": [1]}}}', "subscribe: 'model' is unknown here"),
        ('{"subscribe": {"models": {"model_ids": ["1"]}}}', "subscribe.models.model_ids: expected whole numbers"),
        ('{"subscribe": {"models": {"model_ids": [true]}}}', "subscribe.models.model_ids: expected whole numbers"),
        ('{"subscribe": {"models": {"all": 1}}}', "subscribe.models.all: expected true or false"),
        ('{"subscribe": {"models": {"all": true, "since": -1}}}', "subscribe.models.since: expected a whole"),
        ('{"known": {"models": "1-999999999999"}, "subscribe": {"models": {"all": true}}}', "known.models: more than"),
        ('{"known": {"models": "3-1"}, "subscribe": {"models": {"all": true}}}', "known.models: '3-1' is no range"),
        ('{"known": {"models": "1-2-3"}, "subscribe": {"models": {"all": true}}}', "known.models: expected ranges"),
        ('{"sync_id": 1, "subscribe": {}}', "sync_id: expected text"),
    ],
)
async def test_a_message_that_says_nothing_closes_the_socket_with_the_field(
    someone: Client, said: str, reason: str
) -> None:
    async with listening(someone) as listener:
        await listener.socket.send_str(said)
        code, found = await listener.closed()
        assert (code, found[: len(reason)]) == (1008, reason)


async def test_bytes_and_messages_that_are_too_large_close_the_socket(someone: Client) -> None:
    async with listening(someone) as listener:
        await listener.socket.send_bytes(b"{}")
        assert (await listener.closed())[0] == 1003
    async with listening(someone) as listener:
        await listener.socket.send_str(" " * (2**20 + 1))
        assert (await listener.closed())[0] == 1009


async def test_only_who_is_signed_in_may_listen_and_a_page_of_another_origin_may_not(
    cluster: Running, someone: Client
) -> None:
    for client, headers, status in (
        (cluster.nobody, {}, 401),
        (cluster.nobody, {"Cookie": f"auth={someone.token}"}, 401),
        (cluster.nobody, {"Cookie": f"auth={someone.token}", "Origin": "https://evil.example"}, 403),
    ):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with listening(client, **headers):
                pass
        assert refused.value.status == status
    async with listening(cluster.nobody, Cookie=f"auth={someone.token}", Origin=cluster.nobody.base) as listener:
        assert (await listener.subscribe(models=ALL)) == [{"models_deleted": ""}]
    plain = await someone.call("GET", "/stream")
    assert (plain.status, plain.body["message"][:8]) == (400, "Upgrade:")


async def test_a_client_that_signs_out_is_closed(cluster: Running, someone: Client) -> None:
    async with listening(someone) as listener:
        await listener.subscribe(models=ALL)
        await someone.post("/api/v1/auth/logout")
        code, reason = await listener.closed()
        assert (code, reason[:12]) == (1008, "your session")


async def test_a_client_that_signs_out_elsewhere_or_is_made_inactive_is_closed(postgres_dsn: str) -> None:
    log = MemoryEventLog()
    async with running(postgres_dsn, log) as first, running(postgres_dsn, log) as second:
        someone = await first.nobody.login("determined")
        elsewhere = Client(second.nobody.base, second.nobody.http, someone.token)
        async with listening(elsewhere) as listener:
            await listener.subscribe(models=ALL)
            await someone.post("/api/v1/auth/logout")
            assert (await listener.closed())[1].startswith("your session")
        someone, admin = await second.nobody.login("determined"), await second.nobody.login("admin")
        async with listening(someone) as closed, listening(admin) as stays:
            await closed.subscribe(models=ALL)
            await stays.subscribe(models=ALL)
            await admin.call("PATCH", "/api/v1/users/2", {"active": False})
            assert (await closed.closed())[1].startswith("your session")
            model_id = await new_model(admin, "digits")
            assert (await stays.next())["model"]["id"] == model_id


async def test_limits_hold(postgres_dsn: str) -> None:
    limits = StreamLimits(per_user=2, objects=2, subscribe_within_s=0.2)
    async with running(postgres_dsn, streams=limits) as cluster:
        someone = await cluster.nobody.login("determined")
        async with listening(someone) as one, listening(someone):
            with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                async with listening(someone):
                    pass
            assert refused.value.status == 409
            assert (await one.closed())[1].startswith("no message came within 0.2 s")
        for name in ("a", "b", "c"):
            await new_model(someone, name)
        async with listening(someone) as listener:
            await listener.socket.send_json({"subscribe": {"models": ALL}})
            assert (await listener.closed())[1].startswith("subscribe.models: more than 2 objects match")


async def test_a_slow_client_is_closed_and_others_do_not_wait_for_it(postgres_dsn: str) -> None:
    limits = StreamLimits(waiting=50, close_within_s=0.2)
    async with running(postgres_dsn, streams=limits) as cluster:
        someone = await cluster.nobody.login("determined")
        async with listening(someone) as slow, listening(someone) as quick:
            await slow.subscribe(projects=ALL)
            await quick.subscribe(projects=ALL)
            slow.stop_reading()
            stream = "workspace-directory"
            version = len(await cluster.log.read_stream(stream))
            for round_ in range(40):
                made = [ProjectCreated(1000 + round_ * 20 + n, 1, f"p{round_}-{n}", "x" * 20_000, 2) for n in range(20)]
                cause = Cause(f"many-{round_}", actor="a test")
                await cluster.log.append(stream, made, expected_version=version, cause=cause)
                version += len(made)
                found = [(await quick.next())["project"]["id"] for _ in made]
                assert found == [one.project_id for one in made]
            async with asyncio.timeout(PATIENCE_S):
                while len(cluster.gateway.streams._listeners) > 1:  # noqa: ASYNC110  (the slow one is cut off)
                    await asyncio.sleep(0.01)
