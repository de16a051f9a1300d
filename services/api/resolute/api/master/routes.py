"""The operations about the cluster itself, other than those that answer its OpenAPI documents (`documents.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aiohttp import web

from resolute.api import wire
from resolute.api.call import Call
from resolute.api.cluster_message.routes import active_message
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.logs.messages import LogLevel
from resolute.api.master.messages import (
    ChangedMasterConfig,
    GetMaster,
    GetMasterConfig,
    GetTelemetry,
    Health,
    HealthAnswer,
    Info,
    InfoAnswer,
    LogConfig,
    MasterAnswer,
    MasterConfigAnswer,
    PatchMasterConfig,
    TelemetryAnswer,
)
from resolute.api.routing import ADMIN, ANYONE
from resolute.api.settings import VERSION, ApiSettings
from resolute.config import masked, masked_defaults
from resolute.config.pools import ResourcePool
from resolute.proto import master_config as proto
from resolute.proto.errors import InvalidConfig, Unavailable
from resolute.proto.master_config import ChangeLogging
from resolute.service.logs import own_log


async def info(call: Call, request: Info) -> InfoAnswer:
    """Name, version and ids of the cluster, for clients that are not signed in."""
    settings = call.gateway.settings
    return InfoAnswer(
        version=VERSION,
        master_id=settings.cluster_id,
        cluster_id=settings.cluster_id,
        cluster_name=settings.cluster_name,
        telemetry={"enabled": False, "otel_enabled": False, "otel_endpoint": ""},
    )


async def get_master(call: Call, request: GetMaster) -> MasterAnswer:
    """The same, and what the cluster offers."""
    settings = call.gateway.settings
    return MasterAnswer(
        version=VERSION,
        master_id=settings.cluster_id,
        cluster_id=settings.cluster_id,
        cluster_name=settings.cluster_name,
        rbac_enabled=settings.authz.shows_roles,
        strict_job_queue_control=settings.authz.strict_job_queue_control,
        has_custom_logo=False,
        feature_switches=("streaming_updates",),
        cluster_message=await active_message(call),
    )


async def get_telemetry(call: Call, request: GetTelemetry) -> TelemetryAnswer:
    """Whether anything is reported to anyone."""
    return TelemetryAnswer(enabled=False)


async def get_master_config(call: Call, request: GetMasterConfig) -> MasterConfigAnswer:
    """The gateway's settings, without secrets."""
    own = own_log()
    log = {"level": own.level_name, "color": own.color} if own else {}
    return MasterConfigAnswer(config={"log": log, **_configuration(call.gateway.settings)})


async def patch_master_config(call: Call, request: PatchMasterConfig) -> Empty:
    """Change the log that the gateways write about themselves, while they run and from then on."""
    await call.send(_change(request.body))
    await call.gateway.own_log.look()
    return Empty()


LEVEL, COLOR = "log.level", "log.color"


def _change(body: ChangedMasterConfig) -> ChangeLogging:
    """Raises InvalidConfig."""
    given = (body.config.log if body.config else None) or LogConfig()
    names = body.field_mask.paths if body.field_mask else _names_in(given)
    for place, name in enumerate(names):
        if name not in (LEVEL, COLOR):
            raise InvalidConfig(f"fieldMask.paths[{place}]: expected {LEVEL} or {COLOR}; found {name!r:.60}")
    if not names:
        raise InvalidConfig(f"config: nothing to change was found; give {LEVEL}, {COLOR} or both")
    own = own_log()
    if COLOR in names and given.color and (own is None or not own.text):
        raise InvalidConfig("config.log.color: this gateway writes JSON lines, which have no colour; give false")
    unspecified = given.level is LogLevel.UNSPECIFIED
    level = None if unspecified else proto.LogLevel(given.level.removeprefix("LOG_LEVEL_").lower())
    return ChangeLogging(LEVEL in names, COLOR in names, level, given.color)


def _names_in(given: LogConfig) -> tuple[str, ...]:
    level = (LEVEL,) if given.level is not LogLevel.UNSPECIFIED else ()
    return (*level, COLOR) if given.color is not None else level


def _configuration(settings: ApiSettings) -> Mapping[str, Any]:
    """In the words of Determined's master configuration."""
    return {
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
        "security": {
            "session_lifetime_days": settings.session_lifetime_days,
            "authz": settings.authz.model_dump(mode="json"),
        },
    }


def _pool(pool: ResourcePool) -> Mapping[str, Any]:
    settings = pool.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    if defaults := settings.get("task_container_defaults"):
        settings["task_container_defaults"] = masked_defaults(defaults)
    return settings


async def health(call: Call, request: Health) -> web.Response:
    """Whether the database answers: 200 or 503."""
    database = "up" if await _database_answers(call) else "down"
    answer = HealthAnswer(
        status=database,
        database=database,
        resource_managers=({"cluster_name": call.gateway.settings.cluster_name, "status": "up"},),
    )
    return wire.json_response(answer, status=200 if database == "up" else 503)


async def _database_answers(call: Call) -> bool:
    try:
        await call.gateway.context.log.head()
    except Unavailable:
        return False
    return True


ROUTES = (
    operation("Info", "GET", "/info", info, ANYONE, request=Info, response=InfoAnswer, tag="Outside /api/v1"),
    operation("Health", "GET", "/health", health, ANYONE, request=Health, response=HealthAnswer, tag="Outside /api/v1"),
    operation(
        "GetMaster",
        "GET",
        "/api/v1/master",
        get_master,
        ANYONE,
        request=GetMaster,
        response=MasterAnswer,
        tag="Cluster",
    ),
    operation(
        "GetTelemetry",
        "GET",
        "/api/v1/master/telemetry",
        get_telemetry,
        ANYONE,
        request=GetTelemetry,
        response=TelemetryAnswer,
        tag="Internal",
    ),
    operation(
        "GetMasterConfig",
        "GET",
        "/api/v1/master/config",
        get_master_config,
        ADMIN.to("cluster.config.view").outside(),
        request=GetMasterConfig,
        response=MasterConfigAnswer,
        tag="Cluster",
    ),
    operation(
        "PatchMasterConfig",
        "PATCH",
        "/api/v1/master/config",
        patch_master_config,
        ADMIN.to("cluster.config.edit").outside(),
        request=PatchMasterConfig,
        response=Empty,
        tag="Cluster",
    ),
)
