"""The messages about agents, their slots, and resource pools."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Id, Limit, Name, Offset, OrderBy, Pagination
from resolute.api.kernel.fields import Flag, Needed, WireEnum, items
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request
from resolute.api.pools.cloud_messages import AwsDetail, GcpDetail

# ---------------------------------------------------------------- agents and their slots


class DeviceType(WireEnum, wire_name="devicev1Type"):
    UNSPECIFIED = "TYPE_UNSPECIFIED"
    CPU = "TYPE_CPU"
    """Also that of artificial slots."""
    CUDA = "TYPE_CUDA"
    ROCM = "TYPE_ROCM"

    @classmethod
    def of(cls, kind: str) -> DeviceType:
        """The type of a slot, by its kind in the log."""
        return _OF_KINDS.get(kind, cls.UNSPECIFIED)


_OF_KINDS = {
    "cuda": DeviceType.CUDA,
    "rocm": DeviceType.ROCM,
    "cpu": DeviceType.CPU,
    "artificial": DeviceType.CPU,
}


class Device(Message, wire_name="v1Device"):
    id: int = 0
    """The number of the slot on its agent."""
    brand: str = ""
    uuid: str = ""
    type: DeviceType = DeviceType.UNSPECIFIED


class ContainerState(WireEnum, wire_name="containerv1State"):
    UNSPECIFIED = "STATE_UNSPECIFIED"
    ASSIGNED = "STATE_ASSIGNED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"
    TERMINATED = "STATE_TERMINATED"


class Container(Message, wire_name="v1Container"):
    """A container that works for an allocation on one agent."""

    id: str
    """Asterisks in the place of an id that the caller may not see."""
    parent: str = ""
    """The id of the agent."""
    state: ContainerState
    devices: tuple[Device, ...] = ()
    permission_denied: bool = False
    """Whether the caller may not see the allocation."""


class Slot(Message, wire_name="v1Slot"):
    id: str = ""
    device: Device | None = None
    enabled: bool = False
    draining: bool = False
    container: Container | None = None
    """The container that holds the slot; null for a slot that is free."""


class DeviceStats(Message, wire_name="v1DeviceStats"):
    total: int
    disabled: int
    draining: int
    states: Mapping[str, int] = {}
    """How many slots containers hold, by the state of the container."""


class SlotStats(Message, wire_name="v1SlotStats"):
    type_stats: Mapping[str, DeviceStats]
    brand_stats: Mapping[str, DeviceStats]


class Agent(Message, wire_name="v1Agent"):
    id: str
    registered_time: datetime | None = None
    slots: Mapping[str, Slot] = {}
    """By the slot's number."""
    containers: Mapping[str, Container] = {}
    """Those that the caller may see, by their ids."""
    resource_pools: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    enabled: bool = False
    draining: bool = False
    version: str = ""
    """The version of Determined whose REST interface the cluster speaks: clients compare it with their own."""
    release: str = ""
    """The agent's own release of Resolute."""
    slot_stats: SlotStats


class SortAgentsBy(WireEnum, wire_name="v1GetAgentsRequestSortBy"):
    UNSPECIFIED = "SORT_BY_UNSPECIFIED"
    ID = "SORT_BY_ID"
    TIME = "SORT_BY_TIME"
    """When the agent joined."""


class GetAgents(Request):
    exclude_containers: InQuery[Flag | None] = None
    exclude_slots: InQuery[Flag | None] = None
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    order_by: InQuery[OrderBy] = OrderBy.UNSPECIFIED
    sort_by: InQuery[SortAgentsBy] = SortAgentsBy.UNSPECIFIED


class AgentsAnswer(Message, wire_name="v1GetAgentsResponse"):
    agents: tuple[Agent, ...]
    pagination: Pagination | None


class GetAgent(Request):
    agent_id: InPath[Name]


class AgentAnswer(Message, wire_name="v1GetAgentResponse"):
    agent: Agent


