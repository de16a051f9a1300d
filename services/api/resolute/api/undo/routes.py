"""What requests changed. To put it back is left to whoever asks, by the operations that change it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from resolute.api.call import Call
from resolute.api.kernel.operations import operation
from resolute.api.routing import ADMIN, SIGNED_IN, Owned
from resolute.api.undo import queries
from resolute.api.undo.messages import (
    ChangeRequest,
    ChangeRequestAnswer,
    ChangeRequestsAnswer,
    GetChangeRequests,
    OneChangeRequest,
    RequestedChange,
)
from resolute.eventlog.sentences import sentence
from resolute.eventlog.undoing import Key, Plan, Undoing, Values, plan, requests_in
from resolute.eventlog.why import Fact
from resolute.proto.errors import NotFound
from resolute.proto.streams import key_of

LISTED = 20

OF_OTHERS = ADMIN.to("cluster.history.view").outside()


async def get_change_requests(call: Call, request: GetChangeRequests) -> ChangeRequestsAnswer:
    """The newest requests that changed something that can be put back: one's own, or everybody's for those who may
    read the log."""
    found = requests_in(await queries.newest_changes(call.gateway.context.log))
    newest: list[ChangeRequest] = []
    for request_id, facts in reversed(found.items()):
        if len(newest) == (request.limit or LISTED):
            break
        if not _may_see(call, facts[0]) or (request.actor and _name(facts[0]) != request.actor):
            continue
        if visible := await _visible_of(call, facts):
            newest.append(_listed(request_id, visible))
    return ChangeRequestsAnswer(requests=tuple(newest))


async def get_change_request(call: Call, request: OneChangeRequest) -> ChangeRequestAnswer:
    """What one request changed, what that was before, and what stands in the way of putting it back."""
    facts = await queries.events_of(call.gateway.context.log, request.request_id)
    found = await _plan(call, [fact for fact in facts if _may_see(call, fact)])
    if not (found.undoings or found.left):
        raise NotFound(f"request {request.request_id} not found")
    return ChangeRequestAnswer(
        id=request.request_id,
        actor=found.actor,
        changes=tuple(_change(one, found.values) for one in found.undoings),
        others=tuple(map(_sentence, found.left)),
    )


def _may_see(call: Call, fact: Fact) -> bool:
    return _name(fact) == call.principal.username or call.may(OF_OTHERS, Owned("log", ""))


def _name(fact: Fact) -> str:
    """The user who acted, by whatever means: the log names an access token beside its user."""
    return fact.row.actor.partition(" (access token ")[0]


async def _visible_of(call: Call, facts: Sequence[Fact]) -> Sequence[Fact]:
    """Those of the events of a request that are about things within the caller's scope."""
    if call.scope.is_everything:
        return facts
    return sorted({one.fact.position: one.fact for one in (await _plan(call, facts)).undoings}.values(), key=_position)


async def _plan(call: Call, facts: Sequence[Fact]) -> Plan:
    """Without what lies outside of the caller's scope."""
    found = plan(facts, await queries.history_of(call.gateway.context.log, facts))
    if call.scope.is_everything:
        return found
    seen = [one for one in found.undoings if await _is_visible(call, one.key, found.values)]
    return replace(found, undoings=tuple(seen), left=())


async def _is_visible(call: Call, key: Key, values: Values) -> bool:
    kind, thing = _place(key, values)
    try:
        await call.check_visible(kind, thing)
    except NotFound:
        return False
    return True


def _place(key: Key, values: Values) -> tuple[str, str]:
    """The kind and the id of the thing that says in which workspace a changed thing lies."""
    match key.kind:
        case "run":
            return "trial", key.thing
        case "model version":
            return "model", key.thing.partition("/")[0]
        case "template":
            return "workspace", str(values.get(key._replace(property="workspace_id"), 0))
        case "policies":
            return "workspace", key.thing.partition("/")[0]
    return key.kind, key.thing


def _position(fact: Fact) -> int:
    return fact.position


def _listed(request_id: str, facts: Sequence[Fact]) -> ChangeRequest:
    row = facts[0].row
    return ChangeRequest(
        id=request_id, actor=row.actor, recorded_at=row.recorded_at, changes=len(facts), says=_sentence(facts[0])
    )


def _change(one: Undoing, values: Values) -> RequestedChange:
    return RequestedChange(
        kind=one.key.kind,
        thing=one.key.thing,
        property=one.key.property,
        says=_sentence(one.fact),
        now=one.now,
        before=one.before,
        obstacle=one.obstacle,
        properties={key.property: value for key, value in values.items() if key[:2] == one.key[:2]},
    )


def _sentence(fact: Fact) -> str:
    """What happened. Sentences about experiments leave out which one it is: they are written for one stream."""
    said = sentence(fact.row, fact.data)
    return said.replace("the experiment", f"experiment {key_of(fact.row.stream)}", 1)


TAG = "Internal"
READ = SIGNED_IN.to("experiment.view").over_scope().showing(OF_OTHERS.permission)

ROUTES = (
    operation(
        "GetChangeRequests",
        "GET",
        "/api/v1/change-requests",
        get_change_requests,
        READ,
        request=GetChangeRequests,
        response=ChangeRequestsAnswer,
        tag=TAG,
    ),
    operation(
        "GetChangeRequest",
        "GET",
        "/api/v1/change-requests/{requestId}",
        get_change_request,
        READ,
        request=OneChangeRequest,
        response=ChangeRequestAnswer,
        tag=TAG,
    ),
)
