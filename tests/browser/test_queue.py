"""The queue in the page: what waits is moved, and its priority or weight is changed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Cluster, Visitor, until
from tests.integration.cluster.searches import MODEL, stepwise


@pytest.fixture
def waiting(cluster: Cluster) -> Iterator[list[str]]:
    """The names of two experiments that wait for the slots of a third."""
    names = ["the one that holds", "waits first", "waits second"]
    made = []
    for name in names:
        made.append(cluster.local.create(stepwise(name, step_s=2.0, trials=2), MODEL))
    yield names[1:]
    for experiment in made:
        cluster.as_admin("POST", f"/api/v1/experiments/{experiment}/kill", {})


def order(page: Page) -> list[str]:
    return [row.split(" #")[0] for row in page.locator("tbody tr td:nth-child(2)").all_inner_texts()]


def test_what_waits_is_moved_and_changed(visitor: Visitor, cluster: Cluster, waiting: list[str]) -> None:
    page = visitor.page
    visitor.expected = ("400",)
    (pool, *_) = cluster.local.get("/api/v1/resource-pools")["resourcePools"]
    setting = "Weight" if pool["schedulerType"] == "SCHEDULER_TYPE_FAIR_SHARE" else "Priority"
    visitor.go("/det/clusters/queue")
    first, second = waiting
    page.get_by_role("link", name=second).wait_for()
    if setting == "Priority":
        page.get_by_role("button", name=f"Move {second} ahead of {first}").click()
        until("the second is before the first", lambda: order(page).index(second) < order(page).index(first))
        row = page.get_by_role("row")
        row.filter(has_text=first).drag_to(row.filter(has_text=second))
        until("it was dragged back", lambda: order(page).index(first) < order(page).index(second))
    page.get_by_role("button", name=f"Change the place of {second}").click()
    page.get_by_role("dialog").get_by_label(setting).fill("-1")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text(f"{setting}: expected")
    page.get_by_role("dialog").get_by_label(setting).fill("7")
    page.get_by_role("button", name="Save").click()
    visitor.sees(f"{second} is changed")
    cells = page.get_by_role("row").filter(has_text=second).get_by_role("cell")
    expect(cells.nth(7 if setting == "Weight" else 6)).to_have_text("7")
    visitor.picture("queue-changed")