class GetSlots(Request):
    agent_id: InPath[Name]


class SlotsAnswer(Message, wire_name="v1GetSlotsResponse"):
    slots: tuple[Slot, ...] = ()


class GetSlot(Request):
    agent_id: InPath[Name]
    slot_id: InPath[Name]


class SlotAnswer(Message, wire_name="v1GetSlotResponse"):
    slot: Slot | None


# ---------------------------------------------------------------- enabling and disabling


class EnableAgent(Request):
    agent_id: InPath[Name]


class EnabledAgentAnswer(Message, wire_name="v1EnableAgentResponse"):
    agent: Agent | None


class AgentDrain(Input, wire_name="v1DisableAgentRequest"):
    agent_id: Name = ""
    """The agent in the path counts."""
    drain: Flag = False
    """Whether the work that runs there may end by itself."""


class DisableAgent(Request):
    agent_id: InPath[Name]
    body: InBody[AgentDrain]


class DisabledAgentAnswer(Message, wire_name="v1DisableAgentResponse"):
    agent: Agent | None


class EnableSlot(Request):
    agent_id: InPath[Name]
    slot_id: InPath[Name]


class EnabledSlotAnswer(Message, wire_name="v1EnableSlotResponse"):
    slot: Slot | None


class SlotDrain(Input, wire_name="v1DisableSlotRequest"):
    agent_id: Name = ""
    """The agent and the slot in the path count."""
    drain: Flag = False
    """Whether the work that holds the slot may end by itself."""
    slot_id: Name = ""


class DisableSlot(Request):
    agent_id: InPath[Name]
    slot_id: InPath[Name]
    body: InBody[SlotDrain]


class DisabledSlotAnswer(Message, wire_name="v1DisableSlotResponse"):
    slot: Slot | None


# ---------------------------------------------------------------- resource pools


class SchedulerType(WireEnum, wire_name="v1SchedulerType"):
    UNSPECIFIED = "SCHEDULER_TYPE_UNSPECIFIED"
    PRIORITY = "SCHEDULER_TYPE_PRIORITY"
    FAIR_SHARE = "SCHEDULER_TYPE_FAIR_SHARE"
    ROUND_ROBIN = "SCHEDULER_TYPE_ROUND_ROBIN"
    """For pools that serve jobs in the order of their arrival. The wire has no name for those; clients know this one,
    and show no priority."""
    KUBERNETES = "SCHEDULER_TYPE_KUBERNETES"
    SLURM = "SCHEDULER_TYPE_SLURM"
    PBS = "SCHEDULER_TYPE_PBS"


class FittingPolicy(WireEnum, wire_name="v1FittingPolicy"):
    UNSPECIFIED = "FITTING_POLICY_UNSPECIFIED"
    BEST = "FITTING_POLICY_BEST"
    WORST = "FITTING_POLICY_WORST"
    KUBERNETES = "FITTING_POLICY_KUBERNETES"
    SLURM = "FITTING_POLICY_SLURM"
    PBS = "FITTING_POLICY_PBS"


class PoolType(WireEnum, wire_name="v1ResourcePoolType"):
    UNSPECIFIED = "RESOURCE_POOL_TYPE_UNSPECIFIED"
    """For pools with a provider: the wire has names for static pools and for those of clouds alone."""
    AWS = "RESOURCE_POOL_TYPE_AWS"
    GCP = "RESOURCE_POOL_TYPE_GCP"
    STATIC = "RESOURCE_POOL_TYPE_STATIC"
    K8S = "RESOURCE_POOL_TYPE_K8S"


class QueueStats(Message, wire_name="v1QueueStats"):
    """How many jobs of a pool wait for slots, and how many hold some."""

    queued_count: int
    scheduled_count: int


class PriorityClass(Message, wire_name="v1K8PriorityClass"):
    """A class of priorities on Kubernetes, which this release does not support."""

    priority_class: str = ""
    priority_value: int = 0


