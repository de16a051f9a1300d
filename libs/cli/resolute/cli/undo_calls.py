"""The REST call that gives a property of a thing an earlier value back."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from resolute.eventlog.undoing import POLICIES, RUNS, THERE

V1 = "/api/v1"
SEALED = "sealed:v1:"
"""How values that the gateway sealed begin (docs/security.md)."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    method: str
    path: str
    body: Any
    says: str
    """What it does, for people: `take experiment 7 out of the archive`."""


@dataclass(frozen=True, slots=True)
class Impossible:
    why: str


@dataclass(frozen=True, slots=True)
class Key:
    """A property of a thing."""

    kind: str
    thing: str
    """The id of the thing within its kind."""
    property: str


Properties = Mapping[str, Any]
"""What a thing is like now."""


def call_for(change: Mapping[str, Any]) -> Call | Impossible:
    """What puts back a change, which is as the gateway shows it."""
    if change.get("obstacle"):
        return Impossible(change["obstacle"])
    key, before = Key(change["kind"], change["thing"], change["property"]), change.get("before")
    if SEALED in json.dumps(before):
        return Impossible("what it was has secrets in it, which only the gateway can read")
    make = _CALLS.get((key.kind, key.property))
    return make(key, before, change["properties"]) if make else Impossible("nothing puts this property back")


Make = Callable[[Key, Any, Properties], Call | Impossible]


def _switch(url: str, on: tuple[str, str], off: tuple[str, str]) -> Make:
    """A property that is true or false, each made so by an operation of its own: (operation, what it says)."""

    def make(key: Key, value: Any, _now: Properties) -> Call:
        operation, says = on if value else off
        return Call("post", f"{url.format(key.thing)}/{operation}", None, says.format(key.thing))

    return make


def _archive(kind: str, url: str) -> Make:
    return _switch(url, ("archive", f"archive {kind} {{}}"), ("unarchive", f"take {kind} {{}} out of the archive"))


def _patch(kind: str, url: str, name: str, within: str = "") -> Make:
    """A property that is a field of the thing. `within`: the object of the body that has the field, if not itself."""

    def make(key: Key, value: Any, _now: Properties) -> Call | Impossible:
        if value is None:
            return Impossible(f"it had no {key.property} of its own, and the wire has no way to say so")
        body = {within: {name: value}} if within else {name: value}
        says = f"set the {key.property} of {kind} {key.thing} to {json.dumps(value, ensure_ascii=False)}"
        return Call("patch", _path(url, key), body, says)

    return make


def _path(url: str, key: Key) -> str:
    return url.format(*(quote(part, safe="") for part in key.thing.split("/")))


def _move(kind: str, url: str, field: str, to: str) -> Make:
    return lambda key, value, _: Call(
        "post", f"{url.format(key.thing)}/move", {field: value}, f"move {kind} {key.thing} back to {to} {value}"
    )


def _archive_run(key: Key, value: Any, _now: Properties) -> Call:
    operation, says = ("archive", "archive run {}") if value else ("unarchive", "take run {} out of the archive")
    return Call("post", f"{V1}/runs/{operation}", {"runIds": [int(key.thing)], "projectId": 0}, says.format(key.thing))


def _notes_of_project(key: Key, value: Any, _now: Properties) -> Call:
    says = f"set the notes of project {key.thing} to the {len(value)} of before"
    return Call("put", f"{V1}/projects/{key.thing}/notes", {"notes": value}, says)


def _template(key: Key, value: Any, now: Properties) -> Call | Impossible:
    """`value`: whether the template is to exist."""
    name = str(now["name"])
    path = f"{V1}/templates/{quote(name, safe='')}"
    if not value:
        return Call("delete", path, None, f"remove template {name}")
    config = now["config"]
    if SEALED in json.dumps(config):
        return Impossible("it has secrets in it, which only the gateway can read")
    workspace = now.get("workspace_id", 0)
    return Call("post", path, {"name": name, "config": config, "workspaceId": workspace}, f"make template {name} again")


