"""Who may call what: every route with its access, and the one function that decides.

An access lists the kinds of caller that may come in; its subjects, which are the things that the request names (and
what a task or a user must own to count as its owner); how far the request reaches besides; and `permission`, what a
role has to grant. The name of a permission is what is touched and how, `experiment.edit`.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from aiohttp import web

from resolute.api.body_kinds import ORDINARY, PASSED_ON, BodyKind
from resolute.api.kernel.messages import Message, Request
from resolute.api.principals import Principal as Principal
from resolute.api.principals import TaskClaims as TaskClaims
from resolute.api.scope import UNLIMITED, Rights, Scope, viewing
from resolute.api.subjects import Reach, Subject, found

Handler = Callable[[Any, Any], Any]
"""What answers a call (`resolute.api.call.Call`) with its request; `kernel.operations` has the types of both."""


PERMISSION = re.compile(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*)+")
"""What is touched, and how: `experiment.edit`. Artifacts are what code left behind or brought along: logs, files. The
metadata of an experiment are its names, its labels and whether it is archived; to edit it is to steer what it does.
`table.PERMISSIONS` has all that there are."""


class Caller(Enum):
    ANYONE = "anyone"
    SIGNED_IN = "a signed-in user"
    ADMIN = "an administrator"
    SELF = "the user it concerns"
    OWNER = "the owner of what it concerns"
    TASK = "the task it concerns"
    MONITOR = "a monitoring system that shows the metrics token"


@dataclass(frozen=True, slots=True)
class Access:
    callers: frozenset[Caller]
    subjects: tuple[Subject, ...] = ()
    permission: str = ""
    stricter: tuple[tuple[str, Access], ...] = ()
    """Fields, by where the request names them, and what is asked of the caller instead when one of them is set."""
    asked_for_by: str = ""
    """The field of the request that makes the gateway ask for this."""
    reach: Reach | None = None
    each: Access | None = None
    """What is asked of the caller for each of the things that an action on many finds."""
    besides: frozenset[str] = frozenset()
    """Permissions of which parts of the answer depend."""
    others: str = ""
    """The permission that a role has to grant besides, for what belongs to another user."""
    to_strangers: bool = False
    """Whether a caller without credentials comes as far as the handler, which lets few of them in."""

    def __or__(self, other: Access) -> Access:
        return Access(
            self.callers | other.callers,
            _once(self.subjects + other.subjects),
            self.permission or other.permission,
            self.stricter + other.stricter,
            reach=self.reach or other.reach,
            each=self.each or other.each,
            besides=self.besides | other.besides,
            others=self.others or other.others,
            to_strangers=self.to_strangers or other.to_strangers,
        )

    def but(self, instead: Access, *fields: str) -> Access:
        """A request that sets one of `fields`, such as `body.admin`, needs `instead`."""
        return replace(self, stricter=(*self.stricter, *((where, instead) for where in fields)))

    @property
    def goes_by_what_is_named(self) -> bool:
        """Whether a caller may be let in because of what the request names."""
        return not self.callers.isdisjoint((Caller.TASK, Caller.OWNER, Caller.SELF))

    def asked_by(self, path: Mapping[str, str], body: Any) -> Access:
        """What this very request needs. It is about the same things, whatever it sets."""
        for where, instead in self.stricter:
            if any(value is not None for value in found(where, path, body)):
                subjects = _once(self.subjects + instead.subjects)
                return replace(instead, subjects=subjects, reach=self.reach, asked_for_by=where.partition(".")[2])
        return self

    def about(self, kind: str, where: str, *, to: str = "", optional: bool = False) -> Access:
        """The request names such a thing at `where`; a bare name is a parameter of the path. Where only owners or tasks
        may come in, the caller must own it. `to`: the permission for this thing, where it is another than the
        route's."""
        where = where if "." in where else f"path.{where}"
        subjects = _once((*self.subjects, Subject(kind, where, to, optional)))
        return replace(self, subjects=subjects, reach=self.reach or Reach.NAMED)

    def over_scope(self) -> Access:
        """The request is about everything of its kind that lies within the caller's scope."""
        return replace(self, reach=Reach.SCOPE)

    def outside(self) -> Access:
        """The request is about what lies outside of workspaces."""
        return replace(self, reach=Reach.OUTSIDE)

    def oneself(self) -> Access:
        """The request is about the caller alone."""
        return replace(self, reach=Reach.ONESELF)

    def for_each(self, access: Access) -> Access:
        """Of what an action on many finds, each thing is decided about as if the request had named it alone."""
        return replace(self, each=access)

    def showing(self, permission: str) -> Access:
        """Parts of the answer are shown where the caller holds this permission, and masked elsewhere."""
        return replace(self, besides=self.besides | {permission})

    def to(self, permission: str) -> Access:
        return replace(self, permission=permission)

    def to_others(self, permission: str) -> Access:
        """What belongs to another user takes this permission besides, where roles decide."""
        return replace(self, others=permission)

    @property
    def permissions(self) -> frozenset[str]:
        """All that a request of this kind may have to be granted, those to see what it is about among them."""
        others = (*(instead for _, instead in self.stricter), *filter(None, (self.each,)))
        asked = {self.permission, self.others, *self.besides, *(subject.permission for subject in self.subjects)} - {""}
        return frozenset({*asked, *map(viewing, asked)}.union(*(other.permissions for other in others)))