class PrioritySchedulerDetail(Message, wire_name="v1ResourcePoolPrioritySchedulerDetail"):
    preemption: bool
    default_priority: int
    k8_priorities: tuple[PriorityClass, ...] = ()


class PoolDetail(Message, wire_name="v1ResourcePoolDetail"):
    aws: AwsDetail | None = None
    gcp: GcpDetail | None = None
    priority_scheduler: PrioritySchedulerDetail | None
    """Null for a pool that does not go by priorities."""


class ResourcePool(Message, wire_name="v1ResourcePool"):
    """A resource pool. What clouds alone have is empty."""

    name: str
    description: str
    type: PoolType
    num_agents: int
    slots_available: int
    slots_used: int
    slot_type: DeviceType
    slots_per_agent: int = 0
    aux_container_capacity: int
    aux_container_capacity_per_agent: int
    aux_containers_running: int
    default_compute_pool: bool
    default_aux_pool: bool
    preemptible: Needed[bool] = False
    """Whether a cloud may take its instances away."""
    min_agents: int
    max_agents: int
    max_idle_agent_period: float
    """In seconds; the next one too."""
    max_agent_starting_period: float
    scheduler_type: SchedulerType
    scheduler_fitting_policy: FittingPolicy
    resource_manager_metadata: Mapping[str, str]
    details: PoolDetail
    stats: QueueStats | None
    accelerator: str = ""
    agent_docker_image: Needed[str] = ""
    agent_docker_network: Needed[str] = ""
    agent_docker_runtime: Needed[str] = ""
    agent_fluent_image: Needed[str] = ""
    cluster_name: Needed[str] = ""
    container_startup_script: Needed[str] = ""
    image_id: Needed[str] = ""
    instance_type: Needed[str] = ""
    location: Needed[str] = ""
    master_cert_name: Needed[str] = ""
    master_url: Needed[str] = ""
    startup_script: Needed[str] = ""


class GetResourcePools(Request):
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0
    unbound: InQuery[Flag | None] = None
    """Only the pools that are bound to no workspace."""


class ResourcePoolsAnswer(Message, wire_name="v1GetResourcePoolsResponse"):
    resource_pools: tuple[ResourcePool, ...] = ()
    pagination: Pagination | None


class ListRPsBoundToWorkspace(Request):
    workspace_id: InPath[Id]
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0


class AvailablePools(Message, wire_name="v1ListRPsBoundToWorkspaceResponse"):
    resource_pools: tuple[str, ...] = ()
    """Their names."""
    pagination: Pagination | None = None


class ListWorkspacesBoundToRP(Request):
    resource_pool_name: InPath[Name]
    limit: InQuery[Limit] = 0
    offset: InQuery[Offset] = 0


class BoundWorkspaces(Message, wire_name="v1ListWorkspacesBoundToRPResponse"):
    workspace_ids: tuple[int, ...] = ()
    pagination: Pagination | None = None


Workspaces = Annotated[tuple[Id, ...], items(1000)]
WorkspaceNames = Annotated[tuple[Name, ...], items(1000)]


class Bound(Input, wire_name="v1BindRPToWorkspaceRequest"):
    """Workspaces by number, by name, or both."""

    resource_pool_name: Needed[Name] = ""
    """The same as in the path."""
    workspace_ids: Workspaces = ()
    workspace_names: WorkspaceNames = ()


class Unbound(Bound, wire_name="v1UnbindRPFromWorkspaceRequest"):
    pass


class Overwritten(Bound, wire_name="v1OverwriteRPWorkspaceBindingsRequest"):
    pass


class BindPool(Request):
    resource_pool_name: InPath[Name]
    body: InBody[Bound]


class UnbindPool(Request):
    resource_pool_name: InPath[Name]
    body: InBody[Unbound]


class OverwriteBindings(Request):
    resource_pool_name: InPath[Name]
    body: InBody[Overwritten]
