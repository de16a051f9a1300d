"""The Grafana dashboard asks for metrics that there are. A test with a running cluster asks the same of its pages."""

from __future__ import annotations

import json

import pytest
from prometheus_client import generate_latest

import resolute.deploy.embedded  # noqa: F401  (every service, with the metrics that it registers)
from resolute.api.monitoring.series import State
from tests.integration.deploy import dashboard


@pytest.mark.parametrize(
    ("query", "metrics"),
    [
        ("up", set()),
        ('sum by (pool) (a_total{pool="x", kind=~"y.*"})', {"a_total"}),
        ("histogram_quantile(0.99, sum by (le, p) (rate(a_bucket[$__rate_interval])))", {"a_bucket"}),
        ("max(a) - on (x) group_left (y) max(b) or vector(0)", {"a", "b"}),
        ("rate(a[5m] offset 1h) > bool 3", {"a"}),
    ],
)
def test_the_metrics_in_a_query_are_found(query: str, metrics: set[str]) -> None:
    assert dashboard.names(query) == metrics


def test_every_metric_on_the_dashboard_is_one_that_a_service_registers() -> None:
    pages = (generate_latest() + State().text()).decode()
    asked = set(dashboard.asked_for())
    assert len(asked) > 15
    assert asked - dashboard.exported(pages) == set()


def test_the_watchdog_and_what_was_set_aside_are_on_it() -> None:
    asked = set(dashboard.asked_for())
    assert {"resolute_event_loop_longest_hold_seconds", "resolute_event_loop_hold_seconds_bucket"} <= asked
    assert {"resolute_events_aside", "resolute_events_set_aside_total", "resolute_unshown_events_total"} <= asked


def test_every_panel_has_a_place_of_its_own_and_says_what_it_shows() -> None:
    panels = json.loads(dashboard.FILE.read_text())["panels"]
    taken = [
        (x, y)
        for at in (panel["gridPos"] for panel in panels)
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(taken) == len({*taken})
    assert all(panel["title"] and panel["targets"] for panel in panels)
