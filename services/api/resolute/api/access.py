"""Whether a request may come in: where the caller holds permissions is resolved, what the request names is looked up,
`routing.decide` decides, and a refusal says why. A call that comes in carries its scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from resolute.api import wire
from resolute.api.kernel.rows import Place
from resolute.api.places import Places, missing
from resolute.api.role_grants import required_by
from resolute.api.routing import (
    EVERY_RIGHT,
    Access,
    Caller,
    Owned,
    Principal,
    Route,
    TaskClaims,
    Verdict,
    decide,
    hidden,
)
from resolute.api.scope import Bounds, Grants, Outside, Rights, Scope, viewing
from resolute.api.subjects import Reach
from resolute.api.wire import WireError
from resolute.proto.errors import Forbidden

NOT_THE_OWNER = "this belongs to another user: only its owner, or an administrator, may do that"


@dataclass(frozen=True, slots=True)
class Named:
    """What a request has, as far as it may name things: its path, its query, and the document that came as its body,
    whatever its form."""

    path: Mapping[str, str]
    query: Mapping[str, list[str]]
    body: Any


@dataclass(frozen=True, slots=True)
class Granted:
    """A request that may come in: what was asked of the caller, what the request names, what rights the caller has, and
    what bounds the request has."""

    route: Route
    access: Access
    named: tuple[Owned, ...]
    rights: Rights
    bounds: Bounds


async def rights_of(grants: Grants, route: Route, principal: Principal | None) -> Rights:
    """Where the caller holds what the route can ask for. Tasks are held to what is their own instead."""
    if principal is None or principal.task is not None or principal.monitor:
        return EVERY_RIGHT
    held = await grants.held(principal, route.permissions)
    return Rights({permission: Scope(where) for permission, where in held.items()}, grants.by_roles)


def are_same(rights: Rights, granted: Granted) -> bool:
    """Whether the caller of a request that came in holds now what it held then."""
    permissions = granted.route.permissions
    return all(rights.over(one) == granted.rights.over(one) for one in permissions)


async def check(places: Places, route: Route, principal: Principal | None, rights: Rights, request: Named) -> Granted:
    """Raises ResoluteError unless `principal` may make this call: NotFound for what does not exist or lies outside of
    what a user may see, where that matters. Otherwise nothing is looked up."""
    access = route.access.asked_by(request.path, request.body)
    named = tuple(
        Owned(subject.kind, value, permission=subject.permission)
        for subject in access.subjects
        for value in subject.values(request.path, request.body, request.query)
    )
    await _check(places, route, access, principal, rights, named)
    return Granted(route, access, named, rights, bounds_of(access, rights))


async def check_again(places: Places, grants: Grants, granted: Granted, principal: Principal) -> None:
    """For calls that wait and streams that go on. Raises ResoluteError when the caller, a user, may not make this call
    any more, because of a role that was taken away or a thing that was moved to another workspace."""
    rights = await rights_of(grants, granted.route, principal)
    if not (rights.is_everything and granted.rights.is_everything):
        await _check(places, granted.route, granted.access, principal, rights, granted.named)


async def _check(
    places: Places,
    route: Route,
    access: Access,
    principal: Principal | None,
    rights: Rights,
    named: Iterable[Owned],
) -> None:
    found = [await _found(places, access, one, principal, rights) for one in named]
    verdict = decide(access, principal, found, rights)
    if verdict is not Verdict.ALLOWED:
        raise refusal(verdict, route.operation, access, principal)


def bounds_of(access: Access, rights: Rights) -> Bounds:
    if access.reach in (Reach.OUTSIDE, Reach.ONESELF):
        return Outside()
    return rights.over(viewing(access.permission)) & rights.over(access.permission)


async def _found(places: Places, access: Access, named: Owned, principal: Principal | None, rights: Rights) -> Owned:
    """Raises NotFound for the first thing that does not exist or is hidden, in the order of the request, so that the
    answer does not tell these two apart."""
    if principal is not None and principal.task is not None:
        return await _of_a_task(places, named)
    matters = Caller.OWNER in access.callers or not rights.is_everything
    if not matters or named.kind == "user" or not access.callers - {Caller.TASK}:
        return named

    def at(place: Place) -> Owned:
        return replace(named, owner_id=place.owner_id, workspace_id=place.workspace_id)

    def seen(place: Place) -> bool:
        return hidden(access, [at(place)], rights) is None

    return at(await places.of(named.kind, named.value, seen))


async def _of_a_task(places: Places, named: Owned) -> Owned:
    if not named.kind.endswith("checkpoint"):
        return named
    experiment_id = await places.experiment_of(named.value)
    if named.kind == "checkpoint":
        return replace(named, experiment_id=experiment_id)
    return replace(named, experiment_id=experiment_id, begun_from=await places.begun_from(named.value))


def check_each(granted: Granted, principal: Principal, found: Owned) -> None:
    """Raises ResoluteError unless the caller may do this to one of the things that an action on many has found."""
    access = granted.access.each
    if access is None:
        return
    match decide(access, principal, [found], granted.rights):
        case Verdict.ALLOWED:
            return
        case Verdict.MISSING:
            raise missing(found.kind, found.value)
    raise Forbidden(NOT_THE_OWNER)


async def check_visible(places: Places, scope: Scope, kind: str, value: str) -> None:
    """Raises NotFound for what does not exist or lies outside of `scope`."""
    await places.of(kind, value, lambda place: scope.covers(place.workspace_id))


def refusal(verdict: Verdict, operation: str, access: Access, principal: Principal | None) -> WireError:
    """The answer to a caller who may not come in."""
    task = principal.task if principal is not None else None
    if verdict is Verdict.UNKNOWN:
        return WireError(wire.UNAUTHENTICATED, "no valid credentials came with the request: log in")
    if task is not None and (over := _over(task)) is not None:
        return over
    if verdict is Verdict.NOT_GRANTED:
        required = required_by(access.permission)
        return WireError(wire.PERMISSION_DENIED, f"access denied; required permissions: {required}")
    if task is None and Caller.OWNER in access.callers:
        return WireError(wire.PERMISSION_DENIED, NOT_THE_OWNER)
    caller = _caller(principal)
    allowed = ", ".join(sorted(one.value for one in access.callers))
    if access.asked_for_by:
        field = access.asked_for_by
        return WireError(wire.PERMISSION_DENIED, f"{field}: {caller} may not set it: it is for {allowed}; leave it out")
    return WireError(wire.PERMISSION_DENIED, f"{caller} may not call {operation}: it is for {allowed}")


def _caller(principal: Principal | None) -> str:
    if principal is not None and principal.task is not None:
        return "a task's token"
    return "the metrics token" if principal is not None and principal.monitor else "this user"


def check_believed(principal: Principal | None) -> None:
    """For calls that wait: raises WireError when the run of the task that calls was given up, or its trial deleted."""
    task = principal.task if principal is not None else None
    if task is not None and (over := _over(task)) is not None:
        raise over


def _over(task: TaskClaims) -> WireError | None:
    if task.deleted:
        return WireError(wire.NOT_FOUND, f"trial {task.trial_id} not found: it was deleted")
    if task.given_up:
        # A status of its own: the harness ends the task when it meets it (docs/decisions/0039).
        return WireError(wire.GONE, f"this run is over, and nothing is taken from it any more: {task.given_up}")
    return None
