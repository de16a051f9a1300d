"""The model registry in the page: a checkpoint becomes a version, with notes and metadata."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import MARKUP, Cluster, Visitor


def test_a_checkpoint_becomes_a_version_that_is_described_and_found(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    page.get_by_role("link", name="Models").click()
    page.get_by_role("button", name="New model").click()
    page.get_by_label("Name", exact=True).fill("handwriting")
    page.get_by_role("dialog").get_by_label("Labels").fill("vision, good")
    page.get_by_label("Metadata").fill("{no json")
    page.get_by_role("button", name="Create model").click()
    expect(page.get_by_role("alert")).to_contain_text("Metadata: this is not JSON")
    page.get_by_label("Metadata").fill('{"data": "2026-01"}')
    page.get_by_role("button", name="Create model").click()
    page.get_by_role("heading", name="handwriting").wait_for()
    visitor.sees("2026-01")
    page.get_by_role("button", name="New version").click()
    page.get_by_label("Checkpoint").fill(cluster.checkpoint)
    page.get_by_label("Name", exact=True).fill("first")
    page.get_by_role("dialog").get_by_label("Notes").fill(MARKUP)
    page.get_by_role("button", name="Register version").click()
    page.get_by_role("region", name="Versions").get_by_role("link", name="1", exact=True).click()
    page.get_by_role("heading", name="first Version 1").wait_for()
    visitor.sees(MARKUP)
    visitor.sees(cluster.checkpoint)
    page.get_by_role("link", name=f"experiment {cluster.completed}, trial").wait_for()
    page.get_by_role("button", name="Edit").click()
    page.get_by_label("Comment").fill("the best so far")
    page.get_by_role("button", name="Save").click()
    visitor.sees("the best so far")
    visitor.go("/det/models?label=good")
    page.get_by_role("link", name="handwriting").wait_for()
    expect(page.get_by_role("link", name="kept")).to_have_count(0)


def test_a_model_is_archived_and_deleted(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    cluster.local.det("model", "create", "a passing one")
    visitor.go("/det/models")
    page.get_by_role("link", name="a passing one").click()
    page.get_by_role("button", name="Archive", exact=True).click()
    page.get_by_role("button", name="Unarchive", exact=True).wait_for()
    expect(page.get_by_role("button", name="New version")).to_have_count(0)
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete model").click()
    page.get_by_role("heading", name="Models").wait_for()
    expect(page.get_by_role("link", name="a passing one")).to_have_count(0)
