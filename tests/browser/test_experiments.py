"""Experiments in the page: what there is, live, and text that stays text."""

from __future__ import annotations

from urllib.parse import quote

from playwright.sync_api import expect

from tests.browser.conftest import MARKUP, Cluster, Visitor
from tests.integration.cluster.searches import MODEL, stepwise


def test_home_shows_what_of_mine_ended_and_what_failed(visitor: Visitor) -> None:
    visitor.page.get_by_role("heading", name="Failed lately").wait_for()
    visitor.page.get_by_role("link", name="a broken one").wait_for()
    visitor.page.get_by_role("link", name="a finished search").wait_for()


def test_a_new_experiment_appears_and_ends_while_somebody_looks(visitor: Visitor, cluster: Cluster) -> None:
    visitor.go("/det/experiments")
    visitor.page.get_by_role("link", name="a finished search").wait_for()
    created = cluster.local.create(stepwise("seen at once", step_s=0.0, trials=1), MODEL)
    row = visitor.page.get_by_role("row").filter(has_text="seen at once")
    expect(row).to_be_visible(timeout=30_000)
    expect(row).to_contain_text("Completed", timeout=120_000)
    assert cluster.local.ended(created) == "STATE_COMPLETED"


def test_a_filter_is_in_the_address_and_the_address_shows_the_same(visitor: Visitor) -> None:
    visitor.go("/det/experiments")
    field = visitor.page.get_by_role("searchbox")
    field.fill("state = ERROR")
    field.press("Enter")
    rows = visitor.page.get_by_role("row")
    expect(rows.filter(has_text="a broken one")).to_be_visible()
    expect(rows.filter(has_text="a finished search")).to_have_count(0)
    address = visitor.page.url
    assert "ERROR" in address
    visitor.page.goto(address)
    expect(rows.filter(has_text="a broken one")).to_be_visible()
    expect(rows.filter(has_text="a finished search")).to_have_count(0)


def test_names_with_markup_are_shown_as_they_are(visitor: Visitor) -> None:
    visitor.go("/det/experiments")
    visitor.page.get_by_role("link", name=MARKUP).wait_for()
    assert visitor.page.title() != "1"
    assert visitor.page.locator("img[src=x]").count() == 0
    visitor.picture("names-with-markup")


def test_a_search_for_what_is_not_there_says_so(visitor: Visitor) -> None:
    visitor.go(f"/det/experiments?filter={quote('name = nothing-of-this-name')}")
    field = visitor.page.get_by_role("searchbox")
    field.fill("nothing-of-this-name")
    field.press("Enter")
    visitor.sees("0 match", exact=False)
