"""What nobody is told: the secrets that a configuration holds."""

from __future__ import annotations

import asyncio
import getpass
import stat
from pathlib import Path

import orjson
import pytest

from resolute.api import secrets_cli
from resolute.api.agent_secrets import AgentSecrets
from resolute.api.experiments.submission_queries import SUBMISSIONS
from resolute.api.interactive.queries import QUERIES as INTERACTIVE
from resolute.config import ClusterDefaults, load_yaml, parse_experiment
from resolute.eventlog.postgres import PostgresEventLog
from resolute.proto.errors import Forbidden, InvalidConfig, NotFound
from resolute.proto.experiment import ExperimentCreated, ExperimentDeleted
from resolute.proto.message import Recorded
from resolute.proto.pool import OpenSecrets
from resolute.proto.secrets import SecretsForgotten, WrappingKeyRotated
from resolute.proto.streams import SECRETS_OF_CLUSTER
from resolute.service.sealing import Box
from tests.integration.api.running import running
from tests.integration.api.test_experiments import CONFIG, submit


async def test_no_answer_tells_the_secrets_of_a_configuration(postgres_dsn: str) -> None:
    secret = CONFIG + "environment: {registry_auth: {username: me, password: hunter2}}\n"
    async with running(postgres_dsn, services=True) as cluster:
        someone = await cluster.nobody.login("determined")
        answers = [
            await submit(someone, secret, activate=False),
            await someone.get("/api/v1/experiments/1"),
            await someone.get("/api/v1/experiments"),
        ]
        assert "hunter" not in orjson.dumps(answers).decode()
        assert "username: me" in answers[1]["experiment"]["originalConfig"]


async def test_not_even_an_administrator_is_told_the_keys_of_the_storage(postgres_dsn: str) -> None:
    storage = {"type": "s3", "bucket": "models", "access_key": "hunter4", "secret_key": "hunter5"}
    async with running(postgres_dsn) as cluster:
        # Of a kind that no cluster can be started with yet: what is shown of it must not wait for that.
        cluster.gateway.settings = cluster.gateway.settings.model_copy(update={"checkpoint_storage": storage})
        admin = await cluster.nobody.login("admin")
        config = (await admin.get("/api/v1/master/config"))["config"]
        assert config["checkpoint_storage"]["bucket"] == "models"
        assert "hunter" not in orjson.dumps(config).decode()


async def test_the_secrets_that_a_cluster_gives_its_tasks_are_sealed_with_each_submission_and_shown_to_nobody(
    postgres_dsn: str,
) -> None:
    login = {"username": "us", "password": "hunter2-cluster", "serveraddress": "images.example"}
    of_cluster = {"registry_auth": login, "environment_variables": ["COMMON=hunter2-common"]}
    of_pool = {"registry_auth": {**login, "password": "hunter2-pool"}, "environment_variables": ["OWN=hunter2-own"]}
    pools = [{"pool_name": "default", "task_container_defaults": of_pool}]
    async with running(postgres_dsn, services=True, pools=pools, task_container_defaults=of_cluster) as cluster:
        admin, owner = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        told = orjson.dumps([await admin.get(f"/api/v1/{path}") for path in ("master/config", "resource-pools")])
        assert b"hunter2" not in told
        assert b"images.example" in told, "what is no secret is shown"
        await submit(owner, CONFIG, activate=False)
        config = orjson.loads(
            await cluster.gateway.read.value("SELECT config FROM read_experiments.experiment_configs")
        )
        opened, _ = await cluster.gateway.vault.opened(config)
        assert opened["environment"]["registry_auth"]["password"] == "hunter2-pool"
        assert "hunter2" not in repr(config)
        assert "hunter2" not in repr(await cluster.log.read_all(0))


PLANTED = """name: planted
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 100}}
environment:
  registry_auth: {username: me, password: hunter2-registry}
  environment_variables: [TOKEN=hunter2-token]   # of the store
data: {secrets: {key: hunter2-data}}
"""
MASKED = "********"


