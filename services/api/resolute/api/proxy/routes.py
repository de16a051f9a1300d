"""`/proxy/<task>[:<port>]/…`: whatever a task serves, for those who may see the task."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from aiohttp import web

from resolute.api import wire
from resolute.api.access import refusal
from resolute.api.body_kinds import PASSED_ON
from resolute.api.call import NOBODY, Call, failure_of
from resolute.api.kernel.operations import download
from resolute.api.proxy import messages as m
from resolute.api.proxy import tunnels
from resolute.api.proxy.connector import NotHttp
from resolute.api.proxy.dials import Door, Unreachable
from resolute.api.proxy.forwarding import forward
from resolute.api.proxy.headers import RedirectsOutside, prefix
from resolute.api.proxy.pages import Trouble, shown
from resolute.api.proxy.targets import VIEW_TASK, VIEW_TRIAL, Service, Target, not_found, service_of
from resolute.api.routing import SIGNED_IN, Verdict
from resolute.proto.errors import NotFound
from resolute.proto.interactive import TaskKind
from resolute.proto.proxy import Hop

TAG = "Outside /api/v1"

BAD_GATEWAY = wire.Code(14, "Unavailable", 502)


async def enter_bare(call: Call, request: m.EnterTask) -> web.StreamResponse:
    """To the first page of what a task serves."""
    service = service_of(request.service)
    query = f"?{call.request.rel_url.raw_query_string}" if call.request.rel_url.raw_query_string else ""
    return web.Response(status=308, headers={"Location": f"{prefix(service.name)}{query}"})


async def enter(call: Call, request: m.EnterTask) -> web.StreamResponse:
    """What a task serves at its default port, or at one of its `proxy_ports` (`<task>:<port>`). Any method, streaming
    in both directions, and WebSockets. A port with `proxy_tcp` is reached over a WebSocket: its messages of bytes are
    what is sent and received."""
    service = service_of(request.service)
    if call.principal is NOBODY:
        return await _entered_by_stranger(call, service)
    target = await call.gateway.proxied.targets.find(service)
    if not call.scope_of(target.permission).covers(target.workspace_id):
        raise not_found(service.name)
    if target.ended or not target.agent_id:
        return shown(call.request, _not_running(service, target))
    return await _entered(call, service, target.door(service))


async def _entered_by_stranger(call: Call, service: Service) -> web.StreamResponse:
    """To the sshd of a shell, which asks for its key: clients of Determined open shells so. Nothing else is told to a
    caller without credentials, not even what there is."""
    refused = refusal(Verdict.UNKNOWN, "EnterTask", ACCESS, None)
    may = service.port is None and tunnels.is_upgrade(call.request)
    if not may or call.gateway.settings.proxy.shells_need_session:
        raise refused
    try:
        target = await call.gateway.proxied.targets.find(service)
    except NotFound:
        raise refused from None
    if target.kind != TaskKind.SHELL or target.ended or not target.agent_id:
        raise refused
    return await _entered(call, service, target.door(service))


async def _entered(call: Call, service: Service, door: Door) -> web.StreamResponse:
    call.forget_body()
    gateway = call.gateway
    used = partial(gateway.proxied.usage.note, service.task_id)
    await used()
    try:
        if tunnels.is_upgrade(call.request):
            return await _tunnelled(call, service, door)
        return await forward(call.request, gateway.proxied.clients, door, service, gateway.settings)
    except Unreachable as error:
        gateway.proxied.targets.forget(service)
        return shown(call.request, _unreachable(service, error))
    except NotHttp as error:
        return shown(call.request, Trouble(wire.INVALID_ARGUMENT, 400, "A WebSocket is needed", error.message))
    except RedirectsOutside as error:
        return shown(call.request, _redirects(service, str(error)))


async def _tunnelled(call: Call, service: Service, door: Door) -> web.StreamResponse:
    proxied, settings = call.gateway.proxied, call.gateway.settings
    used = partial(proxied.usage.note, service.task_id)
    link = await proxied.dials.connect(door)
    if link.tcp:
        return await tunnels.tcp(call.request, link, used)
    return await tunnels.websocket(call.request, link, service, settings, used)


# ---------------------------------------------------------------- what stands in the way


def _not_running(service: Service, target: Target) -> Trouble:
    kind = "trial" if target.kind == "TRIAL" else target.kind.lower()
    if target.ended:
        message = f"The {kind} {service.task_id} has ended."
        return Trouble(wire.GONE, 410, "The task has ended", message, "Start another one.")
    why = f" {target.why}." if target.why else ""
    message = f"The {kind} {service.task_id} does not run yet.{why}"
    return Trouble(
        wire.UNAVAILABLE, 503, "The task does not run yet", message, "Try again when it has started.", passes=True
    )


_TITLES = {
    Hop.AGENT: "The agent of the task does not answer",
    Hop.GATEWAY: "The agent cannot connect to the gateway",
    Hop.TASK: "The task does not answer",
}

_ADVICE = {
    Hop.AGENT: "See whether the agent is alive: det agent list.",
    Hop.GATEWAY: "An administrator should compare api.proxy.host and api.proxy.address with what the agent can reach.",
    Hop.TASK: "Its program may still be starting, or may have failed: det task logs shows what it printed.",
}


def _unreachable(service: Service, error: Unreachable) -> Trouble:
    message = f"{service.name}: {error.message}."
    return Trouble(BAD_GATEWAY, 502, _TITLES[error.hop], message, _ADVICE[error.hop], passes=error.hop is Hop.TASK)


def _redirects(service: Service, to: str) -> Trouble:
    message = f"{service.name} redirects to {to!r}, which is another part of the gateway."
    advice = f"Configure its program to serve below {prefix(service.name)}."
    return Trouble(BAD_GATEWAY, 502, "The task redirects outside of its path", message, advice)


def failure(request: web.Request, error: Exception) -> web.Response:
    """What is answered where the request was not let in, or the task was not found."""
    code, message = failure_of(error)
    if code is wire.UNAUTHENTICATED and request.method in ("GET", "HEAD") and _wants_page(request):
        target = request.rel_url.raw_path
        return web.Response(status=303, headers={"Location": f"/det/login?redirect={target}"})
    title = "There is no such service" if isinstance(error, NotFound) else "This cannot be opened"
    return shown(request, Trouble(code, code.http, title, message))


def _wants_page(request: web.Request) -> bool:
    return "text/html" in request.headers.get("Accept", "")


ACCESS = replace(SIGNED_IN.to(VIEW_TASK).over_scope(), besides=frozenset({VIEW_TRIAL}))
"""The permission that counts is that for the kind of the task, in the task's workspace."""

ROUTES = tuple(
    replace(
        download(name, "GET", path, handler, access, request=request, produces="*/*", tag=TAG),
        body=PASSED_ON,
        failure=failure,
    )
    for name, path, handler, request, access in (
        ("EnterTaskBare", "/proxy/{service}", enter_bare, m.EnterTask, ACCESS),
        ("EnterTask", "/proxy/{service}/", enter, m.EnterTask, replace(ACCESS, to_strangers=True)),
        ("EnterTaskAt", "/proxy/{service}/{path...}", enter, m.EnterTaskAt, ACCESS),
    )
)
