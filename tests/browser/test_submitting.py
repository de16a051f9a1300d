"""Experiments from the page: new ones, forks of experiments and trials, continued ones; and the code they run."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Cluster, Visitor
from tests.integration.cluster.searches import MODEL

NEW = """name: from the page
entrypoint: python3 train.py
hyperparameters: {x: 1.5, steps: 40, step_s: 0}
searcher: {name: single, metric: loss}
max_restarts: 0
"""


def test_an_experiment_is_checked_and_created_with_a_folder(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    visitor.expected = ("400",)
    visitor.go("/det/experiments")
    page.get_by_role("link", name="New experiment").click()
    page.get_by_role("heading", name="New experiment").wait_for()
    page.get_by_label("Folder with the code").set_input_files(MODEL)
    visitor.sees("At most 95 MiB")
    configuration = page.get_by_label("Configuration", exact=True)
    configuration.fill(NEW + "resources: {slots_per_trial: many}\n")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("alert")).to_contain_text("resources.slots_per_trial")
    configuration.fill(NEW)
    page.get_by_role("button", name="Check").click()
    visitor.sees("This would be accepted. Nothing was started.")
    expect(page.get_by_label("The configuration as it would run")).to_contain_text("max_restarts: 0")
    visitor.picture("new-experiment-checked")
    page.get_by_role("button", name="Create experiment").click()
    page.get_by_role("heading", name="from the page").wait_for()
    experiment = int(page.url.rsplit("/", 1)[1])
    assert cluster.local.ended(experiment) == "STATE_COMPLETED"


def test_an_experiment_and_a_trial_are_forked_and_one_is_continued(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    visitor.go(f"/det/experiments/{cluster.completed}")
    page.get_by_role("link", name="Fork", exact=True).click()
    page.get_by_role("heading", name=f"Fork experiment {cluster.completed}").wait_for()
    configuration = page.get_by_label("Configuration", exact=True)
    configuration.fill(configuration.input_value().replace("a finished search", "a forked search"))
    page.get_by_label("Begin paused").check()
    page.get_by_role("button", name="Fork experiment").click()
    page.get_by_role("heading", name="a forked search").wait_for()
    page.get_by_role("link", name=f"experiment {cluster.completed}", exact=True).wait_for()
    visitor.sees("Paused")
    forked = int(page.url.rsplit("/", 1)[1])
    cluster.as_admin("POST", f"/api/v1/experiments/{forked}/kill", {})
    trial = cluster.local.get(f"/api/v1/experiments/{cluster.completed}/trials")["trials"][0]["id"]
    visitor.go(f"/det/experiments/{cluster.completed}/trials/{trial}")
    page.get_by_role("link", name="Fork", exact=True).click()
    page.get_by_role("button", name="Create experiment").click()
    page.get_by_role("heading", name=f"a finished search from trial {trial}").wait_for()
    assert cluster.local.ended(int(page.url.rsplit("/", 1)[1])) == "STATE_COMPLETED"
    visitor.go(f"/det/experiments/{cluster.failed}/continue")
    page.get_by_label("Changes of the configuration").fill("max_restarts: 1\n")
    page.get_by_role("button", name="Continue experiment").click()
    page.get_by_role("heading", name="a broken one").wait_for()
    page.get_by_role("link", name="Configuration").click()
    expect(page.get_by_label("Configuration", exact=True)).to_contain_text("max_restarts: 1")
    assert cluster.local.ended(cluster.failed) == "STATE_ERROR"


def test_the_code_of_an_experiment_is_read_and_downloaded(visitor: Visitor, cluster: Cluster) -> None:
    page = visitor.page
    visitor.go(f"/det/experiments/{cluster.completed}/code")
    page.get_by_role("navigation", name="Files").get_by_role("link", name="train.py").click()
    expect(page.get_by_label("Content of train.py")).to_contain_text("import")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download", exact=True).click()
    assert "train.py" in download.value.suggested_filename
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all").click()
    assert re.search(r"model_def\.tar\.gz$", download.value.suggested_filename)
