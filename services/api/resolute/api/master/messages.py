"""The messages about the cluster itself."""

from __future__ import annotations

from typing import Annotated

from resolute.api.cluster_message.messages import ClusterMessage
from resolute.api.kernel.common import Name
from resolute.api.kernel.fields import Flag, JsonObject, OrAbsent, WireEnum, items
from resolute.api.kernel.messages import Bare, InBody, Input, Message, Request
from resolute.api.logs.messages import LogLevel


class Info(Request):
    pass


class InfoAnswer(Message, wire_name="InfoResponse", alias_generator=None):
    version: str
    master_id: str
    cluster_id: str
    cluster_name: str
    telemetry: JsonObject
    sso_providers: OrAbsent[tuple[JsonObject, ...]] = None


class Health(Request):
    pass


class HealthAnswer(Message, wire_name="HealthResponse", alias_generator=None):
    status: str
    """`up` or `down`."""
    database: str
    resource_managers: tuple[JsonObject, ...]


class GetMaster(Request):
    pass


class Product(WireEnum, wire_name="GetMasterResponseProduct"):
    UNSPECIFIED = "PRODUCT_UNSPECIFIED"
    COMMUNITY = "PRODUCT_COMMUNITY"


class SSOProvider(Message, wire_name="v1SSOProvider"):
    name: str
    sso_url: str
    type: str
    always_redirect: bool = False


class MasterAnswer(Message, wire_name="v1GetMasterResponse"):
    """The cluster, and what it offers. What belongs to Determined's commercial edition is off."""

    version: str
    master_id: str
    cluster_id: str
    cluster_name: str
    telemetry_enabled: bool = False
    sso_providers: tuple[SSOProvider, ...] = ()
    external_login_uri: str = ""
    external_logout_uri: str = ""
    branding: str = "determined"
    rbac_enabled: bool = False
    strict_job_queue_control: bool
    has_custom_logo: bool
    product: Product = Product.UNSPECIFIED
    feature_switches: tuple[str, ...] = ()
    user_management_enabled: bool = True
    cluster_message: OrAbsent[ClusterMessage] = None
    """What administrators show to everybody, from its start to its end."""


class GetTelemetry(Request):
    pass


class TelemetryAnswer(Message, wire_name="v1GetTelemetryResponse"):
    enabled: bool
    segment_key: str = ""


class GetMasterConfig(Request):
    pass


class MasterConfigAnswer(Message, wire_name="v1GetMasterConfigResponse"):
    config: JsonObject


class FieldMask(Input, wire_name="protobufFieldMask"):
    paths: Annotated[tuple[Name, ...], items(16)] = ()
    """`log.level`, `log.color`."""


class LogConfig(Input, wire_name="v1LogConfig"):
    level: LogLevel = LogLevel.UNSPECIFIED
    """Lines of this level and above are written. Unspecified: as the master configuration says."""
    color: Flag | None = None
    """Only text has colour: a gateway that writes JSON lines refuses `true`. None: coloured on a terminal."""


class Config(Input, wire_name="v1Config"):
    log: LogConfig | None = None


class ChangedMasterConfig(Input, wire_name="v1PatchMasterConfigRequest"):
    config: Config | None = None
    field_mask: FieldMask | None = None
    """Which fields change. Without it, those that `config` has."""


class PatchMasterConfig(Request):
    body: InBody[ChangedMasterConfig]


class GetDocument(Request):
    pass


class Document(Bare):
    """An OpenAPI document."""

    value: JsonObject
