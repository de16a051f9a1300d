"""Settings of users and metadata of trials: facts of the log, with an actor, also where an earlier release kept them in
tables of its own."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from resolute.proto.errors import Unavailable
from resolute.proto.experiment import TrialMetadataChanged
from resolute.proto.identity import UserSettingsChanged
from tests.integration.api.running import Client, Running, running
from tests.integration.api.test_experiments import submit

SETTINGS = "/api/v1/users/setting"
METADATA = "/api/v1/runs/1/metadata"

# As the release before wrote them.
EARLIER_SETTING = """INSERT INTO api.user_settings (user_id, key, storage_path, value) VALUES ($1, $2, $3, $4)
ON CONFLICT (user_id, key, storage_path) DO UPDATE SET value = EXCLUDED.value"""
EARLIER_METADATA = """INSERT INTO measures.trial_notes (trial_id, progress, runner_state, metadata)
VALUES ($1, $2, $3, $4) ON CONFLICT (trial_id) DO UPDATE SET
    progress = coalesce(EXCLUDED.progress, measures.trial_notes.progress),
    runner_state = coalesce(EXCLUDED.runner_state, measures.trial_notes.runner_state),
    metadata = coalesce(EXCLUDED.metadata, measures.trial_notes.metadata)"""


def setting(key: str, value: str, path: str = "") -> dict[str, str]:
    return {"key": key, "storagePath": path, "value": value}


async def settings_of(someone: Client) -> list[dict[str, str]]:
    found: list[dict[str, str]] = (await someone.get(SETTINGS))["settings"]
    return found


async def told(cluster: Running, stream: str, kind: type[Any]) -> list[tuple[str, Any]]:
    """Who caused each event of a type, and the event."""
    events = await cluster.log.read_stream(stream)
    return [(recorded.cause.actor, recorded.event) for recorded in events if isinstance(recorded.event, kind)]


async def test_a_users_settings_have_an_actor_and_a_history(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        bob, admin = [await cluster.nobody.login(name) for name in ("determined", "admin")]
        both = [setting("b", "1"), setting("a", "2", "/page")]
        assert await bob.post(SETTINGS, {"settings": both}) == {}
        await bob.post(SETTINGS, {"settings": [setting("b", "3"), both[1]]})
        assert await settings_of(bob) == [setting("a", "2", "/page"), setting("b", "3")]
        assert await settings_of(admin) == []
        assert await bob.post(f"{SETTINGS}/reset") == {}
        assert await settings_of(bob) == []
        changes = await told(cluster, "settings-2", UserSettingsChanged)
        assert [(actor, len(event.settings)) for actor, event in changes] == [("determined", 2), ("determined", 1)]


async def test_settings_that_two_browsers_change_at_once_are_all_changed(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        browsers = [await cluster.nobody.login("determined") for _ in range(2)]
        asked = [
            browser.post(SETTINGS, {"settings": [setting(f"{n}-{m}", "v")]})
            for n, browser in enumerate(browsers)
            for m in range(8)
        ]
        await asyncio.gather(*asked)
        assert await settings_of(browsers[0]) == [setting(f"{n}-{m}", "v") for n in range(2) for m in range(8)]


async def test_the_metadata_of_a_trial_have_an_actor_and_a_history(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        bob = await cluster.nobody.login("determined")
        await submit(bob)
        assert await bob.get(METADATA) == {"metadata": {}}
        assert "metadata" not in (await bob.get("/api/v1/trials/1"))["trial"]
        odd = b'{"metadata": {"zz": NaN, "a": {"n\\u0000l": 1.0, "large": 1e300}}}'
        first = (await bob.call("POST", METADATA, data=odd)).body
        assert first == {"metadata": {"zz": None, "a": {"n\u0000l": 1.0, "large": 1e300}}}
        assert await bob.get(METADATA) == {"metadata": {"a": {"n\ufffdl": 1.0, "large": 1e300}, "zz": "NaN"}}
        assert await bob.post(METADATA, {"metadata": {"b": 2}}) == {"metadata": {"b": 2}}
        assert await bob.get(METADATA) == {"metadata": {"b": 2}}
        assert (await bob.get("/api/v1/trials/1"))["trial"]["metadata"] == {"b": 2}
        changes = await told(cluster, "experiment-1", TrialMetadataChanged)
        assert [actor for actor, _ in changes] == ["determined", "determined"]
        assert changes[-1][1] == TrialMetadataChanged(1, {"b": 2})


async def test_what_an_earlier_release_kept_is_shown_and_carried_over_into_the_log(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        bob, gateway = await cluster.nobody.login("determined"), cluster.gateway
        await submit(bob)
        await gateway.pool.execute(EARLIER_SETTING, 2, "mode", "theme", "dark")
        await gateway.pool.execute(EARLIER_METADATA, 1, 0.5, None, '{"dataset": 1}')
        theirs = [setting("mode", "dark", "theme")]

        async def shown() -> list[bytes]:
            answers = [await bob.call("GET", path) for path in (SETTINGS, METADATA, "/api/v1/trials/1")]
            return [orjson.dumps(answer.body) for answer in answers]

        before = await shown()
        assert await settings_of(bob) == theirs
        assert await bob.get(METADATA) == {"metadata": {"dataset": 1}}
        for _ in range(2):  # the second time there is nothing to do
            await gateway.earlier_rows.carry_over()
            assert await shown() == before
        [(actor, event)] = await told(cluster, "experiment-1", TrialMetadataChanged)
        assert (actor, event) == ("upgrade", TrialMetadataChanged(1, {"dataset": 1}, carried_over=True))
        [(actor, event)] = await told(cluster, "settings-2", UserSettingsChanged)
        assert (actor, event.carried_over) == ("upgrade", True)
        assert await gateway.pool.fetchval("SELECT value FROM api.user_settings") == "dark", (
            "the older gateway reads it"
        )


async def test_what_a_gateway_of_the_earlier_release_writes_later_is_carried_over_too(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        bob, gateway = await cluster.nobody.login("determined"), cluster.gateway
        await submit(bob)
        for value in ("dark", "light"):
            await gateway.pool.execute(EARLIER_SETTING, 2, "mode", "", value)
            await gateway.pool.execute(EARLIER_METADATA, 1, None, "RUNNING", orjson.dumps({"mode": value}).decode())
            await gateway.earlier_rows.carry_over()
            assert await settings_of(bob) == [setting("mode", value)]
            assert await bob.get(METADATA) == {"metadata": {"mode": value}}
        await gateway.pool.execute(EARLIER_METADATA, 1, 0.7, None, None)  # says nothing of metadata
        await bob.post(SETTINGS, {"settings": [setting("mode", "mine")]})
        await bob.post(METADATA, {"metadata": {"mode": "mine"}})
        await gateway.pool.execute(EARLIER_SETTING, 2, "mode", "", "of a gateway that is late")
        await gateway.pool.execute(EARLIER_METADATA, 1, None, None, '{"mode": "of a gateway that is late"}')
        await gateway.earlier_rows.carry_over()
        assert await settings_of(bob) == [setting("mode", "mine")]
        assert await bob.get(METADATA) == {"metadata": {"mode": "mine"}}


async def test_settings_that_are_reset_do_not_come_back_from_an_earlier_release(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        bob, gateway = await cluster.nobody.login("determined"), cluster.gateway
        await gateway.pool.execute(EARLIER_SETTING, 2, "mode", "", "dark")
        await bob.post(f"{SETTINGS}/reset")
        assert await settings_of(bob) == []
        await gateway.earlier_rows.carry_over()
        assert await settings_of(bob) == []


async def test_rows_of_an_earlier_release_wait_for_a_service_that_is_away(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        await submit(await cluster.nobody.login("determined"))
    async with running(postgres_dsn, log=cluster.log) as without:
        bob, gateway = await without.nobody.login("determined"), without.gateway
        await gateway.pool.execute(EARLIER_METADATA, 1, None, None, '{"dataset": 1}')
        with pytest.raises(Unavailable):
            await gateway.earlier_rows.carry_over()
        assert await bob.get(METADATA) == {"metadata": {"dataset": 1}}
        assert await told(without, "experiment-1", TrialMetadataChanged) == []
