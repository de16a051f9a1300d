"""What a message declares, in the short form of `resolute.api.kernel.kinds`: for documents, the reference and tests."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Iterator
from typing import Any

from resolute.api.kernel import kinds
from resolute.api.kernel.fields import Declared, WireEnum, kind_of, taken_apart
from resolute.api.kernel.kinds import Kind
from resolute.api.kernel.messages import (
    Bare,
    Message,
    Parameter,
    Request,
    Unparsed,
    Written,
    hints_of,
    is_required,
    parts_of,
)
from resolute.api.routing import Route


def query_of(request: type[Request]) -> dict[str, str]:
    return dict(map(_parameter, parts_of(request).query))


def path_kind(route: Route, name: str) -> Kind:
    """The kind of a parameter in the path of a route."""
    return kinds.parse(path_of(route.declared.request)[name])


def path_of(request: type[Request]) -> dict[str, str]:
    return {parameter.name: kinds.text(parameter.kind) for parameter in parts_of(request).path}


def body_of(request: type[Request]) -> str | None:
    body = parts_of(request).body
    return None if body is None else kinds.text(body.kind)


def _parameter(parameter: Parameter) -> tuple[str, str]:
    return parameter.name + ("" if parameter.required else "?"), kinds.text(parameter.kind)


def messages_within(roots: Iterable[type[Written]]) -> dict[str, dict[str, Any]]:
    """Every message and enum that these hold, by name: its fields, or its values. Requests themselves have no name
    there: their parameters and their bodies do. Neither do bare answers: what they hold does."""
    return {name: _declared(kind) for name, kind in classes_within(roots).items()}


def classes_within(roots: Iterable[type[Written]]) -> dict[str, type[Any]]:
    """The same as classes: messages, and subclasses of `WireEnum`. One class for requests and one for answers may have
    the same name, where they declare the same."""
    found: dict[str, type[Any]] = {}
    for root in roots:
        for named in _named(root):
            other = found.setdefault(named.wire_name, named)
            if other is not named and _declared(other) != _declared(named):
                raise TypeError(f"{named.wire_name} is declared in two ways, by {other} and by {named}")
    return found


def _declared(kind: type[Any]) -> dict[str, Any]:
    if issubclass(kind, WireEnum):
        return {"enum": [one.value for one in kind]}
    message: type[Written] = kind
    fields = {_field(message, name): kinds.text(kind_of(hint)) for name, hint in hints_of(message).items()}
    return {"fields": dict(sorted(fields.items(), key=lambda field: (field[0].endswith("?"), field[0])))}


def _field(message: type[Written], name: str) -> str:
    return message.wire_field(name) + ("" if is_required(message, name) else "?")


def _named(kind: type[Written], above: tuple[type[Written], ...] = ()) -> Iterator[type[Any]]:
    """The message itself, and all that it holds, each as often as it is met. `above`: the messages that it lies in, of
    which it may be one, as a directory lies in a directory."""
    if kind in above:
        return
    if not issubclass(kind, Request | Bare):
        yield kind
    for hint in hints_of(kind).values():
        yield from _in_type(hint, (*above, kind))


def _in_type(hint: Any, above: tuple[type[Written], ...]) -> Iterator[type[Any]]:
    found = taken_apart(hint)
    for mark in found.marks:
        if isinstance(mark, Unparsed) and mark.documented is not None:
            yield from _named(mark.documented, above)
    if any(isinstance(mark, Declared) and mark.kind.name for mark in found.marks):
        return  # the documents know the value by that kind alone
    for element in typing.get_args(found.bare):
        if element is not ...:
            yield from _in_type(element, above)
    if isinstance(found.bare, type) and issubclass(found.bare, WireEnum):
        yield found.bare
    elif isinstance(found.bare, type) and issubclass(found.bare, Written):
        yield from _named(found.bare, above)
    elif (documented := getattr(found.bare, "documented", None)) is not None:
        yield from _in_type(documented, above)


def written(routes: Iterable[Route]) -> dict[str, dict[str, Any]]:
    """By name: method and path, query, body and response, and whether the response is a stream of such."""
    return {route.operation: operation_of(route) for route in routes}


def operation_of(route: Route) -> dict[str, Any]:
    """The same for one route."""
    declared = route.declared
    found: dict[str, Any] = {"method": route.method, "path": route.documented_path, "tag": declared.tag}
    if query := query_of(declared.request):
        found["query"] = query
    if body := body_of(declared.request):
        found["body"] = body
    if declared.stream:
        found["stream"] = True
    if declared.produces:
        found["produces"] = declared.produces
    return found | {"response": _response(declared.response)}


def _response(answer: type[Message] | None) -> str | None:
    if answer is None or not answer.model_fields:
        return None
    return kinds.text(kind_of(hints_of(answer)["value"])) if issubclass(answer, Bare) else answer.wire_name


def messages_of(routes: Iterable[Route]) -> dict[str, dict[str, Any]]:
    """By name: the fields of every message, or the values of an enum."""
    return messages_within(roots_of(routes))


def roots_of(routes: Iterable[Route]) -> list[type[Written]]:
    """The requests and the answers of these operations."""
    declared = [route.declared for route in routes]
    requests: list[type[Written]] = [one.request for one in declared]
    answers = [one.response for one in declared if one.response is not None and one.response.model_fields]
    return [*requests, *answers]