def _once(subjects: tuple[Subject, ...]) -> tuple[Subject, ...]:
    return tuple(dict.fromkeys(subjects))


ANYONE = Access(frozenset({Caller.ANYONE}), reach=Reach.OUTSIDE)
SIGNED_IN = Access(frozenset({Caller.SIGNED_IN}))
ADMIN = Access(frozenset({Caller.ADMIN}))
SELF = Access(frozenset({Caller.SELF}))
TASK = Access(frozenset({Caller.TASK}))
MONITOR = Access(frozenset({Caller.MONITOR}))
OWNER = Access(frozenset({Caller.OWNER}))
OWNERS = Access(frozenset({Caller.OWNER, Caller.ADMIN}))
"""The owner of what the request names, and administrators."""
READS_VARIABLES = OWNERS | TASK
"""Who may read the environment variables of an experiment."""
INHERITS_SECRETS = OWNER
"""Who may take over the secrets of the experiment that a new one is forked from."""


class _Everywhere(dict[str, Scope]):
    def __missing__(self, permission: str) -> Scope:
        return UNLIMITED


EVERY_RIGHT = Rights(_Everywhere())
"""Of every user, until roles grant less; and of tasks, which are held to what is their own instead."""


class Verdict(Enum):
    ALLOWED = "allowed"
    UNKNOWN = "nobody knows who asks"
    DENIED = "not allowed"
    MISSING = "what the request names does not exist, as far as the caller may know"
    NOT_GRANTED = "no role grants the permission"
    GIVEN_UP = "the task's run was given up"
    DELETED = "the task's trial was deleted"


@dataclass(frozen=True, slots=True)
class Owned:
    """What the request names, as found: `experiment_id` is filled in for a checkpoint, whose experiment counts, and
    `begun_from` for one that trials of other experiments began from: theirs. `owner_id`, the user whose experiment it
    is or belongs to, is filled in where only owners may come in."""

    kind: str
    value: str
    experiment_id: int | None = None
    begun_from: frozenset[int] = frozenset()
    owner_id: int | None = None
    workspace_id: int | None = None
    """Filled in where the caller's scope is not everything."""
    permission: str = ""
    """For this thing, where it is another than the route's."""


def decide(
    access: Access, principal: Principal | None, named: Iterable[Owned], rights: Rights = EVERY_RIGHT
) -> Verdict:
    """Whether `principal`, who has `rights`, may make a call that is about `named`."""
    if Caller.ANYONE in access.callers:
        return Verdict.ALLOWED
    if principal is None:
        return Verdict.ALLOWED if access.to_strangers else Verdict.UNKNOWN
    if principal.monitor:
        return _verdict(Caller.MONITOR in access.callers)
    named = list(named)
    users = [owned for owned in named if owned.kind == "user"]
    things = [owned for owned in named if owned.kind != "user"]
    if principal.task is not None:
        return _of_a_task(access, principal.task, things)
    if not access.callers - {Caller.TASK, Caller.MONITOR}:
        return Verdict.DENIED
    if hidden(access, things, rights) is not None:
        return Verdict.MISSING
    if Caller.SELF in access.callers and any(owned.value == str(principal.user_id) for owned in users):
        return Verdict.ALLOWED
    if not (rights.by_roles and access.permission) and not _is_of_the_callers(access, principal, things):
        return Verdict.DENIED
    return Verdict.ALLOWED if _granted(access, principal, things, rights) else Verdict.NOT_GRANTED


