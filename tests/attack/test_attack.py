"""The short form of the attack: a real cluster, some thirty blows of one seed, and every promise checked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from tests.attack.blows import Kind, blows
from tests.attack.story import attack
from tests.integration.cluster.local import LocalCluster, local_cluster

SEED, BLOWS = 2, 25


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with local_cluster(tmp_path_factory.mktemp("attack"), separate=True, slots=2, agents=2) as cluster:
        yield cluster


def test_a_longer_attack_begins_with_the_blows_of_a_shorter_one() -> None:
    assert list(blows(SEED, 10)) == list(islice(blows(SEED, 300), 10))


def test_the_short_attack_has_every_kind_of_blow() -> None:
    assert {blow.kind for blow in blows(SEED, BLOWS)} == set(Kind)


@pytest.mark.timeout(1800)
def test_a_cluster_that_is_struck_all_the_time_loses_and_doubles_nothing(cluster: LocalCluster) -> None:
    outcome = attack(cluster, SEED, BLOWS)
    assert not outcome.faults, f"seed {SEED}: {outcome}\n{cluster.errors_of_services()}"