async def test_what_leaves_the_gateway_is_sealed_and_each_is_shown_what_is_theirs(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        admin, owner = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        await admin.post("/api/v1/users", {"user": {"username": "eve", "active": True}, "password": "s"})
        eve = await cluster.nobody.login("eve", "s")
        made = await submit(owner, PLANTED, activate=False)
        assert "hunter2" not in repr(await cluster.log.read_all(0))
        rows = await cluster.gateway.read.rows(
            "SELECT config::text, original_config FROM read_experiments.experiment_configs"
        )
        assert "hunter2" not in repr([tuple(row) for row in rows])
        for client, token in ((owner, "hunter2-token"), (admin, "hunter2-token"), (eve, MASKED)):
            shown = await client.get("/api/v1/experiments/1")
            assert shown["config"]["environment"]["environment_variables"]["cpu"] == [f"TOKEN={token}"]
            assert f"TOKEN={token}" in shown["experiment"]["originalConfig"]
            assert "# of the store" in shown["experiment"]["originalConfig"]
            assert shown["config"]["environment"]["registry_auth"] == {"username": "me", "password": MASKED}
            assert shown["config"]["data"]["secrets"] == {"key": MASKED}
            assert "hunter2" not in orjson.dumps(await client.get("/api/v1/experiments")).decode()
        assert made["config"]["environment"]["environment_variables"]["cpu"] == ["TOKEN=hunter2-token"]


async def test_a_fork_carries_the_secrets_of_its_owner_and_of_nobody_else(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        admin, owner = await cluster.nobody.login("admin"), await cluster.nobody.login("determined")
        await submit(owner, PLANTED, activate=False)
        masked = PLANTED
        for secret in ("hunter2-registry", "hunter2-token", "hunter2-data"):
            masked = masked.replace(secret, f'"{MASKED}"' if "token" not in secret else MASKED)
        await submit(owner, masked, activate=False, parentId=1)
        config = orjson.loads(
            await cluster.gateway.read.value(
                "SELECT config FROM read_experiments.experiment_configs WHERE experiment_id = 2"
            )
        )
        opened, keys = await cluster.gateway.vault.opened(config)
        assert opened["environment"]["registry_auth"]["password"] == "hunter2-registry"
        assert opened["data"]["secrets"] == {"key": "hunter2-data"}
        first = await cluster.gateway.read.value(
            "SELECT config FROM read_experiments.experiment_configs WHERE experiment_id = 1"
        )
        assert not any(key in first for key in keys.known), "each experiment has a key of its own"
        body = {"config": masked, "parentId": 1, "modelDefinition": [], "activate": False}
        refused = await admin.call("POST", "/api/v1/experiments", body)
        assert refused.status == 400
        assert refused.error.startswith(f"data.secrets.key: found {MASKED}")


async def test_continuing_keeps_the_secrets_and_takes_new_ones_sealed(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        owner = await cluster.nobody.login("determined")
        await submit(owner, PLANTED, activate=False)
        await owner.post("/api/v1/experiments/1/cancel")
        changes = f"data: {{secrets: {{key: '{MASKED}', more: hunter2-more}}}}\nmax_restarts: 3"
        await owner.post("/api/v1/experiments/continue", {"id": 1, "overrideConfig": changes})
        assert "hunter2" not in repr(await cluster.log.read_all(0))
        config = orjson.loads(
            await cluster.gateway.read.value("SELECT config FROM read_experiments.experiment_configs")
        )
        opened, _ = await cluster.gateway.vault.opened(config)
        assert opened["data"]["secrets"] == {"key": "hunter2-data", "more": "hunter2-more"}
        assert opened["environment"]["environment_variables"]["cpu"] == ["TOKEN=hunter2-token"]
        assert opened["max_restarts"] == 3


async def test_what_looks_sealed_in_a_submission_is_no_more_than_text(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        owner = await cluster.nobody.login("determined")
        await submit(owner, PLANTED, activate=False)
        config = orjson.loads(
            await cluster.gateway.read.value("SELECT config FROM read_experiments.experiment_configs")
        )
        stolen = config["data"]["secrets"]["key"]
        forged = CONFIG + f"environment: {{environment_variables: ['STOLEN={stolen}']}}\n"
        shown = await submit(owner, forged, activate=False)
        assert shown["config"]["environment"]["environment_variables"]["cpu"] == [f"STOLEN={stolen}"]


async def test_the_key_of_what_was_refused_or_deleted_is_gone(postgres_dsn: str) -> None:
    async with running(postgres_dsn, services=True) as cluster:
        owner = await cluster.nobody.login("determined")
        await submit(owner, PLANTED, activate=False)
        refused = await owner.call("POST", "/api/v1/experiments/continue", {"id": 1, "overrideConfig": ""})
        assert refused.status == 409, "it has not ended"
        count = "SELECT count(*) FROM api.data_keys WHERE wrapped IS NOT NULL"
        assert await cluster.gateway.pool.fetchval(count) == 1
        await cluster.tell("experiment-1", ExperimentDeleted())
        await cluster.gateway.forget_deleted((await cluster.log.read_stream("experiment-1"))[-1])
        assert await cluster.gateway.pool.fetchval(count) == 0


async def test_configurations_from_before_there_was_sealing_are_masked_as_well(postgres_dsn: str) -> None:
    async with running(postgres_dsn) as cluster:
        config = parse_experiment(load_yaml(PLANTED), cluster_defaults()).merged
        created = ExperimentCreated(1, "job", "planted", config, PLANTED, 2, "determined", 1, 7)
        await cluster.tell("experiment-1", created)
        owner, admin = await cluster.nobody.login("determined"), await cluster.nobody.login("admin")
        listed = orjson.dumps(await owner.get("/api/v1/experiments")).decode()
        assert "hunter2" not in listed
        assert "# of the store" in listed
        shown = (await admin.get("/api/v1/experiments/1"))["config"]
        assert shown["environment"]["environment_variables"]["cpu"] == ["TOKEN=hunter2-token"]


def cluster_defaults() -> ClusterDefaults:
    return ClusterDefaults(checkpoint_storage={"type": "shared_fs", "host_path": "/tmp"})


async def facts_of_keys(dsn: str) -> list[Recorded]:
    """What the log of the database at `dsn` says of them. The first call makes the log."""
    log = await PostgresEventLog.open(dsn)
    try:
        return await log.read_stream(SECRETS_OF_CLUSTER)
    finally:
        await log.close()


async def test_keys_are_rotated_under_a_running_gateway_and_forgotten_for_good(
    postgres_dsn: str, tmp_path: Path
) -> None:
    keys = tmp_path / "keys"
    async with running(postgres_dsn, services=True, sealing_keys=keys) as cluster:
        owner = await cluster.nobody.login("determined")
        assert stat.S_IMODE(keys.stat().st_mode) == 0o600
        await submit(owner, PLANTED, activate=False)
        former = keys.read_text()
        said: list[str] = []
        assert await facts_of_keys(postgres_dsn) == []
        await asyncio.to_thread(secrets_cli.rotate, postgres_dsn, keys, b"", say=said.append)
        assert said[0].startswith("1 keys are wrapped by ")
        [rotated] = await facts_of_keys(postgres_dsn)
        current = keys.read_text().split()[0]
        assert rotated.event == WrappingKeyRotated(current, (former.split()[0],), 1)
        assert rotated.cause.actor == f"{getpass.getuser()} of the host"
        assert keys.read_text() != former
        assert "TOKEN=hunter2-token" in repr((await owner.get("/api/v1/experiments/1"))["config"])
        await submit(owner, PLANTED, activate=False)
        keys.write_text(former)
        assert (await owner.call("GET", "/api/v1/experiments/1")).status == 503, "the former key opens nothing"


async def test_secrets_are_forgotten_by_their_owner_and_everything_else_stays(
    postgres_dsn: str, tmp_path: Path
) -> None:
    async with running(postgres_dsn, services=True, sealing_keys=tmp_path / "keys") as cluster:
        owner = await cluster.nobody.login("determined")
        await submit(owner, PLANTED, activate=False)
        said: list[str] = []
        assert await facts_of_keys(postgres_dsn) == []
        with pytest.raises(NotFound, match="user-7"):
            await asyncio.to_thread(secrets_cli.forget, postgres_dsn, "user-7")
        with pytest.raises(InvalidConfig, match="expected experiment-NUMBER"):
            await asyncio.to_thread(secrets_cli.forget, postgres_dsn, "trial-1")
        await asyncio.to_thread(secrets_cli.forget, postgres_dsn, "user-2", say=said.append)
        assert said[0].startswith("1 keys forgotten: trials of user-2 cannot start any more")
        [forgotten] = await facts_of_keys(postgres_dsn)
        assert forgotten.event == SecretsForgotten("user-2", 1), "and nothing of what was refused"
        assert forgotten.cause.actor == f"{getpass.getuser()} of the host"
        shown = await owner.get("/api/v1/experiments/1")
        assert shown["config"]["environment"]["environment_variables"]["cpu"] == [f"TOKEN={MASKED}"]
        assert shown["experiment"]["name"] == "planted"
        gateway = cluster.gateway
        queries = gateway.ports.of(SUBMISSIONS)
        secrets = AgentSecrets(gateway.read, queries, gateway.ports.of(INTERACTIVE), gateway.task_tokens, gateway.vault)
        with pytest.raises(Forbidden):
            await secrets.open(OpenSecrets("rt1.forged.token.x", Box().public))
