from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.cluster.local import LocalCluster
from tests.integration.docker.hosts import Host, container_cluster

Site = tuple[LocalCluster, Host]


@pytest.fixture(scope="package")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A cluster whose one agent runs trials in containers that share the host's network."""
    with container_cluster(tmp_path_factory.mktemp("contained")) as site:
        yield site
