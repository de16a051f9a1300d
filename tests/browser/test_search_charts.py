"""How hyperparameters bear on a metric, and how busy the machines of a trial are."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.conftest import Cluster, Visitor, until
from tests.browser.test_every_page import violations
from tests.integration.cluster.searches import stepwise

INKED = """canvas => {
  const {width, height} = canvas;
  return canvas.getContext("2d").getImageData(0, 0, width, height).data.some((value, at) => at % 4 === 3 && value > 0);
}"""


def drawn(page: Page) -> bool:
    canvas = page.locator("canvas.drawing")
    return canvas.count() > 0 and bool(canvas.first.evaluate(INKED))


def test_parallel_coordinates_and_scatter_of_a_search(visitor: Visitor, cluster: Cluster, axe: str) -> None:
    page = visitor.page
    visitor.go(f"/det/experiments/{cluster.completed}/visualization/hp-parallel-coordinates")
    visitor.sees("2 trials, the best first")
    until("the lines are drawn", lambda: drawn(page))
    visitor.picture("hyperparameters-parallel")
    assert violations(visitor, axe) == []
    canvas = page.locator("canvas.drawing").first
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 60, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 60, box["y"] + 120, steps=4)
    page.mouse.up()
    visitor.sees("1 of 2 trials, the best first")
    page.get_by_role("button", name="Show all trials").click()
    visitor.sees("2 trials, the best first")
    page.get_by_role("button", name="Scatter").click()
    expect(page.get_by_role("heading", name="x", exact=True)).to_be_visible()
    until("the dots are drawn", lambda: drawn(page))
    assert "view=scatter" in page.url
    visitor.picture("hyperparameters-scatter")
    assert violations(visitor, axe) == []


def test_a_search_that_has_one_value_of_each_says_so(visitor: Visitor, cluster: Cluster) -> None:
    visitor.go(f"/det/experiments/{cluster.marked}/hyperparameters")
    visitor.sees("No hyperparameter differs")


MEASURED = """
import time
import determined as det

with det.core.init() as context:
    context.profiler.on(sampling_interval=1, samples_per_report=1)
    for step in range(1, 4):
        time.sleep(1)
        context.train.report_validation_metrics(step, {"loss": step})
"""


def test_the_profiler_shows_how_busy_machines_were(
    visitor: Visitor, cluster: Cluster, axe: str, tmp_path: Path
) -> None:
    page = visitor.page
    trial = cluster.local.get(f"/api/v1/experiments/{cluster.completed}/trials")["trials"][0]["id"]
    visitor.go(f"/det/experiments/{cluster.completed}/trials/{trial}/profiler")
    visitor.sees("No system metrics")
    (tmp_path / "train.py").write_text(MEASURED)
    measured = cluster.local.create(stepwise("a measured one", step_s=0.0, trials=1), tmp_path)
    cluster.local.ended(measured)
    trial = cluster.local.get(f"/api/v1/experiments/{measured}/trials")["trials"][0]["id"]
    visitor.go(f"/det/experiments/{measured}/trials/{trial}/profiler")
    page.get_by_role("heading", name="CPU (%)").wait_for()
    visitor.picture("profiler")
    assert violations(visitor, axe) == []
