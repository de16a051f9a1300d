"""What nobody is told: the secrets that a configuration holds."""

from __future__ import annotations

import orjson

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
    async with running(postgres_dsn, checkpoint_storage=storage) as cluster:
        admin = await cluster.nobody.login("admin")
        config = (await admin.get("/api/v1/master/config"))["config"]
        assert config["checkpoint_storage"]["bucket"] == "models"
        assert "hunter" not in orjson.dumps(config).decode()
