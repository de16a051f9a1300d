"""What the cluster says of itself: to anyone its name and version, to administrators its settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import cache
from threading import Lock
from typing import Any

from aiohttp import web

from resolute.api import openapi, openapi31, wire
from resolute.api.call import Call
from resolute.api.edge.welcome import page
from resolute.api.routing import ADMIN, ANYONE, Route
from resolute.api.settings import VERSION
from resolute.config import masked, masked_defaults
from resolute.config.pools import ResourcePool
from resolute.proto.errors import Unavailable


async def welcome(call: Call) -> web.StreamResponse:
    """A page for browsers: what this is, and what to type."""
    return page(call.request, call.gateway.settings)


async def info(call: Call) -> dict[str, Any]:
    """Name, version and ids of the cluster, for clients that are not signed in."""
    settings = call.gateway.settings
    return {
        "version": VERSION,
        "master_id": settings.cluster_id,
        "cluster_id": settings.cluster_id,
        "cluster_name": settings.cluster_name,
        "telemetry": {"enabled": False, "otel_enabled": False, "otel_endpoint": ""},
    }


async def get_master(call: Call) -> dict[str, Any]:
    """The same, and what the cluster offers."""
    settings = call.gateway.settings
    return {
        "version": VERSION,
        "masterId": settings.cluster_id,
        "clusterId": settings.cluster_id,
        "clusterName": settings.cluster_name,
        "telemetryEnabled": False,
        "ssoProviders": [],
        "externalLoginUri": "",
        "externalLogoutUri": "",
        "branding": "determined",
        "rbacEnabled": False,
        "strictJobQueueControl": False,
        "hasCustomLogo": False,
        "product": "PRODUCT_UNSPECIFIED",
        "featureSwitches": [],
        "userManagementEnabled": True,
    }


async def get_telemetry(call: Call) -> dict[str, Any]:
    """Whether anything is reported to anyone."""
    return {"enabled": False, "segmentKey": ""}


async def get_master_config(call: Call) -> dict[str, Any]:
    """The gateway's settings, without secrets."""
    settings = call.gateway.settings
    return {
        "config": {
            "host": settings.host,
            "port": settings.port,
            "cluster_name": settings.cluster_name,
            **masked({"checkpoint_storage": settings.checkpoint_storage}),
            "resource_manager": {
                "type": "agent",
                "default_compute_resource_pool": settings.default_pool,
                "default_aux_resource_pool": settings.aux_pool,
                "scheduler": settings.scheduler.model_dump(mode="json"),
            },
            "resource_pools": [_pool(pool) for pool in settings.pools],
            "telemetry": {"enabled": False},
            "security": {"session_lifetime_days": settings.session_lifetime_days},
        }
    }


def _pool(pool: ResourcePool) -> dict[str, Any]:
    told = pool.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    if defaults := told.get("task_container_defaults"):
        told["task_container_defaults"] = masked_defaults(defaults)
    return told


async def health(call: Call) -> web.StreamResponse:
    """Whether the database answers: 200 or 503."""
    try:
        await call.gateway.context.log.head()
        database = "up"
    except Unavailable:
        database = "down"
    body = {
        "status": database,
        "database": database,
        "resource_managers": [{"cluster_name": call.gateway.settings.cluster_name, "status": "up"}],
    }
    return wire.json_response(body, status=200 if database == "up" else 503)


async def swagger(call: Call) -> web.Response:
    """This reference for machines, as OpenAPI 2.0."""
    return await _description(call, openapi.document)


async def openapi_31(call: Call) -> web.Response:
    """This reference for machines, as OpenAPI 3.1, with what there is to say of every field."""
    return await _description(call, openapi31.document)


Document = Callable[[Iterable[Route]], dict[str, Any]]


async def _description(call: Call, document: Document) -> web.Response:
    body = await asyncio.to_thread(_described, document, "pretty" in call.request.query)
    return web.Response(body=body, content_type="application/json")


def _described(document: Document, pretty: bool) -> bytes:
    """The OpenAPI document. Strangers may ask for it and making it takes 60 ms, so that each form is made once."""
    with _MAKING:
        return _made(document, pretty)


@cache
def _made(document: Document, pretty: bool) -> bytes:
    from resolute.api.table import ROUTES as ALL  # the table that this module is part of

    return wire.dumps(document(ALL), pretty=pretty)


_MAKING = Lock()


CONFIG = ADMIN.to("cluster.config.view").outside()

ROUTES = (
    Route("Welcome", "GET", "/", welcome, ANYONE),
    Route("Info", "GET", "/info", info, ANYONE),
    Route("Health", "GET", "/health", health, ANYONE),
    Route("GetMaster", "GET", "/api/v1/master", get_master, ANYONE),
    Route("GetTelemetry", "GET", "/api/v1/master/telemetry", get_telemetry, ANYONE),
    Route("GetMasterConfig", "GET", "/api/v1/master/config", get_master_config, CONFIG),
    Route("OpenAPI", "GET", "/api/v1/api.swagger.json", swagger, ANYONE),
    Route("OpenAPI31", "GET", "/api/v1/openapi.json", openapi_31, ANYONE),
)
