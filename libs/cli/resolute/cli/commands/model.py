"""The model registry: models, their versions, and what is written on them."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import yaml

from resolute.cli import output, times
from resolute.cli.confirmation import confirmed
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session

Document = dict[str, Any]

MODEL = ["ID", "Name", "Description", "Workspace ID", "Creation Time", "Last Updated Time", "Metadata"]

LISTED = ["ID", "Name", "Workspace ID", "Creation Time", "Last Updated Time", "Metadata"]

VERSION = ["Version #", "Trial ID", "Batch #", "Checkpoint UUID", "Validation Metrics", "Metadata"]


def list_(args: Namespace) -> None:
    order = {"sortBy": f"SORT_BY_{args.sort_by.upper()}", "orderBy": f"ORDER_BY_{args.order_by.upper()}"}
    within = {"workspaceNames": args.workspace_names.split(",")} if args.workspace_names else {}
    models = list(session(args).pages("/api/v1/models", "models", {**order, **within}))
    if args.json:
        output.show_json([_snake(model) for model in models])
        return
    output.show_table(LISTED, [_row(model, LISTED) for model in models])


def create(args: Namespace) -> None:
    wanted = {"name": args.name, "description": args.description, "workspaceName": args.workspace_name}
    new = {key: value for key, value in wanted.items() if value is not None}
    model = session(args).post("/api/v1/models", new)["model"]
    _show(args, model)


def describe(args: Namespace) -> None:
    """The latest version is the one with the highest number."""
    opened = session(args)
    model = _model(opened, args.name)
    if args.version >= 0:
        versions = [opened.get(f"{_path(args.name)}/versions/{args.version}")["modelVersion"]]
    else:
        latest = {"limit": 1, "sortBy": "SORT_BY_VERSION", "orderBy": "ORDER_BY_DESC"}
        versions = opened.get(f"{_path(args.name)}/versions", latest)["modelVersions"]
    _show(args, model, versions)


def edit(args: Namespace) -> None:
    wanted = {"name": args.new_name, "description": args.description}
    changes = {key: value for key, value in wanted.items() if value is not None}
    if not changes:
        raise CliError("nothing to change; give --name or --description")
    session(args).patch(_path(args.name), changes)
    print(f"Changed {', '.join(changes)} of model '{args.name}'")


def archive(args: Namespace) -> None:
    session(args).post(f"{_path(args.name)}/archive")
    print(f"Archived model '{args.name}'")


def unarchive(args: Namespace) -> None:
    session(args).post(f"{_path(args.name)}/unarchive")
    print(f"Took model '{args.name}' out of the archive")


def move(args: Namespace) -> None:
    session(args).patch(_path(args.name), {"workspaceName": args.workspace_name})


def delete(args: Namespace) -> None:
    session(args).delete(_path(args.name))


def labels(args: Namespace) -> None:
    opened = session(args)
    found: list[str] = _model(opened, args.name)["labels"]
    changed = [label for label in dict.fromkeys([*found, *args.add]) if label not in args.remove]
    if changed != found:
        found = opened.patch(_path(args.name), {"labels": changed})["model"]["labels"]
    if args.json:
        output.show_json(found)
    else:
        print("\n".join(found))


def metadata(args: Namespace) -> None:
    opened = session(args)
    found: Document = _model(opened, args.name)["metadata"]
    added = dict(map(_setting, args.set))
    changed = {key: value for key, value in {**found, **added}.items() if key not in args.remove}
    if changed != found:
        found = opened.patch(_path(args.name), {"metadata": changed})["model"]["metadata"]
    output.show_json(found)


def notes(args: Namespace) -> None:
    opened = session(args)
    if args.set is None:
        model = _model(opened, args.name)
    else:
        model = opened.patch(_path(args.name), {"notes": args.set})["model"]
    print(model["notes"])


def register_version(args: Namespace) -> None:
    opened = session(args)
    version = opened.post(f"{_path(args.name)}/versions", {"modelName": args.name, "checkpointUuid": args.uuid})[
        "modelVersion"
    ]
    if args.json:
        output.show_json(_snake(version))
    else:
        _show(args, version["model"], [version])


def list_versions(args: Namespace) -> None:
    opened = session(args)
    model = _model(opened, args.name)
    order = {"sortBy": "SORT_BY_VERSION", "orderBy": "ORDER_BY_DESC"}
    versions = list(opened.pages(f"{_path(args.name)}/versions", "modelVersions", order))
    if args.json:
        output.show_json([_snake(version) for version in versions])
    else:
        _show(args, model, versions)


def describe_version(args: Namespace) -> None:
    version = session(args).get(f"{_path(args.name)}/versions/{args.version}")["modelVersion"]
    if args.json:
        output.show_json(_snake(version))
    else:
        _show(args, version["model"], [version])


def delete_version(args: Namespace) -> None:
    confirmed(args.yes, f"Delete version {args.version} of model '{args.name}'?")
    session(args).delete(f"{_path(args.name)}/versions/{args.version}")
    print(f"Deleted version {args.version} of model '{args.name}'")


def _path(name: str) -> str:
    """Raises CliError for what would be the path of another thing."""
    if "/" in name or name in ("", ".", ".."):
        raise CliError(f"{name!r} is no name of a model: names are not empty and have no slash")
    return f"/api/v1/models/{name}"


def _model(opened: Session, name: str) -> Document:
    model: Document = opened.get(_path(name))["model"]
    return model


def _setting(text: str) -> tuple[str, Any]:
    """`accuracy=0.9`: the value is YAML, so that numbers are numbers."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise CliError(f"--set {text}: expected KEY=VALUE")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise CliError(f"--set {text}: the value is not YAML: {error}") from error


def _show(args: Namespace, model: Document, versions: list[Document] | None = None) -> None:
    if args.json:
        shown = _snake(model)
        output.show_json(shown if versions is None else {**shown, "versions": [_snake(one) for one in versions]})
        return
    output.show_table(MODEL, [_row(model, MODEL)])
    if versions:
        print()
        output.show_table(VERSION, list(map(_version_row, versions)))


def _row(model: Document, headers: list[str]) -> list[Any]:
    cells = {
        "ID": model["id"],
        "Name": model["name"],
        "Description": model.get("description"),
        "Workspace ID": model["workspaceId"],
        "Creation Time": times.shown(model["creationTime"]),
        "Last Updated Time": times.shown(model["lastUpdatedTime"]),
        "Metadata": model.get("metadata") or {},
    }
    return [cells[header] for header in headers]


def _version_row(version: Document) -> list[Any]:
    checkpoint = version.get("checkpoint") or {}
    training, written = checkpoint.get("training") or {}, checkpoint.get("metadata") or {}
    return [
        version["version"],
        training.get("trialId"),
        written.get("steps_completed"),
        checkpoint.get("uuid"),
        (training.get("validationMetrics") or {}).get("avgMetrics"),
        version.get("metadata") or {},
    ]


def _snake(document: Document) -> Document:
    """The same with the keys of its fields in snake_case, as Determined's command line prints models. What users wrote
    below them is left as it is."""
    return {_snake_case(key): _snake(value) if key == "model" else value for key, value in document.items()}


def _snake_case(key: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
