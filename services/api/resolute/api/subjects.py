"""What a request is about: the things that it names, where it names them, and how far it reaches besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

NO_QUERY: Mapping[str, list[str]] = {}


class Reach(Enum):
    """Which things a route can touch or show. Every route has one (`Route` insists)."""

    NAMED = "what the request names"
    SCOPE = "everything of its kind that lies within the caller's scope"
    """Lists, counts and actions on many: the handler narrows them to the scope that the call carries."""
    OUTSIDE = "what lies outside of workspaces: the cluster, its agents, its pools, its users"
    ONESELF = "the caller alone, or what the caller sends along"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call is about: `kind` is user, workspace, project, experiment, trial, checkpoint, task, allocation, job,
    or, for what is only read, readable checkpoint (a trial's own, or the one that it began from). `where` is where the
    request names it: `path.trialId`, `query.trialIds`, `body.logs.taskId` (every element of a list counts)."""

    kind: str
    where: str
    permission: str = ""
    """What a role must grant for this thing, where that is not the permission of the route."""
    optional: bool = False
    """Whether the request may leave it out: null, 0 and the empty text name nothing then."""

    def values(self, path: Mapping[str, str], body: Any, query: Mapping[str, list[str]] = NO_QUERY) -> list[str]:
        part, _, name = self.where.partition(".")
        if part == "path":
            return [str(path[name])] if name in path else []
        if part == "query":
            return [value for value in query.get(name, []) if value != ""]
        return [str(value) for value in found(self.where, path, body) if value or not self.optional]


def found(where: str, path: Mapping[str, str], body: Any) -> list[Any]:
    """What a request has at `where`, in its path or its body."""
    part, *keys = where.split(".")
    values: list[Any] = [path if part == "path" else body]
    for key in keys:
        values = [element[key] for element in _elements(values) if isinstance(element, Mapping) and key in element]
    return list(_elements(values))


def _elements(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value
