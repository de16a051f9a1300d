"""The messages that monitoring systems read. Metrics themselves are in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Mapping

from resolute.api.kernel.messages import Bare, Message, Request


class ProcessMetrics(Request):
    pass


class StateMetrics(Request):
    pass


class MetricsDiscovery(Request):
    pass


class TargetGroup(Message, wire_name="MetricsTargetGroup"):
    """Addresses that Prometheus asks for metrics, and the labels of all that they answer."""

    targets: tuple[str, ...]
    """`host:port`."""
    labels: Mapping[str, str]


class TargetGroups(Bare):
    value: tuple[TargetGroup, ...]
