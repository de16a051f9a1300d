"""Who may call what: every route with its access, and the one function that decides.

An access lists the kinds of caller that may come in, and names what a task or a user must own to count as its
owner. `permission` says what a role will have to grant once roles exist; it is shown in the reference. Its name is
what is touched and how, `experiment.edit`, out of `PERMISSIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from aiohttp import web

if TYPE_CHECKING:
    from resolute.api.call import Call

Handler = Callable[["Call"], Awaitable[dict[str, Any] | web.StreamResponse]]


PERMISSIONS = frozenset(
    {
        *("user.view", "user.create", "user.edit"),
        *("workspace.view", "workspace.create", "project.view", "project.create"),
        *("experiment.view", "experiment.create", "experiment.edit", "experiment.artifacts.view"),
        *("checkpoint.view", "checkpoint.create", "checkpoint.edit"),
        *("task.view", "task.edit"),
        *("cluster.view", "cluster.edit", "cluster.config.view", "cluster.logs.view"),
    }
)
"""All there are. Artifacts are what code left behind or brought along: logs, files."""


class Caller(Enum):
    ANYONE = "anyone"
    SIGNED_IN = "a signed-in user"
    ADMIN = "an administrator"
    SELF = "the user it concerns"
    TASK = "the task it concerns"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a call is about: `kind` is user, task, allocation, trial, experiment, checkpoint, or, for what is only read,
    readable checkpoint (a trial's own, or the one that it began from). `where` is where the request names it:
    `path.trialId`, `body.taskId`, `body.logs.taskId` (every element of a list counts)."""

    kind: str
    where: str

    def values(self, path: Mapping[str, str], body: Any) -> list[str]:
        part, *keys = self.where.split(".")
        found: list[Any] = [path if part == "path" else body]
        for key in keys:
            found = [element[key] for element in _elements(found) if isinstance(element, Mapping) and key in element]
        return [str(value) for value in _elements(found)]


def _elements(found: Iterable[Any]) -> Iterator[Any]:
    for value in found:
        if isinstance(value, list):
            yield from value
        else:
            yield value


@dataclass(frozen=True, slots=True)
class Access:
    callers: frozenset[Caller]
    subjects: tuple[Subject, ...] = ()
    permission: str = ""

    def __or__(self, other: Access) -> Access:
        return Access(self.callers | other.callers, self.subjects + other.subjects, self.permission or other.permission)

    def own(self, kind: str, where: str) -> Access:
        """The caller must own what the request names at `where`; a bare name is a parameter of the path."""
        where = where if "." in where else f"path.{where}"
        return replace(self, subjects=(*self.subjects, Subject(kind, where)))

    def to(self, permission: str) -> Access:
        return replace(self, permission=permission)


ANYONE = Access(frozenset({Caller.ANYONE}))
SIGNED_IN = Access(frozenset({Caller.SIGNED_IN}))
ADMIN = Access(frozenset({Caller.ADMIN}))
SELF = Access(frozenset({Caller.SELF}))
TASK = Access(frozenset({Caller.TASK}))


@dataclass(frozen=True, slots=True)
class TaskClaims:
    """What a task's token says it is."""

    task_id: str
    allocation_id: str
    trial_id: int | None = None
    experiment_id: int | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """Someone: a user by session, or a task by its token (then with its owner's name, and never an administrator)."""

    user_id: int
    username: str
    admin: bool = False
    task: TaskClaims | None = None
    session_id: int | None = None


class Verdict(Enum):
    ALLOWED = "allowed"
    UNKNOWN = "nobody knows who asks"
    DENIED = "not allowed"


@dataclass(frozen=True, slots=True)
class Owned:
    """What the request names, as found: `experiment_id` is filled in for a checkpoint, whose experiment counts, and
    `begun_from` for one that trials of other experiments began from: theirs."""

    kind: str
    value: str
    experiment_id: int | None = None
    begun_from: frozenset[int] = frozenset()


def decide(access: Access, principal: Principal | None, named: Iterable[Owned]) -> Verdict:
    """Whether `principal` may make a call that is about `named`."""
    if Caller.ANYONE in access.callers:
        return Verdict.ALLOWED
    if principal is None:
        return Verdict.UNKNOWN
    named = list(named)
    if principal.task is not None:
        task = principal.task
        about = [owned for owned in named if owned.kind != "user"]
        owns = bool(about) and all(_is_the_tasks(task, owned) for owned in about)
        return _verdict(Caller.TASK in access.callers and owns)
    himself = any(owned.kind == "user" and owned.value == str(principal.user_id) for owned in named)
    return _verdict(
        Caller.SIGNED_IN in access.callers
        or (Caller.ADMIN in access.callers and principal.admin)
        or (Caller.SELF in access.callers and himself)
    )


def _verdict(allowed: bool) -> Verdict:
    return Verdict.ALLOWED if allowed else Verdict.DENIED


def _is_the_tasks(task: TaskClaims, owned: Owned) -> bool:
    match owned.kind:
        case "task":
            return owned.value == task.task_id
        case "allocation":
            return owned.value == task.allocation_id
        case "trial":
            return task.trial_id is not None and owned.value == str(task.trial_id)
        case "experiment":
            return task.experiment_id is not None and owned.value == str(task.experiment_id)
        case "checkpoint":
            return task.experiment_id is not None and owned.experiment_id == task.experiment_id
        case "readable checkpoint":
            return task.experiment_id in {owned.experiment_id, *owned.begun_from} - {None}
    return False


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. `path` is as in the reference, `/api/v1/trials/{trialId}`; `{label...}` takes slashes too."""

    operation: str
    method: str
    path: str
    handler: Handler
    access: Access
    raw_body: bool = False
    """The handler reads `call.raw` itself: for bodies that are large, or not JSON objects."""

    @property
    def pattern(self) -> str:
        """The path as aiohttp's router wants it."""
        return re.sub(r"{(\w+)\.\.\.}", r"{\1:.+}", self.path)

    @property
    def documented_path(self) -> str:
        return self.path.replace("...}", "}")
