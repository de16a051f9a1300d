"""Whether a request may come in: what it names is looked up, `routing.decide` decides, and a refusal says why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from resolute.api import wire
from resolute.api.owners import OWNER, owner_of
from resolute.api.readmodel import ReadModel
from resolute.api.routing import Access, Caller, Owned, Principal, Route, TaskClaims, Verdict, decide
from resolute.api.wire import WireError

NOT_THE_OWNER = "this belongs to another user: only its owner, or an administrator, may do that"


async def check(read: ReadModel, route: Route, principal: Principal | None, path: Mapping[str, str], body: Any) -> None:
    """Raises WireError unless `principal` may make this call, and NotFound when only owners may, and what the request
    names does not exist. `body` is the document that came, whatever its form."""
    access = route.access.asked_by(path, body)
    owners_matter = Caller.OWNER in access.callers and principal is not None and principal.task is None
    named = [
        await _owned(read, subject.kind, value, owners_matter=owners_matter)
        for subject in access.subjects
        for value in subject.values(path, body)
    ]
    verdict = decide(access, principal, named)
    if verdict is not Verdict.ALLOWED:
        raise refusal(verdict, route.operation, access, principal)


async def _owned(read: ReadModel, kind: str, value: str, *, owners_matter: bool) -> Owned:
    if owners_matter and kind in OWNER:
        return Owned(kind, value, owner_id=await owner_of(read, kind, value))
    if not kind.endswith("checkpoint"):
        return Owned(kind, value)
    experiment_id = await read.experiment_of(value)
    if kind == "checkpoint":
        return Owned(kind, value, experiment_id)
    return Owned(kind, value, experiment_id, await read.begun_from(value))


def refusal(verdict: Verdict, operation: str, access: Access, principal: Principal | None) -> WireError:
    """The answer to a caller who may not come in."""
    task = principal.task if principal is not None else None
    if verdict is Verdict.UNKNOWN:
        return WireError(wire.UNAUTHENTICATED, "no valid credentials came with the request: log in")
    if task is not None and (over := _over(task)) is not None:
        return over
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
