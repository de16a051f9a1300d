"""Checkpoints that are versions of models stay, whatever asks for their deletion."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pytest

from resolute.checkpoint import registered
from resolute.checkpoint.decide import InUse
from resolute.checkpoint.registered import Registered, uses
from resolute.proto import streams
from resolute.proto.checkpoint import ApplyRetention, DeleteCheckpoints, DeleteExperimentCheckpoints
from resolute.proto.errors import Refused
from resolute.proto.experiment import ExperimentCreated, ExperimentEnded
from resolute.proto.message import Cause, Event
from resolute.proto.models import (
    ModelChanged,
    ModelCreated,
    ModelDeleted,
    ModelVersionDeleted,
    ModelVersionRegistered,
)
from tests.unit.checkpoint.test_store import A, B, Cluster

DIGITS = ModelCreated(1, "digits", 1, 2)
OF_A = ModelVersionRegistered(1, 1, 1, A, 2)
AGAIN = ModelVersionRegistered(1, 2, 2, A, 2)


def after(*events: Event) -> dict[str, InUse]:
    return dict(uses(reduce(registered.evolve, events, Registered())))


def test_a_checkpoint_is_in_use_as_long_as_one_version_is_of_it() -> None:
    assert after(DIGITS) == {}
    assert after(DIGITS, OF_A, AGAIN)[A].reason == "it is registered as version 1 of model 'digits'"
    renamed = after(DIGITS, OF_A, AGAIN, ModelVersionDeleted(1, 1), ModelChanged(1, {"name": "numbers"}))
    assert renamed[A].reason == "it is registered as version 2 of model 'numbers'"
    assert after(DIGITS, OF_A, AGAIN, ModelVersionDeleted(1, 1), ModelVersionDeleted(1, 2)) == {}
    assert after(DIGITS, OF_A, ModelDeleted(1)) == {}


@pytest.fixture
async def cluster(tmp_path: Path) -> Cluster:
    """With two checkpoints, of which the first is registered."""
    cluster = Cluster(tmp_path)
    await cluster.saved(A)
    await cluster.saved(B)
    await write(cluster, DIGITS, OF_A)
    return cluster


async def write(cluster: Cluster, *events: Event) -> None:
    version = len(await cluster.log.read_stream(streams.MODEL_DIRECTORY))
    cause = Cause(f"model-{version}")
    await cluster.log.append(streams.MODEL_DIRECTORY, events, expected_version=version, cause=cause)


@pytest.mark.parametrize("command", [DeleteCheckpoints(7, (B, A), "asked for"), DeleteExperimentCheckpoints(7)])
async def test_it_is_deleted_neither_on_request_nor_with_its_experiment(
    cluster: Cluster, command: DeleteCheckpoints | DeleteExperimentCheckpoints
) -> None:
    with pytest.raises(Refused) as refused:
        await cluster.ask(command)
    assert refused.value.message == (
        f"cannot delete checkpoint {A}: it is registered as version 1 of model 'digits'; delete that version first"
    )
    await cluster.catch_up()
    assert cluster.folder(A).exists(), "of several nothing is deleted where one must stay"
    assert cluster.folder(B).exists()
    await write(cluster, ModelVersionDeleted(1, 1))
    await cluster.ask(command)
    await cluster.catch_up()
    assert not cluster.folder(A).exists()


async def test_retention_keeps_it_beside_what_the_policy_keeps(cluster: Cluster) -> None:
    preview = await cluster.ask(ApplyRetention(7, 0, 0, 0, preview=True))
    assert preview.data == {"deleted": [B]}
    nothing = {"save_experiment_best": 0, "save_trial_best": 0, "save_trial_latest": 0}
    config = {"searcher": {"name": "single", "metric": "loss"}, "checkpoint_storage": {**cluster.storage, **nothing}}
    await cluster.tell(
        ExperimentCreated(7, "job", "name", config, "", 1, "ann", 1, 0), ExperimentEnded("COMPLETED", "")
    )
    await cluster.catch_up()
    assert cluster.folder(A).exists()
    assert not cluster.folder(B).exists()
