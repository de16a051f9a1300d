"""The routes of tasks and their allocations."""

from __future__ import annotations

from resolute.api.body_kinds import SHARE
from resolute.api.kernel.messages import Empty
from resolute.api.kernel.operations import operation
from resolute.api.routing import SIGNED_IN, TASK
from resolute.api.tasks import listing, reports, waiting
from resolute.api.tasks import messages as m

VIEW = SIGNED_IN.to("task.view")
LIST = VIEW.over_scope()
OWN_ALLOCATION = TASK.to("task.edit").about("allocation", "allocationId")
"""The task whose allocation the path names."""

ALLOCATION = "/api/v1/allocations/{allocationId}"

ROUTES = (
    operation(
        "GetTasks",
        "GET",
        "/api/v1/tasks",
        listing.get_tasks,
        LIST,
        request=m.GetTasks,
        response=m.TasksAnswer,
        tag="Tasks",
    ),
    operation(
        "GetActiveTasksCount",
        "GET",
        "/api/v1/tasks/count",
        listing.get_active_tasks_count,
        LIST,
        request=m.GetActiveTasksCount,
        response=m.ActiveTasksAnswer,
        tag="Tasks",
    ),
    operation(
        "GetTask",
        "GET",
        "/api/v1/tasks/{taskId}",
        listing.get_task,
        VIEW | TASK.about("task", "taskId"),
        request=m.GetTask,
        response=m.TaskAnswer,
        tag="Tasks",
    ),
    operation(
        "GetTaskAcceleratorData",
        "GET",
        "/api/v1/tasks/{taskId}/acceleratorData",
        listing.get_accelerators,
        VIEW.about("task", "taskId"),
        request=m.GetTaskAcceleratorData,
        response=m.AcceleratorsAnswer,
        tag="Internal",
    ),
    operation(
        "GetAllocation",
        "GET",
        ALLOCATION,
        listing.get_allocation,
        VIEW | TASK.about("allocation", "allocationId"),
        request=m.GetAllocation,
        response=m.AllocationAnswer,
        tag="Internal",
    ),
    operation(
        "GetTaskContextDirectory",
        "GET",
        "/api/v1/tasks/{taskId}/context_directory",
        reports.context_directory,
        SIGNED_IN.to("experiment.artifacts.view") | TASK.about("task", "taskId"),
        request=m.GetTaskContextDirectory,
        response=m.ContextDirectoryAnswer,
        tag="Tasks",
    ),
    operation(
        "AllocationRendezvousInfo",
        "GET",
        f"{ALLOCATION}/resources/{{resourcesId}}/rendezvous",
        waiting.rendezvous,
        OWN_ALLOCATION,
        request=m.GetRendezvous,
        response=m.RendezvousAnswer,
        tag="Internal",
    ),
    operation(
        "AllocationAllGather",
        "POST",
        f"{ALLOCATION}/all_gather",
        waiting.all_gather,
        OWN_ALLOCATION,
        request=m.AllGather,
        response=m.AllGatherAnswer,
        tag="Internal",
        body=SHARE,
    ),
    operation(
        "PostAllocationAcceleratorData",
        "POST",
        f"{ALLOCATION}/acceleratorData",
        reports.post_accelerator_data,
        OWN_ALLOCATION,
        request=m.PostAcceleratorData,
        response=Empty,
        tag="Internal",
    ),
    operation(
        "PostAllocationProxyAddress",
        "POST",
        f"{ALLOCATION}/proxy_address",
        reports.check_allocation,
        OWN_ALLOCATION,
        request=m.PostProxyAddress,
        response=Empty,
        tag="Internal",
    ),
    operation(
        "AllocationReady",
        "POST",
        f"{ALLOCATION}/ready",
        reports.check_allocation,
        OWN_ALLOCATION,
        request=m.PostReady,
        response=Empty,
        tag="Internal",
    ),
    operation(
        "AllocationWaiting",
        "POST",
        f"{ALLOCATION}/waiting",
        reports.check_allocation,
        OWN_ALLOCATION,
        request=m.PostWaiting,
        response=Empty,
        tag="Internal",
    ),
    operation(
        "AllocationPreemptionSignal",
        "GET",
        f"{ALLOCATION}/signals/preemption",
        waiting.preemption_signal,
        OWN_ALLOCATION,
        request=m.GetPreemptionSignal,
        response=m.PreemptionSignalAnswer,
        tag="Internal",
    ),
    operation(
        "AckAllocationPreemptionSignal",
        "POST",
        f"{ALLOCATION}/signals/ack_preemption",
        reports.acknowledge_preemption,
        OWN_ALLOCATION,
        request=m.AcknowledgePreemption,
        response=Empty,
        tag="Internal",
    ),
)
