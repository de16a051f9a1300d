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
