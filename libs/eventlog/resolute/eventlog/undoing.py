"""What one request changed, what it was before, and whether it can be put back: read from the log, and nothing else.

Each event that people cause by editing gives a new value to a property of a thing: `archived` of experiment 7 became
true. To put it back is to give the property the value that it had before the request. A property that somebody has
changed since is left alone, and so is everything of a thing that was deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from resolute.eventlog.formatting import instant
from resolute.eventlog.why import Fact
from resolute.proto.streams import key_of

REQUEST_PREFIX = "req-"
"""How the causes begin that gateways give to requests of people and programs."""

RUNS, THERE, POLICIES = "runs", "there", "policies"
"""Properties that others do not explain: whether an experiment is active (False: paused; None: it has ended), whether
a thing exists, and the configuration policies of a workspace, None for none."""


class Key(NamedTuple):
    """A property of a thing."""

    kind: str
    """Such as `experiment`, `run`, `template`."""
    thing: str
    """Its id within its kind."""
    property: str


Values = Mapping[Key, Any]


@dataclass(frozen=True, slots=True)
class Undoing:
    """One property that a request changed."""

    key: Key
    now: Any
    """As the request left it."""
    before: Any
    """As it was before the request; meaningless with an obstacle."""
    fact: Fact
    """The event that changed it."""
    obstacle: str = ""
    """Why it is not put back; empty where it can be."""


@dataclass(frozen=True, slots=True)
class Plan:
    request: str
    actor: str
    undoings: tuple[Undoing, ...]
    """The newest change first: they are put back in this order."""
    left: tuple[Fact, ...]
    """What the request did besides, which cannot be put back."""
    values: Values = field(default_factory=dict)
    """All properties of the things concerned, as they are now."""


def streams_of(request: Iterable[Fact]) -> tuple[str, ...]:
    """The streams that `plan` needs, whole, for the events of a request."""
    return tuple(dict.fromkeys(fact.row.stream for fact in request if _is_direct(fact)))


def plan(request: Sequence[Fact], history: Iterable[Fact]) -> Plan:
    """`request`: the events of one request, in the order of the log. `history`: all events of the streams that
    `streams_of` names, each stream in its order."""
    direct = [fact for fact in request if _is_direct(fact)]
    mine = {fact.position for fact in _changes_among(direct)}
    before: dict[Key, Any] = {}
    now: dict[Key, Any] = {}
    latest: dict[Key, Fact] = {}
    changed: dict[Key, Fact] = {}
    for fact in history:
        own = fact.position in mine
        for key, value in values_of(fact):
            if own:
                before.setdefault(key, now.get(key, _DEFAULTS.get(key.property, _UNKNOWN)))
                changed[key] = fact
            now[key], latest[key] = value, fact
    made_or_removed = {key for key in changed if key.property == THERE}
    whole = (item for item in changed.items() if item[0] in made_or_removed or not _part_of(item[0], made_or_removed))
    found = sorted(whole, key=lambda item: item[1].position, reverse=True)
    undoings = tuple(
        Undoing(key, _value_at(key, fact), before[key], fact, _obstacle(key, before[key], latest, now, fact, mine))
        for key, fact in found
    )
    left = tuple(fact for fact in direct if fact.position not in mine)
    return Plan(
        direct[0].row.correlation_id if direct else "", direct[0].row.actor if direct else "", undoings, left, now
    )


def requests_in(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """The changes that can be put back, of each request that made any, by the id of the request. `facts`: events of
    the types of `LISTED`, in the order of the log."""
    found: dict[str, list[Fact]] = {}
    for fact in facts:
        if _is_direct(fact) and fact.row.correlation_id.startswith(REQUEST_PREFIX):
            found.setdefault(fact.row.correlation_id, []).append(fact)
    changes = {request: _changes_among(direct) for request, direct in found.items()}
    return {request: made for request, made in changes.items() if made}


def values_of(fact: Fact) -> Iterator[tuple[Key, Any]]:
    """The properties that an event gives a value to. Releases that recorded other fields are read as far as they go."""
    read = _READERS.get(fact.type)
    if read is not None:
        kind, thing, values = read(fact)
        for name, value in values.items():
            yield Key(kind, str(thing), name), value


_UNKNOWN = object()
_DEFAULTS: Mapping[str, Any] = {THERE: False, POLICIES: None}
"""The values of properties before the first event that gives one."""


def _changes_among(direct: Iterable[Fact]) -> list[Fact]:
    """Not what was done to a thing by the request that made the thing: that is part of making it."""
    made: set[tuple[str, str]] = set()
    changes: list[Fact] = []
    for fact in direct:
        things = {(key.kind, key.thing) for key, _ in values_of(fact)}
        if fact.type in _MAKING:
            made |= things
        elif fact.type in CHANGES and not things & made:
            changes.append(fact)
    return changes


def _is_direct(fact: Fact) -> bool:
    """Whether the event was decided for the request itself, not by a service that reacted to an event of it."""
    return fact.row.caused_by.partition("/")[0] == fact.row.correlation_id


def _part_of(key: Key, things: set[Key]) -> bool:
    return key._replace(property=THERE) in things


def _value_at(key: Key, fact: Fact) -> Any:
    return dict(values_of(fact))[key]


def _obstacle(key: Key, before: Any, latest: Mapping[Key, Fact], now: Values, changed: Fact, mine: set[int]) -> str:
    there = key._replace(property=THERE)
    if key != there and now.get(there) is False:
        return "it has been deleted"
    if key.property == RUNS and now.get(key) is None:
        return "it has ended"
    last = latest[key]
    if last.position not in mine:
        return f"{last.row.actor} has changed it since, at {instant(last.row.recorded_at)}"
    if before is _UNKNOWN:
        return "the log does not say what it was before"
    if before == now[key]:
        return "it is as it was before"
    return ""


# ---------------------------------------------------------------- which event gives which property a value

Read = Callable[[Fact], tuple[str, Any, Mapping[str, Any]]]


def _experiment(**values: Any) -> Read:
    return lambda fact: ("experiment", key_of(fact.row.stream), values)


def _experiment_created(fact: Fact) -> tuple[str, Any, Mapping[str, Any]]:
    config = fact.data["config"]
    resources = config.get("resources") or {}
    return (
        "experiment",
        fact.data["experiment_id"],
        {
            THERE: True,
            "archived": False,
            RUNS: False,
            "project": fact.data["project_id"],
            "name": fact.data["name"],
            "description": config.get("description") or "",
            "labels": config.get("labels") or [],
            "notes": "",
            **{name: resources.get(name) for name in ("priority", "weight", "max_slots")},
        },
    )


def _experiment_edited(fact: Fact) -> tuple[str, Any, Mapping[str, Any]]:
    return "experiment", key_of(fact.row.stream), fact.data["changes"]


def _of(kind: str, id_field: str, **values: Any) -> Read:
    return lambda fact: (kind, fact.data[id_field], values)


def _taking(kind: str, id_field: str, fields: Mapping[str, str], **values: Any) -> Read:
    """Properties that are fields of the event: property → field."""
    return lambda fact: (
        kind,
        fact.data[id_field],
        {**values, **{name: fact.data[source] for name, source in fields.items() if source in fact.data}},
    )


def _changes(kind: str, id_field: str) -> Read:
    return lambda fact: (kind, fact.data[id_field], fact.data["changes"])


def _version(fact: Fact) -> str:
    return f"{fact.data['model_id']}/{fact.data['version']}"


def _policies(fact: Fact) -> tuple[str, Any, Mapping[str, Any]]:
    text = {name: fact.data[name] for name in ("invariant_config", "constraints") if fact.data.get(name)}
    value = text if fact.type == "ConfigPoliciesSet" else None
    return "policies", f"{fact.data['workspace_id']}/{fact.data['workload']}", {POLICIES: value}


_SAME = {name: name for name in ("name", "description", "labels", "metadata", "notes", "comment", "workspace_id")}

_BASE: Mapping[str, Read] = {
    "ExperimentCreated": _experiment_created,
    "ExperimentContinued": _experiment(runs=True),
    "ExperimentStopping": _experiment(runs=None),
    "ExperimentEnded": _experiment(runs=None),
    "ExperimentDeletionRequested": _experiment(there=False),
    "TrialCreated": _of("run", "trial_id", archived=False),
    "WorkspaceCreated": _taking("workspace", "workspace_id", {"name": "name"}, archived=False, there=True),
    "WorkspaceDeletionRequested": _of("workspace", "workspace_id", there=False),
    "ProjectCreated": _taking(
        "project", "project_id", {**_SAME, "workspace": "workspace_id"}, archived=False, there=True, notes=[]
    ),
    "ProjectDeletionRequested": _of("project", "project_id", there=False),
    "ModelCreated": _taking("model", "model_id", _SAME, archived=False, there=True),
    "ModelDeleted": _of("model", "model_id", there=False),
    "ModelVersionRegistered": lambda fact: (
        "model version",
        _version(fact),
        {THERE: True, **{name: fact.data.get(name) for name in _SAME if name in fact.data}},
    ),
    "ModelVersionDeleted": lambda fact: ("model version", _version(fact), {THERE: False}),
    "TaskCreated": _taking("task", "task_id", {"priority": "priority", "kind": "kind"}, there=True),
    "TaskEnded": lambda fact: ("task", key_of(fact.row.stream), {THERE: False}),
}
"""Events that say how a thing began and that it is gone. Nothing here is put back."""

CHANGES: Mapping[str, Read] = {
    "ExperimentArchived": _experiment(archived=True),
    "ExperimentUnarchived": _experiment(archived=False),
    "ExperimentMoved": lambda fact: (
        "experiment",
        key_of(fact.row.stream),
        {"project": fact.data["project_id"]},
    ),
    "ExperimentEdited": _experiment_edited,
    "ExperimentPaused": _experiment(runs=False),
    "ExperimentActivated": _experiment(runs=True),
    "TrialArchived": _of("run", "trial_id", archived=True),
    "TrialUnarchived": _of("run", "trial_id", archived=False),
    "WorkspaceArchived": _of("workspace", "workspace_id", archived=True),
    "WorkspaceUnarchived": _of("workspace", "workspace_id", archived=False),
    "WorkspaceChanged": _changes("workspace", "workspace_id"),
    "ProjectArchived": _of("project", "project_id", archived=True),
    "ProjectUnarchived": _of("project", "project_id", archived=False),
    "ProjectMoved": _taking("project", "project_id", {"workspace": "workspace_id"}),
    "ProjectChanged": _changes("project", "project_id"),
    "ProjectNotesSet": _taking("project", "project_id", {"notes": "notes"}),
    "ModelArchived": _of("model", "model_id", archived=True),
    "ModelUnarchived": _of("model", "model_id", archived=False),
    "ModelChanged": _changes("model", "model_id"),
    "ModelVersionChanged": lambda fact: ("model version", _version(fact), fact.data["changes"]),
    "TemplateCreated": _taking("template", "template_id", _SAME | {"config": "config"}, there=True),
    "TemplateDeleted": _of("template", "template_id", there=False),
    "TemplateConfigReplaced": _taking("template", "template_id", {"config": "config"}),
    "TemplateRenamed": _taking("template", "template_id", {"name": "name"}),
    "ConfigPoliciesSet": _policies,
    "ConfigPoliciesDeleted": _policies,
    "TaskPriorityChanged": lambda fact: ("task", key_of(fact.row.stream), {"priority": fact.data["priority"]}),
}
"""Events whose effect can be put back."""

_READERS: Mapping[str, Read] = {**_BASE, **CHANGES}

TYPES = frozenset(_READERS)
"""All events that `plan` reads."""

_MAKING = frozenset(
    {"ExperimentCreated", "WorkspaceCreated", "ProjectCreated", "ModelCreated", "ModelVersionRegistered", "TaskCreated"}
)

LISTED = _MAKING | CHANGES.keys()
"""All events that `requests_in` reads."""
