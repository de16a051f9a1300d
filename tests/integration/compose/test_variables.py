"""What may be set for a cluster in containers, and whom it reaches."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from resolute.api.settings import ApiSettings, load
from tests import needs
from tests.integration.cluster.local import ROOT

pytestmark = [needs.compose, pytest.mark.timeout(600)]


def services(**told: str) -> dict[str, Any]:
    """The compose file's services, when these variables are set and no others of ours."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("RESOLUTE_", "COMPOSE_"))}
    command = [*needs.COMPOSE, "-f", str(ROOT / "compose" / "compose.yaml"), "config"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env={**plain, **told})
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = yaml.safe_load(done.stdout)["services"]
    return found


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """How the gateway understands what it is told in its container."""

    def read(**told: str) -> ApiSettings:
        config = tmp_path / "config.yaml"
        config.write_text("database_url: postgresql://nowhere\n")
        for name, value in services(**told)["api"]["environment"].items():
            if value is not None:
                monkeypatch.setenv(name, value)
        monkeypatch.setenv("RESOLUTE_CONFIG", str(config))
        return load()

    return read


def test_pools_may_all_have_names_of_their_own(gateway: Any) -> None:
    settings = gateway(RESOLUTE_POOLS="gpu,cpu")
    assert (settings.pool_names, settings.default_pool, settings.aux_pool) == (("gpu", "cpu"), "gpu", "gpu")


def test_the_default_pools_may_be_named(gateway: Any) -> None:
    told = {"RESOLUTE_API_DEFAULT_POOL": "b", "RESOLUTE_API_DEFAULT_AUX_POOL": "c"}
    settings = gateway(RESOLUTE_POOLS="a,b,c", **told)
    assert (settings.default_pool, settings.aux_pool) == ("b", "c")


def test_the_scheduler_and_the_gateway_have_the_same_pools() -> None:
    found = services(RESOLUTE_POOLS="gpu,cpu")
    assert found["scheduler"]["environment"]["RESOLUTE_SCHEDULER_POOLS"] == "gpu,cpu"
    assert found["api"]["environment"]["RESOLUTE_API_POOLS"] == "gpu,cpu"
