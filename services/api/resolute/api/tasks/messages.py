"""The messages about tasks and their allocations, and those by which a running task talks with the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from resolute.api.kernel.common import Name
from resolute.api.kernel.fields import JsonObject, Needed, OrAbsent, WireEnum, items, whole
from resolute.api.kernel.messages import InBody, InPath, Input, InQuery, Message, Request
from resolute.api.pools.messages import Device

# ---------------------------------------------------------------- what answers show


class AllocationState(WireEnum, wire_name="taskv1State"):
    UNSPECIFIED = "STATE_UNSPECIFIED"
    PULLING = "STATE_PULLING"
    STARTING = "STATE_STARTING"
    RUNNING = "STATE_RUNNING"
    TERMINATED = "STATE_TERMINATED"
    TERMINATING = "STATE_TERMINATING"
    WAITING = "STATE_WAITING"
    QUEUED = "STATE_QUEUED"


class TaskType(WireEnum, wire_name="v1TaskType"):
    UNSPECIFIED = "TASK_TYPE_UNSPECIFIED"
    TRIAL = "TASK_TYPE_TRIAL"
    NOTEBOOK = "TASK_TYPE_NOTEBOOK"
    SHELL = "TASK_TYPE_SHELL"
    COMMAND = "TASK_TYPE_COMMAND"
    TENSORBOARD = "TASK_TYPE_TENSORBOARD"
    CHECKPOINT_GC = "TASK_TYPE_CHECKPOINT_GC"
    GENERIC = "TASK_TYPE_GENERIC"


class GenericTaskState(WireEnum, wire_name="v1GenericTaskState"):
    """For generic tasks, which this release does not have."""

    UNSPECIFIED = "GENERIC_TASK_STATE_UNSPECIFIED"
    ACTIVE = "GENERIC_TASK_STATE_ACTIVE"
    CANCELED = "GENERIC_TASK_STATE_CANCELED"
    COMPLETED = "GENERIC_TASK_STATE_COMPLETED"
    ERROR = "GENERIC_TASK_STATE_ERROR"
    PAUSED = "GENERIC_TASK_STATE_PAUSED"
    STOPPING_PAUSED = "GENERIC_TASK_STATE_STOPPING_PAUSED"
    STOPPING_CANCELED = "GENERIC_TASK_STATE_STOPPING_CANCELED"
    STOPPING_COMPLETED = "GENERIC_TASK_STATE_STOPPING_COMPLETED"
    STOPPING_ERROR = "GENERIC_TASK_STATE_STOPPING_ERROR"


class Allocation(Message, wire_name="v1Allocation"):
    allocation_id: str
    task_id: str
    slots: int
    state: AllocationState
    is_ready: bool = False
    """Whether all its containers run."""
    start_time: OrAbsent[str] = None
    end_time: OrAbsent[str] = None
    exit_reason: OrAbsent[str] = None
    status_code: OrAbsent[int] = None


class Task(Message, wire_name="v1Task"):
    task_id: str
    task_type: TaskType
    start_time: datetime
    end_time: OrAbsent[datetime] = None
    allocations: tuple[Allocation, ...]
    config: OrAbsent[str] = None
    forked_from: OrAbsent[str] = None
    no_pause: OrAbsent[bool] = None
    parent_id: OrAbsent[str] = None
    task_state: OrAbsent[GenericTaskState] = None


class FailureType(WireEnum, wire_name="v1FailureType"):
    UNSPECIFIED = "FAILURE_TYPE_UNSPECIFIED"
    RESOURCES_FAILED = "FAILURE_TYPE_RESOURCES_FAILED"
    RESOURCES_ABORTED = "FAILURE_TYPE_RESOURCES_ABORTED"
    RESOURCES_MISSING = "FAILURE_TYPE_RESOURCES_MISSING"
    TASK_ABORTED = "FAILURE_TYPE_TASK_ABORTED"
    TASK_ERROR = "FAILURE_TYPE_TASK_ERROR"
    AGENT_FAILED = "FAILURE_TYPE_AGENT_FAILED"
    AGENT_ERROR = "FAILURE_TYPE_AGENT_ERROR"
    RESTORE_ERROR = "FAILURE_TYPE_RESTORE_ERROR"
    UNKNOWN_ERROR = "FAILURE_TYPE_UNKNOWN_ERROR"


class ResourcesFailure(Message, wire_name="v1ResourcesFailure"):
    err_msg: str = ""
    exit_code: int = 0
    failure_type: FailureType = FailureType.UNSPECIFIED


class StoppedResources(Message, wire_name="v1ResourcesStopped"):
    failure: OrAbsent[ResourcesFailure] = None


class Address(Message, wire_name="v1Address"):
    container_ip: str = ""
    container_port: int = 0
    host_ip: str = ""
    host_port: int = 0


class StartedResources(Message, wire_name="v1ResourcesStarted"):
    addresses: tuple[Address, ...] = ()
    native_resources_id: str = ""


class AgentDevices(Message, wire_name="ResourcesSummaryDevices"):
    devices: tuple[Device, ...] = ()


class ResourcesSummary(Message, wire_name="v1ResourcesSummary"):
    """The part of an allocation on one agent."""

    resources_id: str = ""
    allocation_id: str = ""
    resources_type: str = "docker-container"
    """The same for every runtime: clients know no other."""
    container_id: str = ""
    agent_devices: Mapping[str, AgentDevices] = {}
    started: OrAbsent[StartedResources] = None
    exited: OrAbsent[StoppedResources] = None


class ProxyPort(Message, wire_name="v1ProxyPortConfig"):
    """For tasks that the gateway leads browsers to, which this release does not have."""

    port: int = 0
    proxy_tcp: bool = False
    service_id: str = ""
    unauthenticated: bool = False


class AllocationSummary(Message, wire_name="v1AllocationSummary"):
    """An allocation among the running and waiting ones of the cluster."""

    allocation_id: str = ""
    task_id: str = ""
    name: str = ""
    registered_time: OrAbsent[datetime] = None
    """When it was asked for."""
    resources: tuple[ResourcesSummary, ...] = ()
    slots_needed: int = 0
    resource_pool: str = ""
    scheduler_type: str = ""
    priority: int = 0
    proxy_ports: tuple[ProxyPort, ...] = ()


# ---------------------------------------------------------------- tasks and allocations


class GetTasks(Request):
    pass


class TasksAnswer(Message, wire_name="v1GetTasksResponse"):
    allocation_id_to_summary: Mapping[str, AllocationSummary] = {}


class GetActiveTasksCount(Request):
    pass


class ActiveTasksAnswer(Message, wire_name="v1GetActiveTasksCountResponse"):
    commands: int
    notebooks: int
    shells: int
    tensorboards: int


class GetTask(Request):
    task_id: InPath[Name]


class TaskAnswer(Message, wire_name="v1GetTaskResponse"):
    task: Task


class OfAllocation(Request):
    """What every request about one allocation has."""

    allocation_id: InPath[Name]


class GetAllocation(OfAllocation):
    pass


class AllocationAnswer(Message, wire_name="v1GetAllocationResponse"):
    allocation: Allocation


# ---------------------------------------------------------------- what a running task asks


class GetTaskContextDirectory(Request):
    task_id: InPath[Name]


class ContextDirectoryAnswer(Message, wire_name="v1GetTaskContextDirectoryResponse"):
    b64_tgz: str
    """A tar.gz in base64; empty for a task without a context directory."""


class GetRendezvous(OfAllocation):
    resources_id: InPath[Name]


class Rendezvous(Message, wire_name="v1RendezvousInfo"):
    """Addresses and slots are those of each part of the allocation, in the order of the ranks."""

    addresses: tuple[str, ...]
    rank: int
    slots: tuple[int, ...]


class RendezvousAnswer(Message, wire_name="v1AllocationRendezvousInfoResponse"):
    rendezvous_info: Rendezvous


class Contribution(Input, wire_name="v1AllocationAllGatherRequest"):
    allocation_id: Needed[Name] = ""
    """The allocation in the path counts."""
    data: Needed[JsonObject | None] = None
    num_peers: Annotated[int, whole(least=0, most=65_536)] = 0
    """How many call; 0 means one."""
    request_uuid: Name = ""
    """A name that only this call uses: a peer that did not get its answer calls again under the same name."""


class AllGather(OfAllocation):
    body: InBody[Contribution]


class AllGatherAnswer(Message, wire_name="v1AllocationAllGatherResponse"):
    data: tuple[JsonObject, ...]
    """What the peers brought, in the order in which they came."""


class GetPreemptionSignal(OfAllocation):
    timeout_seconds: InQuery[Annotated[int, whole(least=0, most=600)]] = 0
    """How long to wait for a request to give the slots back."""


class PreemptionSignalAnswer(Message, wire_name="v1AllocationPreemptionSignalResponse"):
    preempt: bool = False


# ---------------------------------------------------------------- what a running task reports


class PreemptionAcknowledgement(Input, wire_name="v1AckAllocationPreemptionSignalRequest"):
    allocation_id: Needed[Name] = ""


class AcknowledgePreemption(OfAllocation):
    body: InBody[PreemptionAcknowledgement]


class Accelerators(Input, wire_name="v1AcceleratorData"):
    accelerator_type: Name = ""
    accelerator_uuids: Annotated[tuple[Name, ...], items(1000)] = ()
    allocation_id: Name = ""
    container_id: Name = ""
    node_name: Name = ""
    resource_pool: Name = ""
    task_id: Name = ""


class AcceleratorReport(Input, wire_name="v1PostAllocationAcceleratorDataRequest"):
    accelerator_data: Needed[Accelerators] = Accelerators()
    allocation_id: Needed[Name] = ""


class PostAcceleratorData(OfAllocation):
    body: InBody[AcceleratorReport]


class GetTaskAcceleratorData(Request):
    task_id: InPath[Name]


class AcceleratorsAnswer(Message, wire_name="v1GetTaskAcceleratorDataResponse"):
    accelerator_data: tuple[Accelerators, ...]
    """By allocation and container."""


class ProxyAddressReport(Input, wire_name="v1PostAllocationProxyAddressRequest"):
    allocation_id: Name = ""
    proxy_address: Name = ""


class PostProxyAddress(OfAllocation):
    body: InBody[ProxyAddressReport]


class ReadyReport(Input, wire_name="v1AllocationReadyRequest"):
    allocation_id: Name = ""


class PostReady(OfAllocation):
    body: InBody[ReadyReport]


class WaitingReport(Input, wire_name="v1AllocationWaitingRequest"):
    allocation_id: Name = ""


class PostWaiting(OfAllocation):
    body: InBody[WaitingReport]


class RunningReport(Input, wire_name="v1NotifyContainerRunningRequest"):
    """What containers say that another scheduler, such as Slurm's, has started."""

    allocation_id: Needed[Name] = ""
    """The allocation in the path counts."""
    data: Needed[JsonObject | None] = None
    node_name: Name = ""
    num_peers: Annotated[int, whole(least=0, most=65_536)] = 0
    rank: Annotated[int, whole(least=0, most=65_535)] = 0
    request_uuid: Name = ""


class NotifyRunning(OfAllocation):
    body: InBody[RunningReport]


class RunningAnswer(Message, wire_name="v1NotifyContainerRunningResponse"):
    data: tuple[JsonObject, ...] = ()
    """Empty: nothing is gathered."""


class DaemonReport(Input, wire_name="v1MarkAllocationResourcesDaemonRequest"):
    allocation_id: Needed[Name] = ""
    resources_id: Name = ""
    """The allocation and the resources in the path count."""


class MarkDaemon(OfAllocation):
    resources_id: InPath[Name]
    body: InBody[DaemonReport]


class PendingPreemption(Input, wire_name="v1AllocationPendingPreemptionSignalRequest"):
    allocation_id: Needed[Name] = ""


class SignalPendingPreemption(OfAllocation):
    body: InBody[PendingPreemption]
