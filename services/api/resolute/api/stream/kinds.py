"""The kinds of objects that live updates are about: their names on the wire, and what they are filtered by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from resolute.api import wire
from resolute.api.stream.ranges import Id


@dataclass(frozen=True)
class Kind:
    name: str
    """In `subscribe` and `known`: `projects`."""
    one: str
    """The key of a message about one object: `project`."""
    permission: str
    """What a caller has to hold to see an object of this kind."""
    facets: Mapping[str, str]
    """Lists that a subscription may have, and the column of each: an object matches that has one of the values."""
    numbered: bool = True
    """Whether ids are numbers."""
    numbers: frozenset[str] = frozenset()
    """Columns, other than the id, that are whole numbers."""
    documents: frozenset[str] = frozenset()
    """Columns that hold JSON."""
    further: Mapping[str, str] = field(default_factory=dict)
    """Columns that only the fan-out looks objects up by."""

    @property
    def deleted(self) -> str:
        """The key of the message about objects that are gone."""
        return f"{self.name}_deleted"

    @cached_property
    def lookups(self) -> Mapping[str, str]:
        """All that objects are looked up by, and the columns."""
        return {"id": "id", **self.facets, **self.further}

    def is_number(self, column: str) -> bool:
        return self.numbered if column == "id" else column in self.numbers


@dataclass(frozen=True)
class Row:
    """One object as the tables show it."""

    kind: Kind
    columns: Mapping[str, Any]

    @property
    def id(self) -> Id:
        found: Id = self.columns["id"]
        return found

    @property
    def workspace_id(self) -> int | None:
        found: int | None = self.columns["workspace_id"]
        return found

    def message(self, seq: int) -> str:
        """What clients are sent of it."""
        shown = {name: value for name, value in self.columns.items() if not name.startswith("_")}
        if self.kind is MODEL_VERSIONS:
            shown["workspace_id"] = str(shown["workspace_id"])  # clients of Determined take a text here
        return wire.dumps({self.kind.one: {**shown, "seq": seq}}).decode()


def row_of(kind: Kind, columns: Mapping[str, Any]) -> Row:
    """Of what Postgres answers: JSON comes as text."""
    read = {
        name: orjson.loads(value) if name in kind.documents and isinstance(value, str) else value
        for name, value in columns.items()
    }
    return Row(kind, read)


OF_WORKSPACE = frozenset({"workspace_id", "user_id"})

PROJECTS = Kind(
    name="projects",
    one="project",
    permission="project.view",
    facets={"workspace_ids": "workspace_id", "project_ids": "id"},
    numbers=OF_WORKSPACE,
    documents=frozenset({"notes"}),
)

MODELS = Kind(
    name="models",
    one="model",
    permission="model.view",
    facets={"workspace_ids": "workspace_id", "model_ids": "id", "user_ids": "user_id"},
    numbers=OF_WORKSPACE,
    documents=frozenset({"metadata"}),
)

MODEL_VERSIONS = Kind(
    name="modelversions",
    one="modelversion",
    permission="model.view",
    facets={"model_ids": "model_id", "model_version_ids": "id", "user_ids": "user_id"},
    further={"numbers": "_number"},
    numbers=OF_WORKSPACE | {"model_id"},
    documents=frozenset({"metadata"}),
)

EXPERIMENTS = Kind(
    name="experiments",
    one="experiment",
    permission="experiment.view",
    facets={
        "workspace_ids": "workspace_id",
        "project_ids": "project_id",
        "experiment_ids": "id",
        "user_ids": "user_id",
    },
    numbers=OF_WORKSPACE | {"project_id"},
)

TRIALS = Kind(
    name="trials",
    one="trial",
    permission="experiment.view",
    facets={
        "workspace_ids": "workspace_id",
        "project_ids": "project_id",
        "experiment_ids": "experiment_id",
        "trial_ids": "id",
    },
    numbers=OF_WORKSPACE | {"project_id", "experiment_id"},
    documents=frozenset({"hparams", "metadata"}),
)

CHECKPOINTS = Kind(
    name="checkpoints",
    one="checkpoint",
    permission="checkpoint.view",
    facets={
        "workspace_ids": "workspace_id",
        "experiment_ids": "experiment_id",
        "trial_ids": "trial_id",
        "checkpoint_ids": "id",
    },
    further={"projects": "_project_id"},
    numbered=False,
    numbers=OF_WORKSPACE | {"experiment_id", "trial_id", "_project_id"},
    documents=frozenset({"metadata"}),
)

TASKS = Kind(
    name="tasks",
    one="task",
    permission="task.view",
    facets={
        "workspace_ids": "workspace_id",
        "experiment_ids": "experiment_id",
        "task_ids": "id",
        "job_ids": "job_id",
        "task_types": "task_type",
        "resource_pools": "resource_pool",
    },
    further={"allocations": "allocation_id", "projects": "_project_id"},
    numbered=False,
    numbers=OF_WORKSPACE | {"experiment_id", "_project_id"},
)

AGENTS = Kind(
    name="agents",
    one="agent",
    permission="cluster.view",
    facets={"agent_ids": "id", "resource_pools": "resource_pool"},
    numbered=False,
)

KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (PROJECTS, MODELS, MODEL_VERSIONS, EXPERIMENTS, TRIALS, CHECKPOINTS, TASKS, AGENTS)
}
"""In the order in which a sync answers them."""
