"""Writes docs/reference/lifecycles.md: diagrams of the tables of transitions. `python docs/lifecycles.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from resolute.checkpoint import registry
from resolute.directory import (
    access_tokens,
    assignments,
    cluster_message,
    groups,
    logging_changes,
    models,
    policies,
    pool_bindings,
    projects,
    sessions,
    templates,
    user_settings,
    users,
    visits,
    workspaces,
)
from resolute.directory.webhooks import deliveries, registered
from resolute.scheduling import allocation
from resolute.scheduling.elastic import fleet
from resolute.search import experiment, trial
from resolute.tasks import task

PAGE = Path(__file__).parent / "reference" / "lifecycles.md"

LIVES: tuple[tuple[str, str, Any], ...] = (
    ("Experiments", "`libs/search/resolute/search/experiment.py`", experiment.FLOW),
    ("Trials", "`libs/search/resolute/search/trial.py`", trial.FLOW),
    ("Commands and other tasks that are no trials", "`services/tasks/resolute/tasks/task.py`", task.FLOW),
    ("Allocations", "`libs/scheduling/resolute/scheduling/allocation.py`", allocation.FLOW),
    ("Instances of elastic pools", "`libs/scheduling/resolute/scheduling/elastic/fleet.py`", fleet.FLOW),
    ("Checkpoints", "`services/checkpoint/resolute/checkpoint/registry.py`", registry.FLOW),
    ("Users", "`services/directory/resolute/directory/users.py`", users.FLOW),
    ("Settings of users", "`services/directory/resolute/directory/user_settings.py`", user_settings.FLOW),
    ("Sessions", "`services/directory/resolute/directory/sessions.py`", sessions.FLOW),
    ("Access tokens", "`services/directory/resolute/directory/access_tokens.py`", access_tokens.FLOW),
    ("Workspaces", "`services/directory/resolute/directory/workspaces.py`", workspaces.FLOW),
    ("Projects", "`services/directory/resolute/directory/projects.py`", projects.FLOW),
    ("Visits of a user", "`services/directory/resolute/directory/visits.py`", visits.FLOW),
    ("Models", "`services/directory/resolute/directory/models.py`", models.FLOW),
    ("Templates", "`services/directory/resolute/directory/templates.py`", templates.FLOW),
    (
        "Bindings of pools to workspaces",
        "`services/directory/resolute/directory/pool_bindings.py`",
        pool_bindings.FLOW,
    ),
    ("Configuration policies", "`services/directory/resolute/directory/policies.py`", policies.FLOW),
    ("Groups", "`services/directory/resolute/directory/groups.py`", groups.FLOW),
    ("Roles that are held", "`services/directory/resolute/directory/assignments.py`", assignments.FLOW),
    (
        "The cluster's message",
        "`services/directory/resolute/directory/cluster_message.py`",
        cluster_message.FLOW,
    ),
    ("The log of the gateways", "`services/directory/resolute/directory/logging_changes.py`", logging_changes.FLOW),
    ("Webhooks", "`services/directory/resolute/directory/webhooks/registered.py`", registered.FLOW),
    (
        "Deliveries of webhooks",
        "`services/directory/resolute/directory/webhooks/deliveries.py`",
        deliveries.FLOW,
    ),
)


def page() -> str:
    parts = [
        "# States of experiments, trials, allocations and the like",
        "",
        "Drawn by `python docs/lifecycles.py` from the tables in the code. If a table has no entry for an event in",
        "some state, that event cannot be appended in that state. Events that do not change the state are listed",
        "below each diagram.",
    ]
    for title, source, flow in LIVES:
        parts += ["", f"## {title}", "", f"The table is `FLOW` in {source}.", "", *_diagram(flow), *_loops(flow)]
    return "\n".join(parts) + "\n"


def _arrows(flow: Any) -> Iterable[tuple[str, str, str]]:
    """(from, to, label) of every arrow of the table."""
    for key, to in flow.items():
        state, event, *outcome = key
        label = event.__name__ + (f": {outcome[0]}" if outcome else "")
        yield state.name, to.name, label


def _diagram(flow: Any) -> list[str]:
    labels: dict[tuple[str, str], list[str]] = defaultdict(list)
    for start, end, label in _arrows(flow):
        if start != end:
            labels[start, end].append(label)
    lines = ["```mermaid", "stateDiagram-v2"]
    for (start, end), names in labels.items():
        begin = "[*]" if start == "ABSENT" else start
        lines.append(f"    {begin} --> {end}: {', '.join(names)}")
    return [*lines, "```"]


def _loops(flow: Any) -> list[str]:
    stays: dict[str, list[str]] = defaultdict(list)
    for start, end, label in _arrows(flow):
        if start == end:
            stays[label].append(start)
    if not stays:
        return []
    return ["", *(f"- {label} leaves {', '.join(states)} as it is" for label, states in stays.items())]


if __name__ == "__main__":
    PAGE.write_text(page())
