"""The secrets of a configuration: where they stand, and how to put something else in their places.

A secret is the value of a field in `FIELDS`, or what stands behind the `=` of an environment variable. All variables
count, because nothing tells a variable that holds a secret (`DATABASE_URL`) from one that does not. Each place has a
name that is the same however the configuration is written: `environment.environment_variables.HOME`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

import yaml

from .document import compose_yaml, load_yaml

MASK = "********"

FIELDS = (
    ("data", "secrets", "*"),
    ("checkpoint_storage", "access_key"),
    ("checkpoint_storage", "secret_key"),
    ("checkpoint_storage", "connection_string"),
    ("checkpoint_storage", "credential"),
    ("environment", "registry_auth", "password"),
    ("environment", "registry_auth", "auth"),
    ("environment", "registry_auth", "identitytoken"),
    ("environment", "registry_auth", "registrytoken"),
    ("integrations", "pachyderm", "dataset", "token"),
)
VARIABLES = ("environment", "environment_variables")
VARIABLES_NAME = ".".join(VARIABLES)

_READABLE_MIN = 6
"""Characters of a secret that is looked for in the rest of a text; a shorter one is found by chance."""

Change = Callable[[str, Any], Any]
"""From the name of a place and the value there to the value that shall stand there."""


def changed(config: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """A copy of `config` with what `change` makes of each secret that is set; `config` stays as it is."""
    copy = deepcopy(dict(config))
    for path in FIELDS:
        _change_field(copy, path, (), change)
    environment = copy.get(VARIABLES[0])
    if isinstance(environment, dict) and environment.get(VARIABLES[1]) is not None:
        environment[VARIABLES[1]] = _changed_variables(environment[VARIABLES[1]], change)
    return copy


def secrets_of(config: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The name and the value of each secret that is set."""
    found: list[tuple[str, Any]] = []

    def note(name: str, value: Any) -> Any:
        found.append((name, value))
        return value

    changed(config, note)
    return found


def changed_yaml(text: str, change: Change) -> str:
    """A configuration as somebody wrote it, with what `change` makes of each secret; the rest of the text stays.

    `change` has to make the same of the same. Where the text does not allow a change in place (a secret that is not
    a plain value, or that stands elsewhere in the text as well, as in a comment), the document is written anew.
    """
    read = load_yaml(text)
    secrets = secrets_of(read)
    if not secrets:
        return text
    wanted = changed(read, change)
    if wanted == read:
        return text
    in_place = _in_place(text, change)
    if in_place is not None and _says(in_place, wanted) and not _tells(in_place, secrets, wanted):
        return in_place
    return str(yaml.dump(wanted, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))


def _change_field(value: Any, path: tuple[str, ...], before: tuple[str, ...], change: Change) -> None:
    if not isinstance(value, dict):
        return
    for name in list(value) if path[0] == "*" else [path[0]]:
        if len(path) > 1:
            _change_field(value.get(name), path[1:], (*before, name), change)
        elif value.get(name) is not None:
            value[name] = change(".".join((*before, str(name))), value[name])


def _changed_variables(stated: Any, change: Change) -> Any:
    """A list of NAME=VALUE, or such a list for each kind of device."""
    if isinstance(stated, dict):
        return {kind: _changed_variables(lines, change) for kind, lines in stated.items()}
    if not isinstance(stated, list):
        return stated
    return [_changed_variable(line, change) if isinstance(line, str) else line for line in stated]


def _changed_variable(line: str, change: Change) -> str:
    name, equals, value = line.partition("=")
    return f"{name}={change(f'{VARIABLES_NAME}.{name}', value)}" if equals and value else line


# ---------------------------------------------------------------- in the text


def _in_place(text: str, change: Change) -> str | None:
    """`text` with each secret replaced where it stands; None where one is no plain value."""
    spans: dict[tuple[int, int], str] = {}
    for name, node in _places(compose_yaml(text)):
        if not isinstance(node, yaml.ScalarNode):
            return None
        start, end = node.start_mark.index, node.end_mark.index
        new = _changed_variable(node.value, change) if name == VARIABLES_NAME else change(name, node.value)
        if new != node.value:
            spans[start, end] = _quoted(str(new)) + ("\n" if text[start:end].endswith("\n") else "")
    for (start, end), new in sorted(spans.items(), reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _quoted(value: str) -> str:
    return str(yaml.safe_dump(value, default_style='"', allow_unicode=True, width=10**9)).rstrip("\n")


def _places(root: yaml.Node | None) -> Iterator[tuple[str, yaml.Node]]:
    for path in FIELDS:
        yield from _named(root, path, ())
    for _, variables in _named(root, VARIABLES, ()):
        yield from ((VARIABLES_NAME, line) for line in _lines(variables))


def _named(node: yaml.Node | None, path: tuple[str, ...], before: tuple[str, ...]) -> Iterator[tuple[str, yaml.Node]]:
    if not path:
        if node is not None and node.tag != "tag:yaml.org,2002:null":
            yield ".".join(before), node
        return
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if path[0] in ("*", key.value):
            yield from _named(value, path[1:], (*before, str(key.value)))


def _lines(node: yaml.Node) -> Iterator[yaml.Node]:
    match node:
        case yaml.SequenceNode():
            yield from node.value
        case yaml.MappingNode():
            for _, value in node.value:
                yield from _lines(value)


def _says(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return load_yaml(text) == wanted
    except Exception:  # noqa: BLE001  (whatever is wrong with it, it will not do)
        return False


def _tells(text: str, secrets: list[tuple[str, Any]], wanted: Mapping[str, Any]) -> bool:
    """Whether a secret that was replaced stands in the text all the same, as in a comment."""
    kept = {str(value) for _, value in secrets_of(wanted)}
    replaced = {str(value) for _, value in secrets} - kept
    return any(len(value) >= _READABLE_MIN and value in text for value in replaced)
