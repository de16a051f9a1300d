"""Calls operations of the REST API by their names, as the document of the master describes them."""

from __future__ import annotations

import json
import re
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from resolute.cli import output
from resolute.cli.confirmation import confirmed
from resolute.cli.errors import CliError
from resolute.cli.login import session
from resolute.cli.session import Session

_METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    method: str
    path: str
    parameters: Mapping[str, str]
    """By name: where the request has the parameter, `path`, `query` or `body`."""
    streams: bool
    usable: bool
    """Whether `call` can send it and print its answer: it is of /api/v1, and answers in JSON."""

    def __str__(self) -> str:
        return f"{self.method}_{self.name}({', '.join(self.parameters)})"


def list_(args: Namespace) -> None:
    """Each operation as `call` takes it: method, name and parameters."""
    found = [each for each in _operations(session(args)) if each.usable is not args.show_unusable]
    print("\n".join(sorted(map(str, found))))


def call(args: Namespace) -> None:
    """Print the answer as JSON; that of a stream one message a line."""
    opened = session(args)
    operation = _named(args.name, _operations(opened))
    values = _values(operation, args.args)
    path = _path(operation, values)
    query = {name: given for name, given in values.items() if operation.parameters[name] == "query"}
    if operation.streams and operation.method == "get":
        for message in opened.stream(path, query):
            print(json.dumps(message))
    elif operation.method == "get":
        output.show_json(opened.get(path, query))
    elif operation.streams or query:
        raise CliError(f"{operation} cannot be called like this; send it with `det dev curl {path}`")
    else:
        confirmed(args.auto_confirm, f"Send {operation.method.upper()} {path}?")
        body = _body(values.get("body", ["{}"])[-1])
        output.show_json(getattr(opened, operation.method)(path, body))


def _operations(opened: Session) -> Iterator[Operation]:
    paths = opened.get("/api/v1/api.swagger.json")["paths"]
    for path, methods in paths.items():
        for method, said in methods.items():
            if method in _METHODS:
                parameters = {each["name"]: each["in"] for each in said.get("parameters", ())}
                streams = "streamError" in json.dumps(said.get("responses", {}))
                usable = path.startswith("/api/v1/") and "produces" not in said
                yield Operation(said["operationId"], method, path, parameters, streams, usable)


def _named(name: str, operations: Iterable[Operation]) -> Operation:
    for each in operations:
        if name in (each.name, f"{each.method}_{each.name}"):
            if not each.usable:
                raise CliError(f"{name} may answer with a file; send it with `det dev curl {each.path}`")
            return each
    raise CliError(f"the master has no operation '{name}'; `det dev bindings list` shows all")


def _values(operation: Operation, words: Iterable[str]) -> dict[str, list[str]]:
    """By parameter: the values given, as `name=value`; a list is given as several values of one name."""
    values: dict[str, list[str]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in operation.parameters:
            raise CliError(f"'{word}' is no argument of {operation}; give arguments as name=value")
        values.setdefault(name, []).append(value)
    return values


def _path(operation: Operation, values: Mapping[str, list[str]]) -> str:
    def filled(place: re.Match[str]) -> str:
        name = place[1]
        if not (given := values.get(name)):
            raise CliError(f"{operation} needs {name}=VALUE")
        return given[-1]

    return re.sub(r"{([^}]+)}", filled, operation.path)


def _body(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise CliError(f"body is no JSON: {error}") from None