def hidden(access: Access, things: Iterable[Owned], rights: Rights) -> Owned | None:
    """The first of `things` that lies outside of what the caller may see; None where there is none."""
    if rights.is_everything:
        return None
    return next((one for one in things if not rights.sees(one.permission or access.permission, one.workspace_id)), None)


def _is_of_the_callers(access: Access, user: Principal, things: list[Owned]) -> bool:
    own = [owned for owned in things if not owned.permission]  # others have a permission of their own
    owns = bool(own) and all(owned.owner_id == user.user_id for owned in own)
    return (
        Caller.SIGNED_IN in access.callers
        or (Caller.ADMIN in access.callers and user.admin)
        or (Caller.OWNER in access.callers and owns)
    )


def _granted(access: Access, user: Principal, things: list[Owned], rights: Rights) -> bool:
    """Whether the user holds the permission for each thing; or everywhere, for what lies outside of workspaces, as does
    what a request would make that may name a workspace and names none."""
    if access.reach is Reach.OUTSIDE or (access.reach is Reach.NAMED and not things):
        return rights.over(access.permission).is_everything
    if rights.by_roles and not all(
        one.owner_id == user.user_id or rights.over(access.others).covers(one.workspace_id) for one in things
    ):
        return False
    return all(rights.over(one.permission or access.permission).covers(one.workspace_id) for one in things)


def _of_a_task(access: Access, task: TaskClaims, about: list[Owned]) -> Verdict:
    if task.deleted:
        return Verdict.DELETED
    if task.given_up:
        return Verdict.GIVEN_UP
    owns = bool(about) and all(_is_the_tasks(task, owned) for owned in about)
    return _verdict(Caller.TASK in access.callers and owns)


def _verdict(allowed: bool) -> Verdict:
    return Verdict.ALLOWED if allowed else Verdict.DENIED


def _is_the_tasks(task: TaskClaims, owned: Owned) -> bool:
    match owned.kind:
        case "task" | "notebook" | "shell":
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
class Declaration:
    """The messages of one operation, and what answers with them. `resolute.api.kernel.operations` makes it of a handler
    whose types were checked."""

    request: type[Request]
    response: type[Message] | None
    """None for what answers with a file."""
    tag: str
    """The chapter of the reference that describes the operation."""
    handle: Callable[[Any, Any], Awaitable[Message | web.StreamResponse]]
    """The handler: of a call and its request."""
    stream: bool = False
    """Whether it answers with one line for each message, as they come."""
    produces: str = ""
    """The media type of the file that it answers with."""


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. `path` is as in the reference, `/api/v1/trials/{trialId}`; `{label...}` takes slashes too."""

    operation: str
    method: str
    path: str
    handler: Handler
    access: Access
    declared: Declaration
    """Its messages, and what answers with them. `handler` is the function that its author wrote, whose docstring is the
    summary in the reference."""
    body: BodyKind = ORDINARY
    """Which kind of body it takes, and so how large a one."""
    failure: Callable[[web.Request, Exception], web.Response] | None = None
    """Makes the answer after an error, where it is not the usual one."""
    permissions: frozenset[str] = field(init=False, repr=False)
    """All that its access can ask for."""

    def __post_init__(self) -> None:
        assert self.access.reach is not None, f"{self.operation}: say what it is about (about, over_scope, outside …)"
        object.__setattr__(self, "permissions", self.access.permissions)
        wrong = [name for name in self.permissions if not PERMISSION.fullmatch(name)]
        assert not wrong, f"{self.operation}: {wrong} is no name of a permission, such as experiment.edit"

    @property
    def streams(self) -> bool:
        """Whether it answers with lines, and its failures have the form of such a line."""
        return self.declared.stream

    @property
    def passes_on(self) -> bool:
        """Whether requests of any method are passed on to a task."""
        return self.body is PASSED_ON

    @property
    def pattern(self) -> str:
        """The path as aiohttp's router wants it."""
        return re.sub(r"{(\w+)\.\.\.}", r"{\1:.+}", self.path)

    @property
    def documented_path(self) -> str:
        return self.path.replace("...}", "}")
