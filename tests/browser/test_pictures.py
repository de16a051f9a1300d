"""The pictures of the README and of the guide: a team at work. `python docs/web_pictures.py` keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Cluster, Visitor, until
from tests.browser.test_every_page import settled

MODEL = '''"""Training as charts see it: losses that fall, with noise."""

import math
import random
import time

import determined as det

with det.core.init() as core:
    rate = det.get_cluster_info().trial.hparams["learning_rate"]
    pause_s = det.get_cluster_info().trial.hparams["pause_s"]
    noise = random.Random(rate)
    pace = 3 - abs(math.log10(rate) + 2.5)
    for step in range(1, 61):
        loss = 2.3 * math.exp(-pace * step / 40) + 0.08 / pace + noise.gauss(0, 0.02)
        core.train.report_training_metrics(step * 100, {"loss": loss + noise.gauss(0, 0.03)})
        core.train.report_validation_metrics(step * 100, {"loss": loss + 0.05})
        time.sleep(pause_s)
'''


def configured(name: str, *, trials: int, pause_s: float = 0.0, slots: int = 1, labels: tuple[str, ...] = ()) -> Any:
    rate = {"type": "log", "base": 10, "minval": -4, "maxval": -1}
    return {
        "name": name,
        "workspace": "Vision",
        "project": "Handwriting",
        "labels": list(labels),
        "entrypoint": "python3 train.py",
        "hyperparameters": {"learning_rate": rate, "pause_s": pause_s},
        "searcher": {"name": "random", "metric": "loss", "max_trials": trials, "max_concurrent_trials": 2},
        "resources": {"slots_per_trial": slots},
        "reproducibility": {"experiment_seed": 11},
        "max_restarts": 0,
    }


@pytest.fixture
def busy(cluster: Cluster, tmp_path: Path) -> Iterator[tuple[int, int]]:
    """A project with experiments in all states; its number, and that of a search which is over."""
    (tmp_path / "train.py").write_text(MODEL)
    made = cluster.as_admin("POST", "/api/v1/workspaces", {"name": "Vision"})["workspace"]["id"]
    project = cluster.as_admin("POST", f"/api/v1/workspaces/{made}/projects", {"name": "Handwriting"})["project"]["id"]
    baseline = configured("resnet18 baseline", trials=1, labels=("baseline",))
    broken = {**configured("with mixed precision", trials=1), "entrypoint": "echo no GPU has bfloat16; exit 1"}
    search = configured("learning rate, wide", trials=10, labels=("sweep",))
    over = [cluster.local.create(one, tmp_path) for one in (baseline, broken, search)]
    for experiment in over:
        cluster.local.ended(experiment)
    going = [
        cluster.local.create(configured("learning rate, fine", trials=6, pause_s=0.5, labels=("sweep",)), tmp_path),
        cluster.local.create(configured("two slots at once", trials=1, slots=2), tmp_path),
    ]
    yield int(project), over[-1]
    for experiment in going:
        cluster.local.det("experiment", "kill", str(experiment), check=False)
        cluster.local.ended(experiment)


def test_pictures_of_a_team_at_work(visitor: Visitor, busy: tuple[int, int]) -> None:
    project, search = busy
    page = visitor.page
    visitor.go(f"/det/projects/{project}")
    expect(page.get_by_role("row").filter(has_text="learning rate, fine")).to_contain_text("Running", timeout=60_000)
    expect(page.get_by_role("row").filter(has_text="two slots at once")).to_contain_text("Waits", timeout=60_000)
    visitor.picture("shown-project")
    visitor.go(f"/det/experiments/{search}")
    page.locator(".u-over").first.wait_for()
    settled(visitor)
    page.mouse.wheel(0, 190)
    until("it is scrolled", lambda: page.evaluate("scrollY") > 100)
    visitor.picture("shown-experiment")
    visitor.go("/det/clusters/queue")
    page.emulate_media(color_scheme="dark")
    expect(page.get_by_role("row").filter(has_text="two slots at once")).to_contain_text("Waits")
    visitor.picture("shown-queue")
    visitor.go(f"/det/compare?sel={search - 2}%2C{search}")
    page.locator(".u-over").first.wait_for()
    settled(visitor)
    visitor.picture("shown-comparison")