def _template_config(key: Key, value: Any, now: Properties) -> Call:
    name = str(now["name"])
    body = {"name": name, "config": value, "workspaceId": 0}
    return Call("put", f"{V1}/templates/{quote(name, safe='')}", body, f"give template {name} the config of before")


def _template_name(key: Key, value: Any, now: Properties) -> Call:
    name = now["name"]
    return Call(
        "patch", f"{V1}/template/rename", {"oldName": name, "newName": value}, f"rename template {name} to {value}"
    )


def _policies(key: Key, value: Any, _now: Properties) -> Call:
    workspace, workload = key.thing.split("/")
    where = "global" if workspace == "0" else f"workspaces/{workspace}"
    whose = "the cluster" if workspace == "0" else f"workspace {workspace}"
    path = f"{V1}/config-policies/{where}/{workload}"
    if not value:
        return Call("delete", path, None, f"remove the {workload} policies of {whose}")
    return Call("put", path, {"configPolicies": json.dumps(value)}, f"set the {workload} policies of {whose} as before")


_TASKS = {"COMMAND": "commands", "NOTEBOOK": "notebooks", "SHELL": "shells", "TENSORBOARD": "tensorboards"}


def _task_priority(key: Key, value: Any, now: Properties) -> Call | Impossible:
    kind = _TASKS.get(str(now.get("kind")))
    if value is None or kind is None:
        return Impossible("it had the default priority of its pool, and the wire has no way to say so")
    path = f"{V1}/{kind}/{key.thing}/set_priority"
    return Call("post", path, {"priority": value}, f"set the priority of task {key.thing} to {value}")


_EXPERIMENT, _WORKSPACE = f"{V1}/experiments/{{}}", f"{V1}/workspaces/{{}}"
_PROJECT, _MODEL, _VERSION = f"{V1}/projects/{{}}", f"{V1}/models/{{}}", f"{V1}/models/{{}}/versions/{{}}"

_CALLS: Mapping[tuple[str, str], Make] = {
    ("experiment", "archived"): _archive("experiment", _EXPERIMENT),
    ("experiment", RUNS): _switch(
        _EXPERIMENT, ("activate", "activate experiment {}"), ("pause", "pause experiment {}")
    ),
    ("experiment", "project"): _move("experiment", _EXPERIMENT, "destinationProjectId", "project"),
    **{
        ("experiment", name): _patch("experiment", _EXPERIMENT, name)
        for name in ("name", "description", "labels", "notes")
    },
    ("experiment", "priority"): _patch("experiment", _EXPERIMENT, "priority", "resources"),
    ("experiment", "weight"): _patch("experiment", _EXPERIMENT, "weight", "resources"),
    ("experiment", "max_slots"): _patch("experiment", _EXPERIMENT, "maxSlots", "resources"),
    ("run", "archived"): _archive_run,
    ("workspace", "archived"): _archive("workspace", _WORKSPACE),
    ("workspace", "name"): _patch("workspace", _WORKSPACE, "name"),
    ("project", "archived"): _archive("project", _PROJECT),
    ("project", "workspace"): _move("project", _PROJECT, "destinationWorkspaceId", "workspace"),
    ("project", "notes"): _notes_of_project,
    **{("project", name): _patch("project", _PROJECT, name) for name in ("name", "description", "key")},
    ("model", "archived"): _archive("model", _MODEL),
    ("model", "workspace_id"): _move("model", _MODEL, "destinationWorkspaceId", "workspace"),
    **{
        ("model", name): _patch("model", _MODEL, name)
        for name in ("name", "description", "labels", "metadata", "notes")
    },
    **{
        ("model version", name): _patch("version", _VERSION, name)
        for name in ("name", "comment", "labels", "metadata", "notes")
    },
    ("template", THERE): _template,
    ("template", "config"): _template_config,
    ("template", "name"): _template_name,
    ("policies", POLICIES): _policies,
    ("task", "priority"): _task_priority,
}
