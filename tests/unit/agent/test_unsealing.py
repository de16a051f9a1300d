"""An agent opens the secrets of a task as the last thing before it starts, and keeps none of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from resolute.agent.unsealing import sealed_in, with_secrets
from resolute.bus import subjects
from resolute.proto.errors import Refused, ResoluteError, Unavailable
from resolute.proto.pool import AgentOrders, OpenSecrets, SecretsOpened, StartTask, StopTask
from resolute.service.sealing import DataKey, boxed, seal
from tests.unit.agent.test_agent import Scene, scene, start

KEY = DataKey.fresh()
TOKEN, DATA = seal(KEY, "environment.environment_variables.TOKEN", "hunter2"), seal(KEY, "data.secrets.n", 7)
BEHIND = {TOKEN: "hunter2", DATA: 7}


def ordered() -> StartTask:
    order = start("r1", 0)
    config = {"environment": {"environment_variables": {"cpu": [f"TOKEN={TOKEN}"]}}, "data": {"secrets": {"n": DATA}}}
    return replace(order, spec=replace(order.spec, config=config, environment={"TOKEN": TOKEN}))


async def gateway(s: Scene, error: list[ResoluteError], asked: list[OpenSecrets]) -> None:
    """Answers with what stands behind the sealed values, after each of `error` was raised once."""

    async def answer(question: OpenSecrets) -> SecretsOpened:
        asked.append(question)
        if error:
            raise error[0]
        return SecretsOpened(*boxed(question.public_key, BEHIND, question.token))

    await s.bus.listen(subjects.agent("a1", "secrets"), OpenSecrets, answer)


def anything_says(folder: Path, text: bytes) -> bool:
    return any(text in file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_sealed_values_are_found_and_replaced_wherever_they_stand() -> None:
    looks_sealed = seal(DataKey.fresh(), "x", "y")
    document = {"a": [f"TOKEN={TOKEN}", "B=1"], "n": DATA, "text": looks_sealed, "k": 1}
    assert sealed_in(document)
    assert not sealed_in({"a": ["TOKEN=hunter2"], "n": None})
    assert with_secrets(document, BEHIND) == {"a": ["TOKEN=hunter2", "B=1"], "n": 7, "text": looks_sealed, "k": 1}


async def test_a_task_starts_with_its_secrets_and_the_agent_keeps_none(tmp_path: Path) -> None:
    asked: list[OpenSecrets] = []
    started: list[Mapping[str, str]] = []
    async with scene(tmp_path) as s:
        await gateway(s, [], asked)
        pretend = s.runtime.start

        async def note(launch: object) -> None:
            started.append(launch.environment)  # type: ignore[attr-defined]
            await pretend(launch)  # type: ignore[arg-type]

        s.runtime.start = note  # type: ignore[method-assign]
        await s.order(AgentOrders(start=(ordered(),)))
        await s.until(lambda: s.reports == [("r1", "started", None)])
        assert started[0]["TOKEN"] == "hunter2"
        assert json.loads(started[0]["DET_EXPERIMENT_CONFIG"])["data"]["secrets"] == {"n": 7}
        assert asked[0].token == "token"
        assert not anything_says(tmp_path, b"hunter2")
        await s.order(AgentOrders(start=(start("r2", 1),)))
        await s.until(lambda: len(s.reports) == 2)
        assert len(asked) == 1, "a task without secrets asks nobody"


async def test_a_task_whose_secrets_were_forgotten_is_hopeless(tmp_path: Path) -> None:
    async with scene(tmp_path) as s:
        await gateway(s, [Refused("the secrets of experiment 7 were forgotten")], [])
        await s.order(AgentOrders(start=(ordered(),)))
        await s.until(lambda: s.reports == [("r1", "exited", 125)])
        assert (s.hopeless, s.reasons) == ([True], ["the secrets of experiment 7 were forgotten"])


async def test_a_task_waits_for_a_gateway_that_is_away_and_can_be_stopped_meanwhile(tmp_path: Path) -> None:
    errors: list[ResoluteError] = [Unavailable("away")]
    asked: list[OpenSecrets] = []
    async with scene(tmp_path) as s:
        await gateway(s, errors, asked)
        await s.order(AgentOrders(start=(ordered(),)))
        await s.until(lambda: len(asked) >= 2)
        await s.order(AgentOrders(stop=(StopTask("r1", "nobody wants it"),)))
        await s.until(lambda: s.reports == [("r1", "exited", 125)])
        errors.clear()
        other = ordered()
        order = replace(other, placement=replace(other.placement, resources_id="r2"))
        await s.order(AgentOrders(start=(order,)))
        await s.until(lambda: s.reports[1:] == [("r2", "started", None)])
