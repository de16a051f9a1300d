"""The pages of an experiment and of a trial, comparisons, and the ways to them."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Cluster, Visitor, until
from tests.integration.cluster.searches import MODEL, stepwise


def test_charts_are_drawn_and_zoomed_and_the_zoom_is_in_the_address(visitor: Visitor, cluster: Cluster) -> None:
    visitor.go(f"/det/experiments/{cluster.completed}")
    visitor.page.locator("dl.facts strong").wait_for()  # the best trial, above the chart
    over = visitor.page.locator(".u-over").first
    over.wait_for()
    box = over.bounding_box()
    assert box is not None
    visitor.page.mouse.move(box["x"] + 80, box["y"] + 40)
    visitor.page.mouse.down()
    visitor.page.mouse.move(box["x"] + 240, box["y"] + 60, steps=4)
    visitor.page.mouse.up()
    until("the zoom is in the address", lambda: "zoom=" in visitor.page.url)
    visitor.page.get_by_role("button", name="Show all").click()
    until("the zoom is gone", lambda: "zoom=" not in visitor.page.url)


def test_a_log_is_followed_filtered_and_linked_to(visitor: Visitor, cluster: Cluster) -> None:
    visitor.go(f"/det/experiments/{cluster.failed}/trials")
    visitor.page.get_by_role("link", name="Logs").first.click()
    log = visitor.page.get_by_role("log")
    expect(log).to_contain_text("no such data")
    visitor.page.get_by_label("Lines with").fill("such d.t")
    visitor.page.get_by_label("Regular expression").check()
    visitor.page.get_by_role("button", name="Find").click()
    visitor.sees("1 line", exact=True)
    log.get_by_role("link").first.click()
    until("the line is in the address", lambda: "line=" in visitor.page.url)


def test_a_chosen_pair_is_compared(visitor: Visitor, cluster: Cluster) -> None:
    visitor.go("/det/experiments")
    for name in ("a finished search", "a broken one"):
        visitor.page.get_by_role("row").filter(has_text=name).get_by_role("checkbox").first.check()
    visitor.page.get_by_role("link", name="Compare").click()
    visitor.page.get_by_role("heading", name="Comparison of 2 experiments").wait_for()
    visitor.page.get_by_role("link", name="Configuration").click()
    expect(visitor.page.get_by_role("rowheader", name="entrypoint")).to_be_visible()
    visitor.picture("comparison")


def test_an_experiment_is_paused_and_the_pause_is_taken_back(visitor: Visitor, cluster: Cluster) -> None:
    created = cluster.local.create(stepwise("a patient one", step_s=0.5, trials=1), MODEL)
    visitor.go(f"/det/experiments/{created}")
    visitor.page.get_by_role("button", name="Pause").click()
    state = visitor.page.locator(".page-head .state")
    expect(state).to_have_text(re.compile("Paused"))
    visitor.page.get_by_role("button", name="Undo").click()
    expect(state).not_to_have_text(re.compile("Paused"))
    visitor.page.get_by_role("button", name="Kill").click()
    visitor.page.get_by_role("button", name="Kill 1 experiment").click()
    expect(state).to_have_text(re.compile("Stopped"))


def test_the_palette_finds_an_experiment_by_a_part_of_its_name(visitor: Visitor) -> None:
    visitor.page.keyboard.press("Control+k")
    visitor.page.get_by_role("combobox", name="Page, experiment or number").fill("finished")
    visitor.page.get_by_role("option", name="a finished search").first.wait_for()
    visitor.page.keyboard.press("Enter")
    visitor.page.get_by_role("heading", name="a finished search").wait_for()


def test_an_experiment_is_renamed_and_labelled(visitor: Visitor, cluster: Cluster) -> None:
    created = cluster.local.create(stepwise("to be renamed", step_s=0.0, trials=1), MODEL)
    visitor.go(f"/det/experiments/{created}")
    visitor.page.get_by_role("button", name="Edit").click()
    visitor.page.get_by_label("Name").fill("renamed")
    visitor.page.get_by_label("Labels").fill("first, second")
    visitor.page.get_by_role("button", name="Save").click()
    visitor.page.get_by_role("heading", name="renamed").wait_for()
    expect(visitor.page.locator(".page-head .label")).to_have_text(["first", "second"])
    cluster.local.ended(created)
